"""Stands in for `python -m measure`: the same events, made-up records, no training.

python -m tests.advisor.fake_harness FOLDER RUNS END
END: done, mechanisms (up to four runs), usage, failed, bug, garbage, wrong-record, slow (until
Ctrl-C), deaf (to every signal).
"""

import json
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


def main(folder: Path, runs: int, end: str) -> int:
    if end == "usage":
        print("warnings come first", file=sys.stderr)
        print("error: unknown architecture 'a9': known are a1-sync, a2", file=sys.stderr)
        return 2
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: asked.append(number))
    signal.signal(signal.SIGTERM, lambda number, _: asked.append(number))
    campaign = folder / run_records.CAMPAIGN
    emit("plan", runs=runs, cluster="mybox", campaign=run_records.CAMPAIGN, folder=str(campaign))
    for number in range(1, runs + 1):
        seed = number - 1
        about = {"architecture": "a2", "mechanism": "ft9", "trace": "F1", "seed": seed}
        emit("run-started", run=number, of=runs, **about)
        emit("phase", run=number, phase="training")
        while number == runs and end == "deaf":
            time.sleep(0.05)
        while number == 2 and end == "slow" and not asked:
            time.sleep(0.02)
        made = run_records.record(seed=seed, rate=39.0 + number)
        if end == "mechanisms":
            made = mechanisms()[seed]
        if number == 2 and end == "wrong-record":
            made["wall_s"] = -1
        (path,) = run_records.write(folder, made)
        emit(
            "run-finished",
            run=number,
            record=str(path),
            outcome="halted",
            validity="valid",
            reasons=[],
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
