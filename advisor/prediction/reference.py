"""The measurement that a prediction starts from: the nearest that has what is needed."""

from advisor.characterization import (
    alike,
    failed_points,
    is_same,
    nearest_point,
    step_time_of,
    value_of,
)
from advisor.prediction.outcome import NoPredictionError
from advisor.prediction.restores import calibrated_restore
from advisor.prediction.trail import Trail
from advisor.rules import Rule
from advisor.scenario import RestoreBasis, Scenario
from advisor.units import format_bytes
from db.excerpt import ratio_distance
from db.records import ClusterEvidence, Mechanism, OperatingPoint, Quantity

_NEEDED = {
    None: "restore",
    Quantity.OVERHEAD: "overhead and restore",
    Quantity.SAVE: "save and restore",
}


def reference(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    needed: Quantity | None,
    trail: Trail,
) -> OperatingPoint:
    """The nearest measured point with a restore, and with `needed` where that is one: of the
    architecture itself, else of a like one. Raises NoPredictionError where there is none, or where
    a run at a nearer size failed."""
    own, like = (scenario.architecture,), alike(evidence, scenario.architecture)
    interval = scenario.interval if isinstance(scenario.interval, int) else None

    def nearest(architectures: tuple[str, ...]) -> OperatingPoint | None:
        return nearest_point(
            evidence,
            architectures,
            mechanism.mechanism_id,
            scenario.state_bytes,
            lambda p: (
                (needed is None or value_of(p, needed) is not None)
                and (_has_restore(p) or _predicts_restore(evidence, scenario, mechanism, p))
                and _holds_at(evidence, scenario, p, needed)
            ),
            interval,
        )

    point = nearest(own) or nearest(like)
    _refuse_if_failed_nearer(evidence, scenario, mechanism, (*own, *like), point)
    if point is None:
        raise NoPredictionError(
            f"no data: {evidence.cluster.cluster} has no {_NEEDED[needed]} of "
            f"{mechanism.mechanism_id.upper()} on {scenario.architecture.upper()}"
            + (f" or on {', '.join(like).upper()}, which move state alike" if like else "")
        )
    if point.architecture != scenario.architecture:
        trail.apply(
            Rule.LIKE_ARCHITECTURE,
            f"measured on {point.architecture.upper()}, which has the same capabilities, "
            f"not on {scenario.architecture.upper()}: stall per save and restore carried over",
        )
    return point


def _holds_at(
    evidence: ClusterEvidence, scenario: Scenario, point: OperatingPoint, needed: Quantity | None
) -> bool:
    """An overhead without a step time gives no stall to scale: it holds at its own size only."""
    return (
        needed is not Quantity.OVERHEAD
        or is_same(scenario.state_bytes, point.state_bytes)
        or step_time_of(evidence, point) is not None
    )


def _has_restore(point: OperatingPoint) -> bool:
    return value_of(point, Quantity.RESTORE) is not None


def _predicts_restore(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism, point: OperatingPoint
) -> bool:
    """Whether the point needs no restore of its own: the cluster's calibration says it."""
    return (
        scenario.restore_basis is RestoreBasis.CALIBRATED
        and calibrated_restore(evidence, mechanism, point) is not None
    )


def _refuse_if_failed_nearer(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    architectures: tuple[str, ...],
    point: OperatingPoint | None,
) -> None:
    """A run that deadlocked nearer to this state size than the nearest success decides."""
    size = scenario.state_bytes
    success = ratio_distance(size, point.state_bytes) if point else float("inf")
    for failed in failed_points(evidence, architectures, mechanism.mechanism_id):
        if ratio_distance(size, failed.state_bytes) <= success:
            raise NoPredictionError(
                f"{mechanism.mechanism_id.upper()} ended in {failed.outcome.value} on "
                f"{failed.architecture.upper()} at {format_bytes(failed.state_bytes)} a rank, "
                f"the nearest size that was tried ({failed.note or failed.point_id})"
            )
