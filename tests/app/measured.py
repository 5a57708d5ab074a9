"""A database with runs in it, for the tests and the pictures of the Runs page."""

import shutil
from pathlib import Path
from typing import Any

from advisor.evidence import opened
from db.harvest import harvest
from db.ingest import ingest
from tests.db import run_records

CLUSTER = run_records.CLUSTER
HALTED = f"{run_records.CAMPAIGN}/a2-ft9-f1-s0"
GRACEFUL = f"{run_records.CAMPAIGN}/a6-ft9-f1-s3"
RECOVERED = f"{run_records.CAMPAIGN}/a2-ft1-f1-s6"
SMALLER = f"{run_records.CAMPAIGN}/a2-ft8-f1-s9"
WARNED = f"{run_records.CAMPAIGN}/a2-ft4-f1-s8"
_STEP_S = 0.2


def records() -> list[dict[str, Any]]:
    """Runs that halt, go on, hang, meet no fault and are invalid."""
    return [
        with_series(run_records.record(seed=0, detected_s=0.034)),
        with_series(run_records.record(seed=1, rate=41.0)),
        run_records.invalid(run_records.record(seed=2)),
        with_series(run_records.record("a6", seed=3, rate=10.0, after_rate=12.0, detected_s=0.5)),
        with_series(run_records.record(trace=None, seed=4)),
        run_records.record("a3", seed=5, detected_s=120.0, censored=True, outcome="hang"),
    ]


def mechanism_records() -> list[dict[str, Any]]:
    """Runs that mechanisms brought back, or could not, and one that says what it costs."""
    smaller = run_records.mechanism_record("ft8", seed=9, way="smaller", equivalent=False)
    smaller["recoveries"][0] |= {"way": "smaller", "world_size": 7, "source": "survivors"}
    smaller["lineage"][1] |= {"way": "smaller", "world_size": 7, "equivalent": False}
    return [
        with_series(run_records.mechanism_record(seed=6)),
        with_series(run_records.mechanism_record(trace=None, seed=7)),
        with_series(run_records.mechanism_record("ft4", seed=8)),
        with_series(smaller),
        run_records.infeasible(seed=10),
    ]


def with_series(made: dict[str, Any]) -> dict[str, Any]:
    """The same run with steps of 200 ms until the fault, and after it where training went on."""
    before, after = made["before"], made["after"]
    ends_s = [before["from_s"] + n * _STEP_S for n in range(1, 20)]
    ranks = [before["ranks"]] * len(ends_s)
    if after is not None:
        later_s = [after["from_s"] + n * _STEP_S for n in range(1, 30)]
        ends_s, ranks = ends_s + later_s, ranks + [after["ranks"]] * len(later_s)
    durations = [_STEP_S * (1.0 + 0.1 * (n * 7 % 5 - 2)) for n in range(len(ends_s))]
    made["series"] = {
        "t_s": ends_s,
        "step": list(range(len(ends_s))),
        "step_s": durations,
        "loss": [2.3 - 0.02 * n for n in range(len(ends_s))],
        "samples_per_s": [8 * n / each for n, each in zip(ranks, durations, strict=True)],
    }
    return made


def database(folder: Path, shipped: Path, *made: dict[str, Any]) -> Path:
    """The shipped data with these runs, pooled."""
    path = Path(shutil.copy(shipped, folder / "runs.db"))
    store(path, folder, *made)
    return path


def store(path: Path, folder: Path, *made: dict[str, Any]) -> None:
    """Ingests the runs, none of which may be refused, and pools them."""
    run_records.write(folder, *made)
    with opened(str(path)) as engine:
        report = ingest(engine, folder)
        assert report.refused == ()
        for cluster in report.clusters:
            harvest(engine, cluster)
