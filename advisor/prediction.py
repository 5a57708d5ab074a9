"""What a mechanism would cost in the scenario, from the nearest measurement and stated rules.

Each rule that is applied leaves a sentence (`rules`) with the distance from the measurement; a
prediction without one is a measurement (code M), with one an extrapolation (code E). Beyond the
limits below the answer is "no data" (`NoPredictionError`), never a guess.

Rules
  like architecture   stall per save and restore carry over between equal capabilities, times the
                 ratio of the saves that were measured on both over the same path
  state size     stall and save scale with the fitted linear transfer, published restores with
                 bytes; both with the cluster's own calibration, where one reaches so far
  calibrated transfer   a restore is the sum of the calibrated paths that it takes
  step time      the stall per save stays, so O = stall / (I t_step) follows
  storage rate   a disk save's stall scales with measured rate / stated rate
  interval       O ~ 1 / I (applied by the optimizer, see candidates.py)
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np

from advisor.calibration import (
    CalibratedTransfer,
    newest_fits,
    restore_transfer,
)
from advisor.calibration import save_transfer as calibrated_save
from advisor.characterization import (
    alike,
    bandwidth_bytes_per_s,
    calibrated,
    failed_points,
    is_same,
    nearest_point,
    nearest_step_time_s,
    ratio_distance,
    save_transfer,
    step_time_s,
    value_of,
)
from advisor.optimizer import CostModel
from advisor.recommendation import TOO_FAR, UsedValue
from advisor.rules import AppliedRule, Rule
from advisor.scenario import FewerRanks, IntervalPolicy, RestoreBasis, Scenario
from advisor.units import (
    format_apart,
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_number,
    format_percent,
)
from db.records import (
    Cadence,
    Calibration,
    ClusterEvidence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    Quantity,
    TransferPath,
)

MAX_SIZE_RATIO = 4.0
"""A state size may be this many times beyond the measured ones."""
MAX_STEP_TIME_RATIO = 10.0
MAX_STORAGE_RATE_RATIO = 20.0
MAX_SLOWDOWN = 0.05
"""A job that goes on with fewer ranks may lose this share of its throughput by all its losses: Eq.
(5) has no term for it."""
MAX_INTERVAL_SHORTENING = 10.0
"""An interval may be this many times shorter than the measured one; a longer one always may:
the cost of a save stays, and its share, with any error in it, shrinks."""
_NEEDED = {
    None: "restore",
    Quantity.OVERHEAD: "overhead and restore",
    Quantity.SAVE: "save and restore",
}
_ROUNDING = 1e-9
"""Steps that the rounding of a quotient may add without meaning one more."""


class NoPredictionError(Exception):
    """Why a mechanism cannot be priced here; `shown` holds figures that are known all the same."""

    def __init__(self, reason: str, shown: Mapping[str, float] | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.shown = dict(shown or {})


@dataclass(frozen=True, slots=True)
class Prediction:
    """A mechanism's costs in the scenario. Times in seconds, memory per rank in bytes."""

    mechanism: Mechanism
    model: CostModel
    reference_interval_steps: int | None
    """The interval that was measured; another one is an extrapolation."""
    save_s: float | None
    host_bytes_per_rank: int
    device_bytes_per_rank: int
    rules: tuple[AppliedRule, ...]
    notes: tuple[str, ...]
    used: tuple[UsedValue, ...]


@dataclass(slots=True)
class _Trail:
    """Collects, on the way to one prediction, the rules applied, what else a reader should know
    of it, and the values used."""

    rules: list[AppliedRule] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: list[UsedValue] = field(default_factory=list)

    def apply(self, rule: Rule, words: str) -> None:
        self.rules.append(AppliedRule(rule, words))

    def use(self, point: OperatingPoint, quantity: Quantity) -> float:
        found = point.values[quantity]
        if found.value is None:
            raise NoPredictionError(f"{point.point_id} has no {quantity.value}")
        self.used.append(used_value(point, quantity))
        return found.value


def predict(evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism) -> Prediction:
    """The mechanism's costs in the scenario. Raises NoPredictionError with the reason."""
    return _PREDICTORS[mechanism.cadence](evidence, scenario, mechanism)


def predict_restore(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> tuple[float, tuple[AppliedRule, ...]]:
    """The restore alone (s), without what is saved at the failure, and the rules applied to it.

    Known also where nobody measured a stall. Raises NoPredictionError with the reason.
    """
    trail = _Trail()
    point = _reference(evidence, scenario, mechanism, None, trail)
    # Scales nothing here, but refuses a size that is as far off as `predict` would refuse.
    _size_scale(evidence, scenario, mechanism, point, _Trail())
    return _restore_s(evidence, scenario, mechanism, point, trail), tuple(trail.rules)


def measured_stall(
    mechanism: Mechanism, point: OperatingPoint, between_saves_s: float
) -> tuple[float, Quantity]:
    """What one save cost the training (s) at the point itself, without a rule between, and the
    quantity that says so."""
    trail = _Trail()
    stall_s = _stall_s(mechanism, point, between_saves_s, trail)
    return stall_s, Quantity(trail.used[-1].quantity)


def interval_rule(prediction: Prediction, interval: int | None) -> tuple[AppliedRule, ...]:
    """The rule by which an overhead holds at another interval (steps) than the measured one."""
    measured = prediction.reference_interval_steps
    if interval is None or measured is None or interval == measured:
        return ()
    words = (
        f"interval: overhead ~ 1 / interval, from the measured {measured:,} steps to "
        f"{interval:,} ({format_number(max(interval / measured, measured / interval))} times)"
    )
    return (AppliedRule(Rule.INTERVAL, words),)


def used_value(point: OperatingPoint, quantity: Quantity) -> UsedValue:
    return _used(point.point_id, quantity, point.values[quantity])


def _used(origin: str, quantity: Quantity, found: EvidencedValue) -> UsedValue:
    return UsedValue(
        point_id=origin,
        quantity=quantity.value,
        value=found.value,
        evidence=found.evidence.value,
        n=found.n,
        dispersion=found.dispersion,
        dispersion_kind=found.dispersion_kind.value if found.dispersion_kind else None,
        source_id=found.source_id,
        table_ref=found.table_ref,
        conditions=found.conditions,
    )


def emergency_save_bound_s(prediction: Prediction) -> float:
    """The save's measured mean plus its dispersion, scaled alike: what a lead has to cover (s)."""
    if prediction.save_s is None:
        return 0.0
    measured = next(u for u in prediction.used if u.quantity == Quantity.SAVE.value)
    if not measured.value or measured.dispersion is None:
        return prediction.save_s
    return prediction.save_s * (1.0 + measured.dispersion / measured.value)


def save_time_s(prediction: Prediction) -> float | None:
    """What one save costs (s): the stall, or an emergency save; None where nothing is saved."""
    if prediction.model.is_periodic:
        return prediction.model.stall_s
    return prediction.save_s


def with_save_time(prediction: Prediction, save_s: float) -> Prediction:
    """The same mechanism if one save cost this (s) and all else stayed.

    An emergency save is part of its restore, which changes with it.
    """
    model = prediction.model
    if model.is_periodic:
        return replace(prediction, model=replace(model, stall_s=save_s))
    if prediction.save_s is None:
        return prediction
    restore_s = model.restore_s - prediction.save_s + save_s
    return replace(prediction, save_s=save_s, model=replace(model, restore_s=restore_s))


def _predict_periodic(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    every_step = mechanism.cadence is Cadence.EVERY_STEP
    trail = _Trail()
    point = _reference(evidence, scenario, mechanism, Quantity.OVERHEAD, trail)
    priced = _closest_known(evidence, point)
    interval = 1 if every_step else priced.interval_steps
    if interval is None:
        raise NoPredictionError(f"{point.point_id} does not say at which interval it was measured")
    own_step_s = _stall_step_s(evidence, scenario, point, trail)
    stall_s = _stall_s(mechanism, priced, interval * own_step_s, trail)
    stall_s *= _size_scale(evidence, scenario, mechanism, point, trail)
    stall_s *= _storage_scale(evidence, scenario, mechanism.save_path, trail)
    stall_s *= _path_scale(evidence, scenario, mechanism, point, trail)
    min_interval = 1 if every_step else _min_interval(scenario, mechanism, interval, own_step_s)
    model = CostModel(
        is_periodic=True,
        restore_s=_restore_s(evidence, scenario, mechanism, point, trail),
        stall_s=stall_s,
        interval_steps=1 if every_step else _interval(scenario, interval, min_interval),
        min_interval_steps=min_interval,
    )
    return _prediction(scenario, mechanism, point, model, interval, None, trail)


_ALIKE = ("workload", "state_bytes", "world_size", "software_stack", "replicas", "storage")


def _closest_known(evidence: ClusterEvidence, point: OperatingPoint) -> OperatingPoint:
    """Of the points that differ from this one in interval, faults and what only they meet, the one
    whose stall per save has the narrowest interval; itself where nothing says how wide its own is.

    A stall is overhead x interval, so that a short interval shows it more closely.
    """

    def width(other: OperatingPoint) -> float | None:
        found = other.values.get(Quantity.OVERHEAD)
        if found is None or found.dispersion is None or other.interval_steps is None:
            return None
        known = found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH and found.value is not None
        return found.dispersion * other.interval_steps if known else None

    own = width(point)
    if own is None:
        return point
    others = [
        (wide, other.point_id, other)
        for other in evidence.points_of(point.architecture, point.mechanism)
        if all(getattr(other, name) == getattr(point, name) for name in _ALIKE)
        and (wide := width(other)) is not None
        and wide < own
    ]
    return min(others, key=lambda each: each[:2])[2] if others else point


def _stall_s(
    mechanism: Mechanism, point: OperatingPoint, between_saves_s: float, trail: _Trail
) -> float:
    """What one save costs the training (s), from the measured overhead: stall = O I t_step.

    A run of ours knows it twice: from steps with and without the mechanism in turn, which
    holds all that it costs, and from the saves' own clocks, which are the more precise. They count
    as long as they lie within the 95 % interval of the overhead, and where it is below zero, which
    no mechanism is; else the overhead does. What goes on behind the training is on no clock of a
    save: there they are the least that it costs.
    """
    overhead = trail.use(point, Quantity.OVERHEAD)
    found, save_s = point.values[Quantity.OVERHEAD], value_of(point, Quantity.SAVE)
    if (
        save_s is not None
        and found.dispersion is not None
        and found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH
        and (overhead < 0.0 or abs(save_s / between_saves_s - overhead) <= found.dispersion)
        and (mechanism.persist_path is TransferPath.NONE or save_s > overhead * between_saves_s)
    ):
        return trail.use(point, Quantity.SAVE)
    if overhead < 0.0:
        trail.apply(
            Rule.NOISE_AS_ZERO, "measured as faster than without it, by noise: overhead taken as 0"
        )
    return max(overhead, 0.0) * between_saves_s


def _predict_on_warning(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    trail = _Trail()
    point = _reference(evidence, scenario, mechanism, Quantity.SAVE, trail)
    save_s = trail.use(point, Quantity.SAVE)
    save_s *= _size_scale(evidence, scenario, mechanism, point, trail)
    save_s *= _path_scale(evidence, scenario, mechanism, point, trail)
    restore_s = _restore_s(evidence, scenario, mechanism, point, trail)
    overhead = trail.use(point, Quantity.OVERHEAD) if Quantity.OVERHEAD in point.values else 0.0
    lost = trail.use(point, Quantity.LOST_STEPS) if Quantity.LOST_STEPS in point.values else 0.0
    model = CostModel(
        is_periodic=False, restore_s=save_s + restore_s, overhead=overhead, lost_steps=lost
    )
    return _prediction(scenario, mechanism, point, model, None, save_s, trail)


def _predict_after_failure(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> Prediction:
    """Only what was observed counts: a run that resumed, its recovery time and its lost work."""
    trail = _Trail()
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
    step_s = step_time_s(evidence, point.architecture, point.workload) or 0.0
    recovery_s = max(trail.use(point, Quantity.RECOVERY) - step_s, 0.0)
    restore_s = recovery_s - scenario.regroup_s - scenario.init_s
    model = CostModel(
        is_periodic=False,
        restore_s=max(restore_s, 0.0),
        overhead=trail.use(point, Quantity.OVERHEAD) if Quantity.OVERHEAD in point.values else 0.0,
        lost_steps=trail.use(point, Quantity.LOST_STEPS),
    )
    return _prediction(scenario, mechanism, point, model, None, None, trail)


def _refuse_fewer_ranks(scenario: Scenario, point: OperatingPoint, trail: _Trail) -> None:
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
    Cadence.AFTER_FAILURE: _predict_after_failure,
    Cadence.NEVER: _predict_never,
}


def _prediction(
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    model: CostModel,
    interval: int | None,
    save_s: float | None,
    trail: _Trail,
) -> Prediction:
    replicas = point.replicas or mechanism.default_replicas
    return Prediction(
        mechanism=mechanism,
        model=model,
        reference_interval_steps=interval,
        save_s=save_s,
        host_bytes_per_rank=replicas * mechanism.host_copies_per_replica * scenario.state_bytes,
        device_bytes_per_rank=replicas * mechanism.device_copies_per_replica * scenario.state_bytes,
        rules=tuple(trail.rules),
        notes=tuple(trail.notes),
        used=tuple(trail.used),
    )


def _reference(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    needed: Quantity | None,
    trail: _Trail,
) -> OperatingPoint:
    """The nearest measured point with a restore, and with `needed` where that is one: of the
    architecture itself, else of a like one."""
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
        or step_time_s(evidence, point.architecture, point.workload) is not None
    )


def _require_near(what: str, distance: float, nearest: str, limit: float) -> None:
    """Raises NoPredictionError beyond the limit. `distance` is a ratio, as is `limit`."""
    if distance > limit:
        far, allowed = format_apart(distance, limit, format_number)
        raise NoPredictionError(
            f"{TOO_FAR}{what} is {far} times from {nearest}; the limit is {allowed} times"
        )


def _has_saves(point: OperatingPoint) -> bool:
    """Whether its save was measured more than once."""
    return bool(value_of(point, Quantity.SAVE)) and (point.values[Quantity.SAVE].n or 0) > 1


def _has_restore(point: OperatingPoint) -> bool:
    return value_of(point, Quantity.RESTORE) is not None


def _predicts_restore(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism, point: OperatingPoint
) -> bool:
    """Whether the point needs no restore of its own: the cluster's calibration says it."""
    return (
        scenario.restore_basis is RestoreBasis.CALIBRATED
        and _transfer(evidence, mechanism, point) is not None
    )


def _transfer(
    evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint
) -> CalibratedTransfer | None:
    """The calibrated restore, with as many replicas as the point has."""
    replicas = point.replicas or mechanism.default_replicas
    return restore_transfer(newest_fits(evidence), mechanism.restore_path, replicas)


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


def _stall_step_s(
    evidence: ClusterEvidence, scenario: Scenario, point: OperatingPoint, trail: _Trail
) -> float:
    """The step time that turns the measured overhead into a stall per save (s)."""
    own_step_s = step_time_s(evidence, point.architecture, point.workload)
    if own_step_s is None:
        return _unpublished_step_s(evidence, scenario, point, trail)
    if is_same(scenario.step_time_s, own_step_s):
        return scenario.step_time_s
    distance = _step_distance(scenario, own_step_s)
    direction = "longer" if scenario.step_time_s > own_step_s else "shorter"
    trail.apply(
        Rule.STEP_TIME,
        "overhead = stall per save / (interval x step time): your step is "
        f"{format_number(distance)} times {direction} than the measured "
        f"{format_duration(own_step_s)}",
    )
    return own_step_s


def _unpublished_step_s(
    evidence: ClusterEvidence, scenario: Scenario, point: OperatingPoint, trail: _Trail
) -> float:
    """The scenario's own step time, as long as it is plausible for the architecture."""
    known = nearest_step_time_s(evidence, point.architecture, point.state_bytes)
    if known is not None:
        _step_distance(scenario, known.value)
    assumed = ", which is itself assumed" if "step_time_s" in scenario.assumed else ""
    trail.notes.append(
        "its own step time was not published: the measured overhead is taken to hold at yours "
        f"({format_duration(scenario.step_time_s)}{assumed})"
    )
    return scenario.step_time_s


def _step_distance(scenario: Scenario, measured_s: float) -> float:
    distance = ratio_distance(scenario.step_time_s, measured_s)
    _require_near(
        f"a step of {format_duration(scenario.step_time_s)}",
        distance,
        f"the measured {format_duration(measured_s)}",
        MAX_STEP_TIME_RATIO,
    )
    return distance


def _size_scale(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: _Trail,
) -> float:
    """How many times the measured save this state size costs, by the fitted transfer."""
    size, measured = scenario.state_bytes, point.state_bytes
    if is_same(size, measured):
        return 1.0
    transfer = save_transfer(evidence, mechanism.mechanism_id)
    distance = ratio_distance(size, measured)
    inside = transfer is not None and transfer.min_bytes <= size <= transfer.max_bytes
    path = calibrated_save(newest_fits(evidence), mechanism.save_path)
    if not inside and path is not None and _reaches(path, size) and _reaches(path, measured):
        trail.apply(
            Rule.CALIBRATED_SAVE,
            f"state size: {format_bytes(size)} is {format_number(distance)} times from the nearest "
            f"measurement ({format_bytes(measured)}); calibrated transfer: save time as "
            f"{path.in_words()}",
        )
        return path.scale(size, measured)
    if not inside:
        _require_near(
            f"a state of {format_bytes(size)} a rank",
            distance,
            f"the nearest measurement of {mechanism.mechanism_id.upper()} "
            f"({format_bytes(measured)} on {point.architecture.upper()})",
            MAX_SIZE_RATIO,
        )
    words = transfer.in_words() if transfer else "in proportion to the size"
    trail.apply(
        Rule.STATE_SIZE,
        f"state size: {format_bytes(size)} is {format_number(distance)} times from the nearest "
        f"measurement ({format_bytes(measured)}); save time = {words}",
    )
    return transfer.scale(size, measured) if transfer else size / measured


def _path_scale(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: _Trail,
) -> float:
    """How much slower the path is here than where a carried-over stall was measured.

    By the saves of a mechanism that was measured on both architectures over the same path, several
    times on each: the quotient of two single runs was seen to be further off than none. 1 where
    there is none.
    """
    if point.architecture == scenario.architecture:
        return 1.0
    for other in evidence.mechanisms.values():
        if other.save_path is not mechanism.save_path:
            continue
        pair = [
            nearest_point(
                evidence, (architecture,), other.mechanism_id, point.state_bytes, _has_saves
            )
            for architecture in (scenario.architecture, point.architecture)
        ]
        here, there = pair
        if here and there and is_same(here.state_bytes, there.state_bytes):
            trail.used += [used_value(here, Quantity.SAVE), used_value(there, Quantity.SAVE)]
            ratio = (value_of(here, Quantity.SAVE) or 1.0) / (value_of(there, Quantity.SAVE) or 1.0)
            trail.apply(
                Rule.PATH_RATIO,
                f"a save over the same path took {format_number(ratio)} times as long on "
                f"{scenario.architecture.upper()} as on {point.architecture.upper()} "
                f"({other.mechanism_id.upper()})",
            )
            return ratio
    return 1.0


def _storage_scale(
    evidence: ClusterEvidence, scenario: Scenario, path: TransferPath, trail: _Trail
) -> float:
    """Measured rate / stated rate of the storage, where the path is storage at all. Raises
    NoPredictionError where a rate is stated that cannot be compared with one of the cluster's."""
    stated = _storage_rate(scenario, path)
    if stated is None:
        return 1.0
    measured = bandwidth_bytes_per_s(evidence, path)
    name = path.value.replace("_", " ")
    if measured is None:
        raise NoPredictionError(
            f"a {name} rate of {format_bytes_per_s(stated)} is given, and the cluster has no "
            "measured one to compare it with: leave it out for the times as measured"
        )
    if is_same(stated, measured):
        return 1.0
    distance = ratio_distance(stated, measured)
    _require_near(
        f"a {name} rate of {format_bytes_per_s(stated)}",
        distance,
        f"the measured {format_bytes_per_s(measured)}",
        MAX_STORAGE_RATE_RATIO,
    )
    trail.apply(
        Rule.STORAGE_RATE,
        f"{name}: {format_bytes_per_s(stated)} instead of the measured "
        f"{format_bytes_per_s(measured)}, time in proportion",
    )
    return measured / stated


def _storage_rate(scenario: Scenario, path: TransferPath) -> float | None:
    return {
        TransferPath.STORAGE_WRITE: scenario.storage_write_bytes_per_s,
        TransferPath.STORAGE_READ: scenario.storage_read_bytes_per_s,
    }.get(path)


def _restore_s(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: _Trail,
) -> float:
    """Time to bring the state back (s), without a save made at the failure."""
    storage = _storage_scale(evidence, scenario, mechanism.restore_path, trail)
    transfer = _transfer(evidence, mechanism, point)
    if scenario.restore_basis is RestoreBasis.CALIBRATED:
        if transfer is not None:
            return _transfer_s(transfer, scenario.state_bytes, storage, trail)
        found = calibrated(evidence, mechanism.restore_path)
        if found:
            return storage * _calibrated_s(found, scenario.state_bytes, trail)
        trail.notes.append(
            f"{evidence.cluster.cluster} has no calibration of "
            f"{mechanism.restore_path.value.replace('_', ' ')}: the published restore is used"
        )
    published_s = trail.use(point, Quantity.RESTORE)
    size, measured = scenario.state_bytes, point.state_bytes
    if is_same(size, measured):
        return published_s * storage
    if transfer is not None and _reaches(transfer, size) and _reaches(transfer, measured):
        trail.apply(
            Rule.CALIBRATED_RESTORE_SIZE,
            f"restore: calibrated transfer by size, {transfer.in_words()}",
        )
        return published_s * storage * transfer.scale(size, measured)
    trail.apply(
        Rule.RESTORE_SIZE,
        f"restore: in proportion to the size, {format_number(ratio_distance(size, measured))} "
        f"times from the nearest ({format_bytes(measured)})",
    )
    return published_s * storage * size / measured


def _reaches(transfer: CalibratedTransfer, size_bytes: float) -> bool:
    """Whether the calibration's sizes are near enough. Smaller ones always are: the latency, which
    was measured, is then most of it, and no error is larger than that."""
    return size_bytes <= MAX_SIZE_RATIO * transfer.largest_bytes


def _transfer_s(
    transfer: CalibratedTransfer, state_bytes: int, storage: float, trail: _Trail
) -> float:
    """The restore that the cluster's own calibration predicts (s)."""
    if not _reaches(transfer, state_bytes):
        _require_near(
            f"a restore of {format_bytes(state_bytes)}",
            state_bytes / transfer.largest_bytes,
            f"the largest calibrated size ({format_bytes(transfer.largest_bytes)})",
            MAX_SIZE_RATIO,
        )
    predicted_s = transfer.duration_s(state_bytes, storage)
    words = transfer.in_words()
    trail.apply(
        Rule.CALIBRATED_RESTORE,
        f"restore: calibrated transfer, {words}; what ranks agree on is not in it",
    )
    trail.used.append(
        _used(
            f"calibration {', '.join(transfer.sessions)}",
            Quantity.RESTORE,
            EvidencedValue(
                predicted_s,
                Evidence.EXTRAPOLATED,
                n=transfer.samples,
                conditions=words,
                source_id=transfer.terms[0].fit.source_id,
            ),
        )
    )
    return predicted_s


def _calibrated_s(found: Sequence[Calibration], state_bytes: int, trail: _Trail) -> float:
    """The measured time for this size, or one between or beyond the measured sizes (s)."""
    sizes = [float(c.size_bytes or 0) for c in found]
    times = [c.value.value or 0.0 for c in found]
    for each, size, time in zip(found, sizes, times, strict=True):
        if is_same(state_bytes, size):
            trail.used.append(_used(each.calibration_id, Quantity.RESTORE, each.value))
            return time
    trail.used += [_used(c.calibration_id, Quantity.RESTORE, c.value) for c in found]
    if sizes[0] < state_bytes < sizes[-1]:
        trail.apply(Rule.CALIBRATED_DURATIONS, "restore: interpolated between the calibrated sizes")
        return float(np.interp(state_bytes, sizes, times))
    nearest = min(sizes, key=lambda size: ratio_distance(state_bytes, size))
    _require_near(
        f"a restore of {format_bytes(state_bytes)}",
        ratio_distance(state_bytes, nearest),
        f"the nearest calibrated size ({format_bytes(nearest)})",
        MAX_SIZE_RATIO,
    )
    trail.apply(
        Rule.CALIBRATED_DURATIONS,
        f"restore: in proportion from the nearest calibrated size ({format_bytes(nearest)})",
    )
    return times[sizes.index(nearest)] * state_bytes / nearest


def _min_interval(
    scenario: Scenario, mechanism: Mechanism, interval: int, own_step_s: float
) -> int:
    """The shortest interval in steps: near enough to the measured one, and the persist fits."""
    step_s = scenario.step_time_s
    shortest_s = interval * own_step_s / MAX_INTERVAL_SHORTENING
    rate = _storage_rate(scenario, mechanism.persist_path)
    if rate is not None:
        shortest_s = max(shortest_s, scenario.state_bytes / rate)
    return max(1, ceil(shortest_s / step_s - _ROUNDING))


def _interval(scenario: Scenario, measured: int, shortest: int) -> int | None:
    """The interval that the scenario fixes, None where it is free."""
    if scenario.interval is IntervalPolicy.AUTO:
        return None
    wanted = measured if isinstance(scenario.interval, IntervalPolicy) else scenario.interval
    if wanted < shortest:
        raise NoPredictionError(
            f"no data: an interval of {wanted} steps is shorter than {shortest} steps, the "
            f"shortest that the measurement at {measured} steps supports"
        )
    whole_job = int(scenario.duration_s / scenario.step_time_s)
    if wanted > whole_job:
        raise NoPredictionError(
            f"an interval of {wanted:,} steps is longer than the whole job of {whole_job:,} steps"
        )
    return wanted


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
