"""Clusters made from the paper's: the same but for what a test changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from db.records import ClusterEvidence, DispersionKind, OperatingPoint, Quantity

Change = Callable[[OperatingPoint], OperatingPoint | None]


def twin(
    evidence: ClusterEvidence, change: Change | None = None, name: str = "twin"
) -> ClusterEvidence:
    """Another cluster with the same points, each changed, or left out where it becomes None."""
    changed = [p if change is None else change(p) for p in evidence.points]
    return replace(
        evidence,
        cluster=replace(evidence.cluster, cluster=name),
        points=tuple(replace(p, cluster=name) for p in changed if p is not None),
    )


def without(what: Callable[[OperatingPoint], bool]) -> Change:
    """Leaves out the points of which it is true."""
    return lambda point: None if what(point) else point


def with_value(point: OperatingPoint, quantity: Quantity, **changes: Any) -> OperatingPoint:
    """The point with one of its values changed; as it is without that value."""
    if quantity not in point.values:
        return point
    found = replace(point.values[quantity], **changes)
    return replace(point, values={**point.values, quantity: found})


def measured(value: float, half_width: float, n: int = 3) -> dict[str, Any]:
    """What `with_value` makes a number of n runs from."""
    return {
        "value": value,
        "missing_reason": None,
        "n": n,
        "dispersion": half_width,
        "dispersion_kind": DispersionKind.CI95_HALF_WIDTH,
    }
