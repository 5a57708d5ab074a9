"""Drills for tests: records of runs whose campaign is one of drills, and what was expected."""

from typing import Any

from tests.db import run_records

CAMPAIGN = "20261129-230000-dddddddd"


def drilling(record: dict[str, Any], campaign: str = CAMPAIGN) -> dict[str, Any]:
    """The record of a run that is a drill."""
    said = {"campaign": campaign, "command": "advisor drill --profile=cpu"}
    run_id = f"{campaign}/{record['run_id'].partition('/')[2]}"
    return {**record, "run_id": run_id, "campaign": {**record["campaign"], **said}}


def crash(mechanism: str = "ft1", **changes: Any) -> dict[str, Any]:
    """A run of the drill `crash` that was brought back from storage after 10 lost steps."""
    changes = {"cell__trace": "drill-crash@1a2b3c4d", **changes}
    return drilling(run_records.mechanism_record(mechanism, **changes))


def expected(record: dict[str, Any], drill: str = "crash", **changes: Any) -> dict[str, Any]:
    """What was expected of the run of a record, as it is stored before it."""
    return {
        "run_id": record["run_id"],
        "campaign": record["campaign"]["campaign"],
        "drill": drill,
        "architecture": record["cell"]["architecture"],
        "mechanism": record["cell"]["mechanism"],
        "planned_at": "2026-11-29T22:10:00Z",
        "expected": "recovered",
        "most_lost_steps": 10,
        "noticed_by": None,
        "deadline_s": 60.0,
    } | changes
