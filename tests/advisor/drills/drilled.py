"""Drills that were tried, for tests."""

from datetime import UTC, datetime
from typing import Any

from db.records import Drilled, DrillResult

NOW = datetime(2026, 12, 31, 12, 0, 0, tzinfo=UTC)
RECENT, OLD = "2026-12-20T10:00:00Z", "2026-11-30T12:00:00Z"
"""11 and 31 days before `NOW`."""


def drilled(drill: str = "crash", mechanism: str = "ft1", **changes: Any) -> Drilled:
    """One that passed, a few days ago."""
    fields: dict[str, Any] = {
        "drill": drill,
        "architecture": "a2",
        "mechanism": mechanism,
        "run_id": f"c/{mechanism}-{drill}",
        "campaign": "c",
        "tried_at": RECENT,
        "result": DrillResult.PASSED,
        "reason": "",
        "expected": ("recovered",),
        "outcome": "recovered",
        "wall_s": 5.0,
        "deadline_s": 60.0,
    }
    return Drilled(**(fields | changes))


def failed(drill: str = "crash", mechanism: str = "ft1", **changes: Any) -> Drilled:
    """One that failed, a few days ago."""
    why: dict[str, Any] = {
        "result": DrillResult.FAILED,
        "outcome": "halted",
        "reason": "its outcome was halted, expected recovered",
    }
    return drilled(drill, mechanism, **(why | changes))
