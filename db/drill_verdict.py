"""Whether a drill passed: what was expected of its run, held against what the run showed. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from db.records import CellStatus, DrillResult, RunValidity

SEPARATOR = " "
"""Between the run outcomes that a drill expects, as they are stored."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What the run of a drill is to show: one of these run outcomes, no more steps lost than that,
    an end by then (seconds), and, where it is named, a finding of this monitor."""

    outcomes: tuple[str, ...]
    most_lost_steps: int | None
    deadline_s: float
    noticed_by: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """What a stored run of a drill showed; `lost_steps` None: it recovered from nothing."""

    outcome: str
    validity: str
    validity_reason: str
    wall_s: float
    lost_steps: int | None
    unfired: int
    monitors: frozenset[str]
    """The monitors that found something."""


def verdict(expected: Expectation, shown: Shown) -> tuple[DrillResult, str]:
    """Passed; or failed, with the reason."""
    reasons = list(_reasons(expected, shown))
    return (DrillResult.FAILED, "; ".join(reasons)) if reasons else (DrillResult.PASSED, "")


def verdict_without_run(status: str | None, reason: str) -> tuple[DrillResult, str]:
    """Of a drill whose run is not stored; `status` is that of its cell, None if there is none."""
    if status == CellStatus.FAILED:
        return DrillResult.FAILED, f"it has no record: {reason}"
    return DrillResult.PLANNED, ""


def findings(record: Mapping[str, Any]) -> frozenset[str]:
    """The monitors that found something in a run, from its record."""
    listed = record.get("monitoring") or ()
    return frozenset(
        str(each["monitor"]).partition(":")[0]
        for each in listed
        if isinstance(each, Mapping) and each.get("monitor") and each.get("suspicions")
    )


def _reasons(expected: Expectation, shown: Shown) -> list[str]:
    if shown.validity == RunValidity.INVALID:
        return [f"its run shows nothing: {shown.validity_reason}"]
    found = []
    if shown.outcome not in expected.outcomes:
        found.append(f"its outcome was {shown.outcome}, expected {' or '.join(expected.outcomes)}")
    if shown.unfired:
        found.append(f"{shown.unfired} of its faults did not strike")
    most = expected.most_lost_steps
    if most is not None and shown.lost_steps is not None and shown.lost_steps > most:
        found.append(f"it lost {shown.lost_steps} steps, expected {most} at most")
    if shown.wall_s > expected.deadline_s:
        found.append(f"it took {shown.wall_s:.1f} s, its deadline is {expected.deadline_s:g} s")
    if expected.noticed_by is not None and expected.noticed_by not in shown.monitors:
        found.append(f"the monitor {expected.noticed_by} found nothing")
    return found
