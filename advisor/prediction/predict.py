"""A mechanism's costs, by its cadence."""

from collections.abc import Callable

from advisor.optimizer import CostModel
from advisor.prediction.after_failure import predict_after_failure
from advisor.prediction.intervals import fixed_interval, shortest_interval
from advisor.prediction.outcome import NoPredictionError, Prediction
from advisor.prediction.reference import reference
from advisor.prediction.restores import restore_time_s
from advisor.prediction.scales import path_scale, size_scale, storage_scale
from advisor.prediction.stalls import closest_known, stall_per_save_s, stall_step_s
from advisor.prediction.trail import Trail
from advisor.rules import AppliedRule
from advisor.scenario import Scenario
from db.records import Cadence, ClusterEvidence, Mechanism, Quantity


def predict(evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism) -> Prediction:
    """The mechanism's costs in the scenario. Raises NoPredictionError with the reason."""
    return _PREDICTORS[mechanism.cadence](evidence, scenario, mechanism)


def predict_restore(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> tuple[float, tuple[AppliedRule, ...]]:
    """The restore alone (s), without what is saved at the failure, and the rules applied to it.

    Known also where nobody measured a stall. Raises NoPredictionError with the reason.
    """
    trail = Trail()
    point = reference(evidence, scenario, mechanism, None, trail)
    # Scales nothing here, but refuses a size that is as far off as `predict` would refuse.
    size_scale(evidence, scenario, mechanism, point, Trail())
    return restore_time_s(evidence, scenario, mechanism, point, trail), tuple(trail.rules)


def _predict_periodic(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    every_step = mechanism.cadence is Cadence.EVERY_STEP
    trail = Trail()
    point = reference(evidence, scenario, mechanism, Quantity.OVERHEAD, trail)
    priced = closest_known(evidence, point)
    interval = 1 if every_step else priced.interval_steps
    if interval is None:
        raise NoPredictionError(f"{point.point_id} does not say at which interval it was measured")
    own_step_s = stall_step_s(evidence, scenario, point, trail)
    stall_s = stall_per_save_s(mechanism, priced, interval * own_step_s, trail)
    stall_s *= size_scale(evidence, scenario, mechanism, point, trail)
    stall_s *= storage_scale(evidence, scenario, mechanism.save_path, trail)
    stall_s *= path_scale(evidence, scenario, mechanism, point, trail)
    min_interval = 1 if every_step else shortest_interval(scenario, mechanism, interval, own_step_s)
    model = CostModel(
        is_periodic=True,
        restore_s=restore_time_s(evidence, scenario, mechanism, point, trail),
        stall_s=stall_s,
        interval_steps=1 if every_step else fixed_interval(scenario, interval, min_interval),
        min_interval_steps=min_interval,
    )
    return trail.prediction(scenario, mechanism, point, model, interval_steps=interval)


def _predict_on_warning(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    trail = Trail()
    point = reference(evidence, scenario, mechanism, Quantity.SAVE, trail)
    save_s = trail.use(point, Quantity.SAVE)
    save_s *= size_scale(evidence, scenario, mechanism, point, trail)
    save_s *= path_scale(evidence, scenario, mechanism, point, trail)
    restore_s = restore_time_s(evidence, scenario, mechanism, point, trail)
    overhead = trail.use(point, Quantity.OVERHEAD) if Quantity.OVERHEAD in point.values else 0.0
    lost = trail.use(point, Quantity.LOST_STEPS) if Quantity.LOST_STEPS in point.values else 0.0
    model = CostModel(
        is_periodic=False, restore_s=save_s + restore_s, overhead=overhead, lost_steps=lost
    )
    return trail.prediction(scenario, mechanism, point, model, save_s=save_s)


def _predict_never(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    raise NoPredictionError(
        f"{scenario.architecture.upper()} halts when a worker is lost, and "
        f"{mechanism.mechanism_id.upper()} "
        "preserves no state: nothing bounds the lost work"
    )


_PREDICTORS: dict[Cadence, Callable[[ClusterEvidence, Scenario, Mechanism], Prediction]] = {
    Cadence.PERIODIC: _predict_periodic,
    Cadence.EVERY_STEP: _predict_periodic,
    Cadence.ON_WARNING: _predict_on_warning,
    Cadence.AFTER_FAILURE: predict_after_failure,
    Cadence.NEVER: _predict_never,
}
