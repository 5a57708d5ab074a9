"""From evidence and a scenario to a recommendation. Pure: no database, no printing."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from advisor.candidates import Consideration, conditions_of, consider
from advisor.characterization import (
    alike,
    bound_excess,
    resumes_after_several,
    what_was_read,
)
from advisor.crossover import (
    Crossing,
    HeldCost,
    held_crossing,
    reoptimised_crossing,
    shortcut_mtbf_s,
)
from advisor.errors import UserError
from advisor.exact_time import SHOWN_DIFFERENCE, exact_completion_s, interval_choice
from advisor.optimizer import Conditions, CostModel, evaluate
from advisor.pareto import NO_DOMINATOR, dominators, pareto_front
from advisor.recommendation import (
    Candidate,
    Crossover,
    Dominated,
    ExactTime,
    Frontier,
    Recommendation,
    SourceNote,
    Versions,
)
from advisor.scenario import RANGES, FailureRegime, IntervalPolicy, Scenario
from advisor.software import stack_warnings
from advisor.units import format_bytes, format_duration, format_percent
from db.records import ClusterEvidence, Evidence, Quantity

AXES = {
    "overhead": "overhead",
    "restore": "restore_s",
    "lost-work": "lost_s",
    "host-memory": "host_memory_bytes_per_rank",
    "expected-time": "expected_completion_s",
}
"""Axis name at the edge -> field of a candidate."""
DEFAULT_AXES = ("overhead", "restore")
_BOUNDS = (Evidence.ANALYTICAL.value, Evidence.LOWER_BOUND.value)
_LONGEST_S = RANGES["duration_s"][1]
"""A job that takes longer practically never ends."""


def decide(
    evidence: ClusterEvidence,
    scenario: Scenario,
    versions: Versions,
    axes: Sequence[str] = DEFAULT_AXES,
) -> Recommendation:
    """The whole answer for one scenario. Raises UserError for an unknown axis."""
    considered = _with_exact_times(scenario, consider(evidence, scenario))
    candidates = considered.candidates
    selected = candidates[0] if candidates else None
    runner_up = candidates[1] if len(candidates) > 1 else None
    margin_s = _margin_s(selected, runner_up)
    return Recommendation(
        scenario=scenario,
        selected=selected,
        runner_up=runner_up,
        margin_s=margin_s,
        margin_fraction=_margin_fraction(selected, margin_s),
        candidates=candidates,
        excluded=considered.excluded,
        frontier=frontier_of(candidates, axes),
        crossovers=tuple(_crossovers(scenario, selected, candidates[1:])),
        warnings=(*_warnings(evidence, scenario, considered), *what_was_read(evidence)),
        sources=tuple(_sources(evidence, candidates)),
        versions=versions,
    )


def _with_exact_times(scenario: Scenario, considered: Consideration) -> Consideration:
    candidates = (replace(c, exact=exact_time(scenario, c)) for c in considered.candidates)
    return replace(considered, candidates=tuple(candidates))


def exact_time(scenario: Scenario, candidate: Candidate) -> ExactTime | None:
    """The candidate's exact expected time at its interval; None outside Eq. (5)."""
    model, first_order_s = candidate.model, candidate.expected_completion_s
    if model is None or first_order_s is None:
        return None
    conditions = conditions_of(scenario)
    interval_steps = candidate.interval_steps or 0
    exact_s = float(exact_completion_s(model, conditions, float(interval_steps)))
    can_vary = candidate.young_interval_s is not None
    interval = interval_choice(model, conditions, interval_steps) if can_vary else None
    if not exact_s <= _LONGEST_S:
        return ExactTime(None, None, True, interval)
    difference = exact_s / first_order_s - 1.0
    return ExactTime(exact_s, difference, abs(difference) > SHOWN_DIFFERENCE, interval)


def frontier_of(candidates: Sequence[Candidate], axes: Sequence[str]) -> Frontier:
    """The frontier over the named axes, with each dominated candidate's dominator."""
    _require_axes(axes)
    names = [c.mechanism for c in candidates]
    points = np.array(
        [[_on_axis(c, axis) for axis in axes] for c in candidates], dtype=np.float64
    ).reshape(len(candidates), len(axes))
    front = pareto_front(points)
    named = dominators(points, front)
    return Frontier(
        axes=tuple(axes),
        members=tuple(n for n, keep in zip(names, front.is_front, strict=True) if keep),
        dominated=tuple(
            Dominated(name, names[by])
            for name, by in zip(names, named, strict=True)
            if by != NO_DOMINATOR
        ),
        not_comparable=tuple(
            n for n, missing in zip(names, front.is_not_comparable, strict=True) if missing
        ),
    )


def crossover_of(scenario: Scenario, a: Candidate, b: Candidate) -> Crossover:
    """Where a and b take equally long; a crossover needs Eq. (5), so None for native candidates.

    With a free interval both are re-optimised at every MTBF; the shortcut always holds the
    intervals chosen for the scenario.
    """
    if a.model is None or b.model is None:
        return Crossover(a.mechanism, b.mechanism, None, None, None)
    held_a, held_b = _held(a), _held(b)
    if scenario.interval is IntervalPolicy.AUTO:
        crossing = reoptimised_crossing(a.model, b.model, conditions_of(scenario), scenario.mtbf_s)
    else:
        crossing = held_crossing(held_a, held_b)
    return Crossover(
        a=a.mechanism,
        b=b.mechanism,
        mtbf_s=crossing.mtbf_s,
        shortcut_mtbf_s=shortcut_mtbf_s(held_a, held_b),
        faster_below=_winner(crossing, a, b),
        is_flagged=_is_flagged_at(scenario, crossing.mtbf_s, (a.model, b.model)),
    )


def _is_flagged_at(
    scenario: Scenario, mtbf_s: float | None, models: Iterable[CostModel]
) -> bool | None:
    """Whether Eq. (5) is more than 1 % off the exact time of any of them at this MTBF (s)."""
    if mtbf_s is None:
        return None
    conditions = replace(conditions_of(scenario), mtbf_s=mtbf_s)
    return any(_is_off(model, conditions) for model in models)


def _is_off(model: CostModel, conditions: Conditions) -> bool:
    there = evaluate(model, conditions)
    exact_s = float(exact_completion_s(model, conditions, float(there.interval_steps)))
    return not exact_s <= _LONGEST_S or (
        abs(exact_s / float(there.expected_s) - 1.0) > SHOWN_DIFFERENCE
    )


def _winner(crossing: Crossing, a: Candidate, b: Candidate) -> str | None:
    if crossing.a_wins_below is None:
        return None
    return a.mechanism if crossing.a_wins_below else b.mechanism


def _require_axes(axes: Sequence[str]) -> None:
    unknown = [axis for axis in axes if axis not in AXES]
    if unknown or not axes or len(set(axes)) != len(axes):
        raise UserError(
            f"the axes {', '.join(axes) or '(none)'} are not valid: name each of "
            f"{', '.join(AXES)} at most once, separated by commas"
        )


def _on_axis(candidate: Candidate, axis: str) -> float:
    value = getattr(candidate, AXES[axis])
    return float("nan") if value is None else float(value)


def _held(candidate: Candidate) -> HeldCost:
    return HeldCost(candidate.overhead, candidate.pause_s + (candidate.lost_s or 0.0))


def _margin_s(selected: Candidate | None, runner_up: Candidate | None) -> float | None:
    if selected is None or runner_up is None:
        return None
    if selected.expected_completion_s is None or runner_up.expected_completion_s is None:
        return None
    return runner_up.expected_completion_s - selected.expected_completion_s


def _margin_fraction(selected: Candidate | None, margin_s: float | None) -> float | None:
    if selected is None or margin_s is None or not selected.expected_completion_s:
        return None
    return margin_s / selected.expected_completion_s


def _crossovers(
    scenario: Scenario, selected: Candidate | None, others: Iterable[Candidate]
) -> Iterable[Crossover]:
    if selected is None:
        return
    for other in others:
        if selected.model is not None and other.model is not None:
            yield crossover_of(scenario, selected, other)


def _warnings(
    evidence: ClusterEvidence, scenario: Scenario, considered: Consideration
) -> Iterable[str]:
    selected = considered.candidates[0] if considered.candidates else None
    if selected is None:
        yield (
            _what_would_answer(evidence, scenario, considered)
            or "no mechanism satisfies every rule and limit: see the exclusions for what would"
        )
        return
    yield from (f"{selected.mechanism.upper()}: {note}" for note in selected.notes)
    yield from stack_warnings(evidence, considered.candidates)
    if selected.native is not None:
        yield (
            f"{scenario.architecture.upper()} goes on by itself after a loss: this lies outside "
            "Eq. (5), so no expected time is given"
        )
        return
    yield from _first_order_warning(considered.candidates)
    yield from _bound_warning(evidence, selected)
    if "detection_s" in scenario.assumed and scenario.detection_s >= 60.0:
        yield (
            f"detection takes {format_duration(scenario.detection_s)} because it follows the "
            "process-group timeout: a shorter timeout in init_process_group shortens every failure"
        )


def _what_would_answer(
    evidence: ClusterEvidence, scenario: Scenario, considered: Consideration
) -> str | None:
    """What would make an answer possible, where it is not a limit that prevents it."""
    if scenario.failure_regime is FailureRegime.MULTI:
        return _several_failures(evidence, scenario)
    if any(e.is_too_far for e in considered.excluded):
        return _other_sizes(evidence, scenario)
    return None


def _several_failures(evidence: ClusterEvidence, scenario: Scenario) -> str:
    survivors = [a for a in evidence.architectures if resumes_after_several(evidence, a)]
    seen = f"it was for {', '.join(survivors).upper()}" if survivors else "it was for none"
    if evidence.excerpt is not None:
        seen += ", as far as operating points were read"
    return (
        "after concurrent or cascading failures only what was seen to resume in every run counts, "
        f"and on {evidence.cluster.cluster} {seen}; the failure regime single asks for "
        "one worker lost at a time"
    )


def _other_sizes(evidence: ClusterEvidence, scenario: Scenario) -> str | None:
    """Which measured state sizes would have an answer where this one has no data."""
    architectures = (scenario.architecture, *alike(evidence, scenario.architecture))
    measured = sorted({p.state_bytes for p in evidence.points if p.architecture in architectures})
    answered = [
        size
        for size in measured
        if consider(evidence, replace(scenario, state_bytes=size)).candidates
    ]
    if not answered:
        return None
    return (
        f"nothing was measured near enough to {format_bytes(scenario.state_bytes)} a rank, and no "
        "option extrapolates further; there would be an answer with "
        f"{' or '.join(map(format_bytes, answered))} a rank, which was measured"
    )


def _first_order_warning(candidates: Iterable[Candidate]) -> Iterable[str]:
    """Which expected times Eq. (5) gives more than 1 % too short (or too long)."""
    flagged = [_difference_words(c, c.exact) for c in candidates if c.exact and c.exact.is_flagged]
    if flagged:
        yield (
            "where marked *, Eq. (5) is more than "
            f"{format_percent(SHOWN_DIFFERENCE)} off the exact expected time, in which failures "
            f"strike recoveries and saves too: {'; '.join(flagged)}"
        )


def _difference_words(candidate: Candidate, exact: ExactTime) -> str:
    name = candidate.mechanism.upper()
    if exact.completion_s is None or exact.difference_fraction is None:
        return f"{name} practically never ends"
    difference = format_percent(round(abs(exact.difference_fraction), 4))
    side = "longer" if exact.difference_fraction > 0.0 else "shorter"
    return f"{name} takes {format_duration(exact.completion_s)}, {difference} {side}"


def _bound_warning(evidence: ClusterEvidence, selected: Candidate) -> Iterable[str]:
    """Says that an analytical restore is a lower bound, and how low it was where that is known."""
    if not any(
        u.quantity == Quantity.RESTORE.value and u.evidence in _BOUNDS for u in selected.used
    ):
        return
    words = f"the restore of {selected.mechanism.upper()} rests on an analytical lower bound"
    path = evidence.mechanisms[selected.mechanism].restore_path
    excess = bound_excess(evidence, path)
    if excess is not None:
        words += (
            f"; calibration measured {format_percent(round(excess[0], 3))} to "
            f"{format_percent(round(excess[1], 3))} more on that path: "
            "the restore basis calibrated uses it"
        )
    yield words


def _sources(evidence: ClusterEvidence, candidates: Sequence[Candidate]) -> Iterable[SourceNote]:
    ids = {u.source_id for c in candidates for u in c.used if u.source_id}
    for source_id in sorted(ids):
        source = evidence.sources[source_id]
        yield SourceNote(source_id, source.citation, source.url)
