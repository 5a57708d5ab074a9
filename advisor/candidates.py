"""Which mechanisms are candidates in a scenario, and why the others are not.

Every rule is a function that returns None, or the reason for an exclusion in words and numbers.
Rules look at capabilities, cadence and evidence, never at a mechanism's or architecture's name.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from advisor.characterization import (
    continues_after_loss,
    multi_failure_outcomes,
    single_failure_points,
    value_of,
)
from advisor.checkpoint_interval import daly_interval_s, young_interval_s
from advisor.completion_time import completion_terms
from advisor.leave_one_out import checks_of
from advisor.optimizer import Conditions, evaluate, shortest_within
from advisor.prediction.intervals import interval_rule
from advisor.prediction.outcome import (
    NoPredictionError,
    Prediction,
    emergency_save_bound_s,
    with_save_time,
)
from advisor.prediction.predict import predict
from advisor.prediction.trail import used_value
from advisor.recommendation import (
    Candidate,
    EvidenceCode,
    Excluded,
    NativeDegradation,
    Terms,
    UsedValue,
)
from advisor.rules import AppliedRule, Rule
from advisor.scenario import FailureRegime, Scenario
from advisor.seen_errors import seen_error
from advisor.units import (
    format_apart,
    format_bytes,
    format_duration,
    format_number,
    format_percent,
)
from db.records import Cadence, ClusterEvidence, Mechanism, OperatingPoint, PairStatus, Quantity

ExclusionRule = Callable[[ClusterEvidence, Scenario, Mechanism], str | None]
Limit = Callable[[ClusterEvidence, Scenario, Prediction], str | None]


@dataclass(frozen=True, slots=True)
class Consideration:
    """Every mechanism ends in exactly one of the two."""

    candidates: tuple[Candidate, ...]
    excluded: tuple[Excluded, ...]


def consider(
    evidence: ClusterEvidence, scenario: Scenario, save_s: Mapping[str, float] | None = None
) -> Consideration:
    """All mechanisms that the scenario admits, best first, and the rest with their reasons.

    `save_s` says of some mechanisms what one save is taken to cost, instead of what is predicted.
    """
    taken = save_s or {}
    outcomes = [
        _consider_one(evidence, scenario, m, taken.get(m.mechanism_id))
        for m in evidence.mechanisms.values()
    ]
    candidates = [o for o in outcomes if isinstance(o, Candidate)]
    excluded = tuple(o for o in outcomes if isinstance(o, Excluded))
    return Consideration(tuple(sorted(candidates, key=_rank)), excluded)


def conditions_of(scenario: Scenario) -> Conditions:
    """The scenario as the optimizer sees it."""
    return Conditions(
        duration_s=scenario.duration_s,
        mtbf_s=scenario.mtbf_s,
        step_time_s=scenario.step_time_s,
        detection_s=scenario.detection_s,
        regroup_s=scenario.regroup_s,
        init_s=scenario.init_s,
        max_overhead=np.inf if scenario.max_overhead is None else scenario.max_overhead,
    )


def _rank(candidate: Candidate) -> tuple[bool, float, str]:
    """Native degradation first: the job goes on by itself and pays no overhead (Table XII)."""
    expected = candidate.expected_completion_s
    return candidate.native is None, expected if expected is not None else 0.0, candidate.mechanism


def _consider_one(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism, save_s: float | None
) -> Candidate | Excluded:
    for rule in _RULES:
        reason = rule(evidence, scenario, mechanism)
        if reason:
            return Excluded(mechanism.mechanism_id, reason)
    try:
        if mechanism.cadence is Cadence.NEVER and continues_after_loss(
            evidence, scenario.architecture
        ):
            return _native(evidence, scenario, mechanism)
        prediction = predict(evidence, scenario, mechanism)
    except NoPredictionError as refusal:
        return Excluded(mechanism.mechanism_id, refusal.reason, refusal.shown)
    if save_s is not None:
        prediction = with_save_time(prediction, save_s)
    for limit in _LIMITS:
        reason = limit(evidence, scenario, prediction)
        if reason:
            return Excluded(mechanism.mechanism_id, reason, _shown(prediction))
    return _priced(evidence, scenario, prediction)


def _not_asked_for(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> str | None:
    if scenario.mechanisms is None or mechanism.mechanism_id in scenario.mechanisms:
        return None
    return f"not among the mechanisms asked for ({', '.join(scenario.mechanisms)})"


def _incompatible(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> str | None:
    pair = evidence.compatibility.get((scenario.architecture, mechanism.mechanism_id))
    if pair is None:
        return f"no data: its compatibility with {scenario.architecture.upper()} is not known"
    if pair.status is PairStatus.VIABLE:
        return None
    return f"{pair.status.value}: {pair.reason}"


def _unwarned(evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism) -> str | None:
    """A mechanism that works on warning preserves nothing without one."""
    if mechanism.cadence is not Cadence.ON_WARNING:
        return None
    if not scenario.warning_lead_s or not scenario.warning_coverage:
        return "without a warning it preserves no state: give a warning lead if failures announce"
    if scenario.warning_coverage == 1.0:
        return None
    unannounced = (1.0 - scenario.warning_coverage) * scenario.duration_s / scenario.mtbf_s
    return (
        f"a coverage of {format_percent(scenario.warning_coverage)} leaves "
        f"{format_number(unannounced)} unannounced failures expected in the job, "
        "and each would start it from step 0"
    )


def _not_seen_to_survive_several(
    evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism
) -> str | None:
    """Under F2 and F3, stored state is not enough: the runs have to have resumed."""
    if scenario.failure_regime is FailureRegime.SINGLE or mechanism.cadence is Cadence.NEVER:
        return None
    seen = multi_failure_outcomes(evidence, scenario.architecture, mechanism)
    compose = "compose it with external election and regrouping"
    if not seen:
        return (
            f"no run showed {scenario.architecture.upper()} with {mechanism.mechanism_id.upper()} "
            "resuming after "
            f"concurrent or cascading failures: {compose}"
        )
    worst_trace, worst = min(seen, key=lambda item: item[1].value or 0.0)
    if worst.value == 1.0:
        return None
    runs = worst.n or 0
    return (
        f"under {worst_trace} it resumed in {round((worst.value or 0.0) * runs)} of {runs} runs: "
        f"{compose}"
    )


_RULES: tuple[ExclusionRule, ...] = (
    _not_asked_for,
    _incompatible,
    _unwarned,
    _not_seen_to_survive_several,
)


def _lead_too_short(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    if prediction.save_s is None or scenario.warning_lead_s is None:
        return None
    needed_s = emergency_save_bound_s(prediction)
    if scenario.warning_lead_s >= needed_s:
        return None
    return (
        f"a lead of {format_duration(scenario.warning_lead_s)} is shorter than the emergency save, "
        f"{format_duration(prediction.save_s)} and up to {format_duration(needed_s)} with its "
        "dispersion"
    )


def _over_restore_limit(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    limit, restore = scenario.max_restore_s, prediction.model.restore_s
    if limit is None or _keeps(restore, limit):
        return None
    taken, allowed = format_apart(restore, limit, format_duration, "s")
    return f"its restore takes {taken}, over the limit of {allowed}"


def _keeps(value: float, limit: float) -> bool:
    """At most the limit, not counting the rounding of a sum."""
    return value <= limit * (1.0 + 1e-12)


def _over_pause_limit(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    pause_s = _pause_s(scenario, prediction.model.restore_s)
    if scenario.max_pause_s is None or _keeps(pause_s, scenario.max_pause_s):
        return None
    taken, allowed = format_apart(pause_s, scenario.max_pause_s, format_duration, "s")
    return (
        f"a failure pauses the job for {taken} (detection {format_duration(scenario.detection_s)} "
        f"included), over the limit of {allowed}"
    )


def _over_host_memory(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    ranks = evidence.cluster.ranks_per_node
    return _over_memory(
        ranks * prediction.host_bytes_per_rank,
        scenario.host_memory_bytes,
        f"its copies need {{}} of host memory a node ({ranks} ranks)",
    )


def _over_device_memory(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    if not prediction.device_bytes_per_rank:
        return None
    return _over_memory(
        scenario.state_bytes + prediction.device_bytes_per_rank,
        scenario.device_memory_bytes,
        "the state and its copies need {} of device memory",
    )


def _over_memory(needed: int, available: int | None, words: str) -> str | None:
    if available is None or needed <= available:
        return None
    wanted, there = format_apart(needed, available, format_bytes, "B")
    return f"{words.format(wanted)}, and there are {there}"


def _job_too_short(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    model, steps = prediction.model, scenario.duration_s / scenario.step_time_s
    if not model.is_periodic or model.interval_steps or model.min_interval_steps <= max(steps, 1.0):
        return None
    return (
        f"no data: the job of {int(steps):,} steps is shorter than {model.min_interval_steps:,} "
        "steps, the shortest interval that the measurement supports"
    )


def _over_overhead_limit(
    evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction
) -> str | None:
    limit = scenario.max_overhead
    if limit is None:
        return None
    model, step_s = prediction.model, scenario.step_time_s
    found = evaluate(model, conditions_of(scenario))
    overhead = float(found.overhead)
    if overhead <= limit:
        return None
    taken, allowed = format_apart(overhead, limit, format_percent, "%")
    if not model.is_periodic:
        return f"overhead {taken} exceeds the limit of {allowed}"
    words = f"overhead {taken} at an interval of {int(found.interval_steps):,} steps exceeds the "
    words += f"limit of {allowed}"
    if limit > 0.0 and prediction.mechanism.cadence is Cadence.PERIODIC:
        shortest = float(shortest_within(model.stall_s, np.asarray(step_s), limit))
        if shortest <= scenario.duration_s / step_s:
            words += f"; {int(shortest):,} steps or more would keep it"
    return words


_LIMITS: tuple[Limit, ...] = (
    _lead_too_short,
    _job_too_short,
    _over_host_memory,
    _over_device_memory,
    _over_restore_limit,
    _over_pause_limit,
    _over_overhead_limit,
)


def _pause_s(scenario: Scenario, restore_s: float) -> float:
    """Fault to resumed training: TTD + T_recover (section V-F)."""
    return scenario.detection_s + restore_s + scenario.regroup_s + scenario.init_s


def _shown(prediction: Prediction) -> dict[str, float]:
    return {"restore_s": prediction.model.restore_s}


def _priced(evidence: ClusterEvidence, scenario: Scenario, prediction: Prediction) -> Candidate:
    """The candidate at its best interval, with every term of Eq. (5)."""
    model, conditions = prediction.model, conditions_of(scenario)
    found = evaluate(model, conditions)
    interval = int(found.interval_steps) or None
    overhead, lost_s = float(found.overhead), float(found.lost_s)
    terms = completion_terms(
        duration_s=scenario.duration_s,
        overhead=overhead,
        mtbf_s=scenario.mtbf_s,
        detection_s=scenario.detection_s,
        restore_s=model.restore_s,
        regroup_s=scenario.regroup_s,
        init_s=scenario.init_s,
        lost_s=lost_s,
    )
    expected_s = float(found.expected_s)
    rules = (*prediction.rules, *interval_rule(prediction, interval))
    return Candidate(
        mechanism=prediction.mechanism.mechanism_id,
        name=prediction.mechanism.name,
        evidence=EvidenceCode.EXTRAPOLATED if rules else EvidenceCode.MEASURED,
        interval_steps=interval,
        interval_s=None if interval is None else interval * scenario.step_time_s,
        young_interval_s=_rule_of_thumb(young_interval_s, prediction, scenario),
        daly_interval_s=_rule_of_thumb(daly_interval_s, prediction, scenario),
        overhead=overhead,
        restore_s=model.restore_s,
        pause_s=_pause_s(scenario, model.restore_s),
        lost_s=lost_s,
        expected_completion_s=expected_s,
        goodput=scenario.duration_s / expected_s,
        terms=Terms(**{name: float(getattr(terms, name)) for name in Terms.__dataclass_fields__}),
        host_memory_bytes_per_rank=prediction.host_bytes_per_rank,
        native=None,
        rules=tuple(each.words for each in rules),
        notes=prediction.notes,
        used=prediction.used,
        checks=checks_of(evidence, rules),
        seen=seen_error(evidence, scenario.architecture, prediction.mechanism.mechanism_id),
        model=model,
    )


def _rule_of_thumb(
    rule: Callable[[float, float], float], prediction: Prediction, scenario: Scenario
) -> float | None:
    """The interval (s) that a rule of thumb names, for mechanisms whose interval can vary."""
    if prediction.mechanism.cadence is not Cadence.PERIODIC:
        return None
    return rule(prediction.model.stall_s, scenario.mtbf_s)


_OWN_BEHAVIOUR = AppliedRule(
    Rule.OWN_BEHAVIOUR,
    "derived from the architecture's own run without a mechanism: survivors continue",
)
_OTHER_MECHANISMS = AppliedRule(
    Rule.OTHER_MECHANISMS,
    "latency from runs with another mechanism attached, dominated by the architecture's own "
    "membership handling",
)


def _native(evidence: ClusterEvidence, scenario: Scenario, mechanism: Mechanism) -> Candidate:
    """Survivors continue by themselves; outside Eq. (5), so no expected time is claimed."""
    single = scenario.failure_regime is FailureRegime.SINGLE
    rule = _OWN_BEHAVIOUR if single else _OTHER_MECHANISMS
    found = _native_single(evidence, scenario) if single else _native_multi(evidence, scenario)
    low, high, slowdown, used = found
    if scenario.max_pause_s is not None and not _keeps(high, scenario.max_pause_s):
        taken, allowed = format_apart(high, scenario.max_pause_s, format_duration, "s")
        raise NoPredictionError(
            f"survivors go on {taken} after a loss, which is over the limit of {allowed}"
        )
    return Candidate(
        mechanism=mechanism.mechanism_id,
        name=mechanism.name,
        evidence=EvidenceCode.DERIVED if single else EvidenceCode.EXTRAPOLATED,
        interval_steps=None,
        interval_s=None,
        young_interval_s=None,
        daly_interval_s=None,
        overhead=0.0,
        restore_s=None,
        pause_s=high,
        lost_s=None,
        expected_completion_s=None,
        goodput=None,
        terms=None,
        host_memory_bytes_per_rank=0,
        native=NativeDegradation(low, high, slowdown),
        rules=(rule.words,),
        notes=(),
        used=used,
        checks=checks_of(evidence, (rule,)),
    )


def _native_single(
    evidence: ClusterEvidence, scenario: Scenario
) -> tuple[float, float, float | None, tuple[UsedValue, ...]]:
    for point in single_failure_points(evidence, scenario.architecture):
        if value_of(point, Quantity.RESUMED) == 1.0:
            slowdown = value_of(point, Quantity.AGGREGATE_SLOWDOWN)
            latency = scenario.detection_s
            wanted = [Quantity.AGGREGATE_SLOWDOWN, Quantity.RESUMED]
            if "detection_s" in scenario.assumed:
                wanted.insert(0, Quantity.DETECTION)
            used = tuple(used_value(point, q) for q in wanted if q in point.values)
            return latency, latency, slowdown, used
    raise NoPredictionError(
        f"no data: no run on {evidence.cluster.cluster} showed {scenario.architecture.upper()} "
        "continuing "
        "after a loss"
    )


def _native_multi(
    evidence: ClusterEvidence, scenario: Scenario
) -> tuple[float, float, float | None, tuple[UsedValue, ...]]:
    """Recovery under several failures, from whichever mechanism was attached when it was seen."""
    seen: list[tuple[OperatingPoint, float]] = []
    for mechanism in evidence.mechanisms.values():
        outcomes = multi_failure_outcomes(evidence, scenario.architecture, mechanism)
        if not outcomes or any(resumed.value != 1.0 for _, resumed in outcomes):
            continue
        traces = {trace for trace, _ in outcomes}
        seen += [
            (p, recovery)
            for p in evidence.points_of(scenario.architecture, mechanism.mechanism_id)
            if p.trace in traces and (recovery := value_of(p, Quantity.RECOVERY)) is not None
        ]
    if not seen:
        raise NoPredictionError(
            f"no data: no run on {evidence.cluster.cluster} showed {scenario.architecture.upper()} "
            "continuing after concurrent or cascading failures"
        )
    times = [recovery for _, recovery in seen]
    used = tuple(used_value(point, Quantity.RECOVERY) for point, _ in seen)
    return min(times), max(times), None, used
