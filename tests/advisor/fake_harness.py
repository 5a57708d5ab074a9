"""Stands in for `python -m measure`: the same events, made-up records, no training.

python -m tests.advisor.fake_harness FOLDER RUNS END
END: done, mechanisms (up to four runs), usage, failed, bug, garbage, wrong-record, cell-failed,
varied (seeds beyond those planned as well), slow (until Ctrl-C), deaf (to every signal).
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from tests.db import run_records


def emit(event: str, **fields: Any) -> None:
    print(json.dumps({"event": event, **fields}), flush=True)


def mechanisms() -> list[dict[str, Any]]:
    """Two runs that were brought back, one that says what that costs, one that cannot be."""
    return [
        run_records.mechanism_record(),
        run_records.mechanism_record(seed=1, restore_s=0.75),
        run_records.mechanism_record(trace=None),
        run_records.infeasible(),
    ]


def varied(seed: int) -> dict[str, Any]:
    """A run whose overhead is never that of the run before."""
    return run_records.mechanism_record(trace=None, seed=seed, overhead=0.02 + 0.02 * (seed % 2))


def planned(made: dict[str, Any]) -> dict[str, Any]:
    """The cell of a record, as the harness plans it."""
    cell = made["cell"]
    same = {name: cell[name] for name in ("architecture", "mechanism", "trace", "seed")}
    return {"run_id": made["run_id"], **same, "batch_per_rank": 8, "job": {"seed": cell["seed"]}}


def records(runs: int, end: str) -> list[dict[str, Any]]:
    if end == "mechanisms":
        return mechanisms()[:runs]
    if end == "varied":
        return [varied(seed) for seed in range(runs)]
    return [run_records.record(seed=seed, rate=40.0 + seed) for seed in range(runs)]


def say_plan(folder: Path, made: list[dict[str, Any]]) -> None:
    surroundings = {name: made[0][name] for name in ("campaign", "cluster", "environment")}
    emit(
        "plan",
        runs=len(made),
        cluster="mybox",
        campaign=run_records.CAMPAIGN,
        folder=str(folder / run_records.CAMPAIGN),
        order_seed=7,
        surroundings=surroundings,
        cells=[planned(each) for each in made],
    )


def main(folder: Path, runs: int, end: str) -> int:
    if end == "usage":
        print("warnings come first", file=sys.stderr)
        print("error: unknown architecture 'a9': known are a1-sync, a2", file=sys.stderr)
        return 2
    asked: list[int] = []
    parent = os.getppid()
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    made = records(runs, end)
    say_plan(folder, made)
    for line in sys.stdin:
        handed = json.loads(line)
        number, cell = handed["run"], handed["cell"]
        about = {name: cell[name] for name in ("architecture", "mechanism", "trace", "seed")}
        emit("run-started", run=number, of=handed["of"], **about)
        emit("phase", run=number, phase="training")
        while number == runs and end == "deaf":
            time.sleep(0.05)
        while number == 2 and end == "slow" and not asked:
            time.sleep(0.02)
            if os.getppid() != parent:
                return 1
        if number == 2 and end == "cell-failed":
            emit("run-failed", run=number, reason="ValueError: a bug in one cell")
            continue
        if end == "varied":
            record = varied(cell["seed"])
        else:
            (record,) = [each for each in made if each["run_id"] == cell["run_id"]]
        if number == 2 and end == "wrong-record":
            record["wall_s"] = -1
        if asked:
            record = run_records.invalid(record, "interrupted")
        (path,) = run_records.write(folder, record)
        emit(
            "run-finished",
            run=number,
            record=str(path),
            outcome=record["outcome"],
            validity=record["validity"],
            reasons=record["validity_reasons"],
            wall_s=21.5,
        )
        if asked:
            return 130
    if end == "garbage":
        print("hello")
    if end == "bug":
        raise RuntimeError("a bug of the harness")
    if end == "failed":
        print("error: no space left on the disk", file=sys.stderr)
        return 1
    emit("end", finished=runs)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
