"""Mechanisms that act after a failure: only what was observed counts."""

from advisor.characterization import alike, is_same, nearest_point, step_time_of, value_of
from advisor.optimizer import CostModel
from advisor.prediction.limits import MAX_SLOWDOWN
from advisor.prediction.outcome import NoPredictionError, Prediction
from advisor.prediction.trail import Trail
from advisor.recommendation import TOO_FAR
from advisor.scenario import FewerRanks, Scenario
from advisor.units import format_bytes, format_duration, format_number, format_percent
from db.records import ClusterEvidence, Mechanism, OperatingPoint, Quantity


def predict_after_failure(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    """From a run that resumed: its recovery time and its lost work. Raises NoPredictionError where
    none was observed, or where the scenario refuses what it does."""
    trail = Trail()
    point = nearest_point(
        evidence,
        (scenario.architecture,),
        mechanism.mechanism_id,
        scenario.state_bytes,
        lambda p: (
            value_of(p, Quantity.RESUMED) == 1.0 and value_of(p, Quantity.RECOVERY) is not None
        ),
    )
    if point is None:
        raise _recovery_not_observed(evidence, scenario, mechanism)
    if not is_same(scenario.state_bytes, point.state_bytes):
        raise NoPredictionError(
            f"{TOO_FAR}its recovery was observed at {format_bytes(point.state_bytes)} a rank only"
        )
    if value_of(point, Quantity.LOST_STEPS) is None:
        raise NoPredictionError(f"{point.point_id} does not say how much work a failure loses")
    _refuse_fewer_ranks(scenario, point, trail)
    # An observed recovery holds all of T_rec (Eq. (4)) and the step that ends it, which the job has
    # to make anyway; Eq. (5) adds regrouping and initialisation by itself.
    step_s = step_time_of(evidence, point) or 0.0
    recovery_s = max(trail.use(point, Quantity.RECOVERY) - step_s, 0.0)
    restore_s = recovery_s - scenario.regroup_s - scenario.init_s
    model = CostModel(
        is_periodic=False,
        restore_s=max(restore_s, 0.0),
        overhead=trail.use(point, Quantity.OVERHEAD) if Quantity.OVERHEAD in point.values else 0.0,
        lost_steps=trail.use(point, Quantity.LOST_STEPS),
    )
    return trail.prediction(scenario, mechanism, point, model)


def _refuse_fewer_ranks(scenario: Scenario, point: OperatingPoint, trail: Trail) -> None:
    """The rest of the job is another training, and may be a slower one."""
    recovery_s = value_of(point, Quantity.RECOVERY) or 0.0
    shown = {"restore_s": recovery_s, "overhead": value_of(point, Quantity.OVERHEAD) or 0.0}
    if scenario.fewer_ranks is FewerRanks.REFUSE:
        raise NoPredictionError(
            f"it goes on with fewer ranks {format_duration(recovery_s)} after a loss is detected, "
            "which is another training: accept fewer ranks to have it considered",
            shown,
        )
    losses = scenario.duration_s / scenario.mtbf_s
    if point.world_size is None or losses >= point.world_size - 1:
        raise NoPredictionError(
            f"{format_number(losses)} losses are expected, and it was measured with "
            f"{point.world_size or 'an unknown number of'} ranks, of which nothing says that they "
            "come back",
            shown,
        )
    slowdown = value_of(point, Quantity.AGGREGATE_SLOWDOWN)
    if slowdown is None or 1.0 - (1.0 - slowdown) ** losses > MAX_SLOWDOWN:
        known = "an unknown share" if slowdown is None else format_percent(slowdown)
        raise NoPredictionError(
            f"it goes on {known} slower after each of {format_number(losses)} expected losses, and "
            f"Eq. (5) has no term for that: the limit is {format_percent(MAX_SLOWDOWN)} in all",
            shown,
        )
    trail.notes.append("it goes on with fewer ranks after a loss, which is another training")


def _recovery_not_observed(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> NoPredictionError:
    bound = nearest_point(
        evidence,
        (scenario.architecture, *alike(evidence, scenario.architecture)),
        mechanism.mechanism_id,
        scenario.state_bytes,
        lambda p: value_of(p, Quantity.EFFECTIVE_RESTORE) is not None,
    )
    reason = f"its recovery was not observed on {evidence.cluster.cluster}"
    if bound is None:
        return NoPredictionError(
            f"{reason}, nor is a bound known for {scenario.architecture.upper()}"
        )
    restore_s = value_of(bound, Quantity.EFFECTIVE_RESTORE) or 0.0
    return NoPredictionError(
        f"{reason}: {format_duration(restore_s)} is an analytical lower bound "
        f"({bound.values[Quantity.EFFECTIVE_RESTORE].table_ref}); shown, never selected",
        {"overhead": value_of(bound, Quantity.OVERHEAD) or 0.0, "restore_s": restore_s},
    )
