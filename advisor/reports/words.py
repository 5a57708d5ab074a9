"""The sentences and table cells of a recommendation: shared by every report that people read."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from itertools import zip_longest

from advisor.decide import AXES
from advisor.exact_time import FLAT_WASTE, SHOWN_DIFFERENCE
from advisor.inputs import BY_FIELD, INPUTS, Group
from advisor.recommendation import (
    Candidate,
    Chance,
    Crossover,
    DrillMark,
    Excluded,
    Recommendation,
    RegretChoice,
    RuleCheck,
    RuleError,
    SeenError,
    SpreadOrigin,
    UsedValue,
)
from advisor.scenario import FailureRegime, IntervalPolicy, Scenario
from advisor.units import (
    format_bytes,
    format_bytes_per_s,
    format_duration,
    format_number,
    format_percent,
)

CANDIDATE_HEADER = (
    "mechanism",
    "interval",
    "overhead",
    "restore",
    "pause",
    "lost work",
    "expected",
    "goodput",
    "ev.",
)
EVIDENCE_LEGEND = (
    "M measured directly, E extrapolated by a stated rule, "
    "D derived from the architecture's own behaviour"
)
SUPERSEDED_MARK = "†"
"""Behind an evidence code: figures of a superseded software stack; a warning says which."""
UNTESTED_MARK = "‡"
"""Behind an evidence code: untested, where others were drilled; `drill_lines` says why."""
BY_SCATTER = "By the scatter of the measurements alone"
"""How probabilities and what a measurement is worth are known."""
_ABSENT = "–"


def headline(recommendation: Recommendation) -> str:
    """The answer in one sentence."""
    selected, scenario = recommendation.selected, recommendation.scenario
    if selected is None:
        return _no_answer(recommendation)
    if selected.native is not None:
        return (
            f"{label(selected)}: {scenario.architecture.upper()} goes on by itself "
            f"{_latency(selected)} after a loss; no mechanism is needed for crashes."
        )
    expected = format_duration(selected.expected_completion_s or 0.0)
    return (
        f"{label(selected)}{_cadence(selected)}: {format_duration(scenario.duration_s)} becomes "
        f"{expected}; goodput {format_percent(selected.goodput or 0.0)}."
    )


def _no_answer(recommendation: Recommendation) -> str:
    """A missing measurement is no failed limit: the two are told apart."""
    too_far = [e.mechanism.upper() for e in recommendation.excluded if e.is_too_far]
    if not too_far:
        return "No mechanism satisfies every rule and limit."
    scenario = recommendation.scenario
    return (
        f"No data near enough for {listed(too_far)} on {scenario.architecture.upper()} with "
        f"{format_bytes(scenario.state_bytes)} a rank and steps of "
        f"{format_duration(scenario.step_time_s)}; no other mechanism satisfies every rule "
        "and limit."
    )


def runner_up_line(recommendation: Recommendation) -> str | None:
    other = recommendation.runner_up
    if other is None:
        return None
    if recommendation.margin_s is None or recommendation.margin_fraction is None:
        return f"Next: {label(other)}{_cadence(other)}."
    return (
        f"Runner-up: {label(other)}{_cadence(other)}, "
        f"{format_duration(recommendation.margin_s)} later "
        f"({format_percent(recommendation.margin_fraction)})."
    )


def label(candidate: Candidate) -> str:
    return f"{candidate.mechanism.upper()} {candidate.name}"


def listed(names: Sequence[str]) -> str:
    """As people list them: a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def steps(count: int) -> str:
    return "1 step" if count == 1 else f"{count:,} steps"


def candidate_cells(candidate: Candidate) -> tuple[str, ...]:
    """One row under `CANDIDATE_HEADER`."""
    return (
        label(candidate),
        _ABSENT if candidate.interval_steps is None else steps(candidate.interval_steps),
        format_percent(candidate.overhead),
        _optional_duration(candidate.restore_s),
        format_duration(candidate.pause_s),
        _optional_duration(candidate.lost_s),
        _expected(candidate),
        _ABSENT if candidate.goodput is None else format_percent(candidate.goodput),
        evidence_code(candidate),
    )


def evidence_code(candidate: Candidate) -> str:
    """`M`; `M†` where a figure was measured under superseded software, `M‡` where drills left the
    mechanism untested."""
    superseded = SUPERSEDED_MARK if candidate.is_superseded else ""
    return candidate.evidence.value + superseded + untested_mark(candidate)


def untested_mark(candidate: Candidate) -> str:
    """The mark of a mechanism that drills left untested; nothing where none was drilled at all."""
    return UNTESTED_MARK if candidate.is_marked_untested else ""


def _expected(candidate: Candidate) -> str:
    """With a mark where the exact time differs by more than 1 %: a warning says by how much."""
    flagged = candidate.exact is not None and candidate.exact.is_flagged
    return _optional_duration(candidate.expected_completion_s) + ("*" if flagged else "")


def term_cells(candidate: Candidate) -> tuple[tuple[str, str], ...]:
    """Eq. (5) of one candidate, term by term, in words and human units."""
    terms = candidate.terms
    if terms is None:
        return ()
    return (
        ("failure-free", format_duration(terms.base_s)),
        ("overhead", format_duration(terms.overhead_s)),
        ("detection", format_duration(terms.detection_s)),
        ("restore", format_duration(terms.restore_s)),
        ("regrouping", format_duration(terms.regroup_s)),
        ("initialisation", format_duration(terms.init_s)),
        ("lost work", format_duration(terms.lost_s)),
        ("failures expected", format_number(terms.failures)),
    )


def excluded_line(excluded: Excluded) -> str:
    return f"{excluded.mechanism.upper()}: {excluded.reason}"


def frontier_lines(recommendation: Recommendation) -> Iterator[str]:
    if not recommendation.candidates:
        return
    frontier = recommendation.frontier
    members = ", ".join(m.upper() for m in frontier.members) or "none"
    yield f"Pareto frontier over {' and '.join(frontier.axes)}: {members}"
    for pair in frontier.dominated:
        yield f"{pair.mechanism.upper()} is dominated by {pair.dominated_by.upper()}"
    for name in frontier.not_comparable:
        yield f"{name.upper()} has no value on one of the axes"


def axis_words(axis: str) -> Callable[[float], str]:
    """How values of the axis are written."""
    field = AXES[axis]
    if field.endswith("_s"):
        return format_duration
    return format_bytes if "_bytes" in field else format_percent


def crossover_line(crossover: Crossover) -> str:
    """Where the two take equally long, with the mark of candidates where Eq. (5) is off there."""
    a, b = crossover.a.upper(), crossover.b.upper()
    shortcut = (
        "the paper's shortcut dC/dO: never"
        if crossover.shortcut_mtbf_s is None
        else f"the paper's shortcut dC/dO: {format_duration(crossover.shortcut_mtbf_s)}"
    )
    if crossover.faster_below is None:
        return f"{a} and {b}: not comparable by Eq. (5)"
    winner = crossover.faster_below.upper()
    if crossover.mtbf_s is None:
        return f"{a} and {b} never cross: {winner} is faster at every MTBF ({shortcut})"
    mark, off = ("*", f"; *: {off_words()} there") if crossover.is_flagged else ("", "")
    return (
        f"{a} and {b} cross at an MTBF of {format_duration(crossover.mtbf_s)}{mark}: "
        f"{winner} is faster below it ({shortcut}{off})"
    )


def off_words() -> str:
    """What the mark stands for."""
    return f"Eq. (5) is more than {format_percent(SHOWN_DIFFERENCE)} off the exact time"


def interval_lines(recommendation: Recommendation) -> Iterator[str]:
    """Each chosen interval beside the rules of thumb."""
    for candidate in recommendation.candidates:
        if candidate.young_interval_s is None or candidate.daly_interval_s is None:
            continue
        yield (
            f"{candidate.mechanism.upper()}: {format_duration(candidate.interval_s or 0.0)} here; "
            f"Young's rule gives {format_duration(candidate.young_interval_s)}, "
            f"Daly's {format_duration(candidate.daly_interval_s)}{_flat_words(candidate)}"
        )


def _flat_words(candidate: Candidate) -> str:
    """Whether another interval would be worth a change, and how flat the optimum is."""
    choice = candidate.exact.interval if candidate.exact else None
    if choice is None:
        return ""
    words = ""
    if choice.is_worth_a_change:
        words = f"; {steps(choice.best_steps)} would waste {_points(choice.gain_fraction)} less"
    low, high = choice.flat_from_steps, choice.flat_to_steps
    if low == high:
        return f"{words}; the next longer or shorter one wastes {_points(FLAT_WASTE)} more"
    return f"{words}; flat from {low:,} to {steps(high)}: less than {_points(FLAT_WASTE)} apart"


def _points(share: float) -> str:
    return f"{100.0 * share:.2g} points"


def evidence_lines(recommendation: Recommendation) -> Iterator[str]:
    """The stored numbers behind each candidate, with n, dispersion, provenance and table."""
    for candidate in recommendation.candidates:
        values = "; ".join(map(_used_words, candidate.used))
        yield f"{candidate.mechanism.upper()}: {values}"


def _used_words(used: UsedValue) -> str:
    value = _quantity(used.quantity, used.value)
    if used.dispersion is not None:
        value += f" ± {_quantity(used.quantity, used.dispersion)}"
    origin = [f"n = {used.n}"] if used.n else []
    origin += ["superseded software stack"] if used.superseded_by else []
    origin += [used.evidence.replace("_", " "), used.table_ref or used.point_id]
    return f"{input_words(used.quantity)} {value} ({', '.join(origin)})"


def _quantity(quantity: str, value: float | None) -> str:
    if value is None:
        return _ABSENT
    if quantity.endswith("_s"):
        return format_duration(value)
    return format_percent(value) if quantity.endswith("_fraction") else f"{value:g}"


def seen_lines(recommendation: Recommendation) -> Iterator[str]:
    """How far each candidate's expected time was off where it was tried live on the cluster."""
    priced = [c for c in recommendation.candidates if c.terms is not None]
    yield from (seen_words(c.seen) for c in priced if c.seen is not None)
    untried = [c.mechanism.upper() for c in priced if c.seen is None]
    if untried:
        yield f"not tried live on this cluster: {', '.join(untried)}"


def drill_lines(recommendation: Recommendation) -> Iterator[str]:
    """What drills on the cluster say of the candidates; one line where there were none."""
    candidates = recommendation.candidates
    if not candidates:
        return
    if all(candidate.drilled is None for candidate in candidates):
        yield "no mechanism was drilled on this cluster, so all are untested (`advisor drill`)"
    for candidate in candidates:
        if candidate.drilled is not None:
            yield f"{candidate.mechanism.upper()}{untested_mark(candidate)}: " + drill_words(
                candidate.drilled
            )


def drill_words(mark: DrillMark) -> str:
    """`9 drills passed, the newest on 2026-12-01`; `untested: drill adjacent failed on ...`."""
    if not mark.is_tested:
        return f"untested: {mark.reason}"
    drills = "1 drill" if mark.passed == 1 else f"{mark.passed} drills"
    return f"{drills} passed, the newest on {(mark.newest_at or '')[:10]}"


def seen_words(seen: SeenError) -> str:
    """`FT2 on A2: 1.5 % more was predicted than observed (median of 3 runs, at most 4 % off)`."""
    more = "more" if seen.median_fraction >= 0.0 else "less"
    runs = "one run" if seen.n == 1 else f"median of {seen.n} runs"
    return (
        f"{seen.cells}: {percent(abs(seen.median_fraction))} {more} was predicted than observed "
        f"({runs}, at most {percent(seen.largest_fraction)} off)"
    )


def uncertainty_lines(recommendation: Recommendation) -> Iterator[str]:
    """How sure the answer is, where that was asked for."""
    found = recommendation.uncertainty
    if found is None:
        return
    if found.reason is not None:
        yield f"not known: {found.reason}"
        return
    yield from map(_chance_words, found.chances)
    yield (
        f"{found.draws:,} draws of {len(found.drawn)} measured numbers, seed {found.seed}; knowing "
        f"all of them exactly would save {format_duration(found.perfect_s)} in expectation"
    )
    pooled = sum(each.origin is SpreadOrigin.POOLED for each in found.drawn)
    if pooled:
        yield (
            f"{pooled} of them were measured once: their dispersion is that of the cluster's other "
            "points"
        )
    if any(c.rules for c in recommendation.candidates if c.terms is not None):
        yield "what the rules between a measurement and a figure are off by is not drawn"
    if found.held:
        reasons = sorted({each.reason for each in found.held})
        yield f"held at their value: {len(found.held)} numbers ({'; '.join(reasons)})"


def sure_line(pick: Chance) -> str:
    """`By the scatter of the measurements alone, FT2 is the best with a probability of 88 %; ...`:
    what rules are off by is not in it."""
    return (
        f"{BY_SCATTER}, {pick.mechanism.upper()} is the best with a probability of "
        f"{probability(pick.best_probability)}; expected regret "
        f"{format_duration(pick.expected_regret_s)} "
        f"({format_percent(pick.expected_regret_fraction)})."
    )


def _chance_words(chance: Chance) -> str:
    return (
        f"{chance.mechanism.upper()}: the best with a probability of "
        f"{probability(chance.best_probability)}; expected regret "
        f"{format_duration(chance.expected_regret_s)} "
        f"({format_percent(chance.expected_regret_fraction)}); in 90 % of the draws "
        f"{format_duration(chance.low_s)} to {format_duration(chance.high_s)}"
    )


def probability(share: float) -> str:
    """In whole percent, which is what draws can tell; only certainty is 0 % or 100 %."""
    if share in (0.0, 1.0):
        return f"{share:.0%}".replace("%", " %")
    if not 0.005 <= share < 0.995:
        return "under 1 %" if share < 0.5 else "over 99 %"
    return f"{100.0 * share:.0f} %"


def minimax_lines(recommendation: Recommendation) -> Iterator[str]:
    """The answer over a range of MTBFs, where that was asked for."""
    found = recommendation.minimax
    if found is None:
        return
    ends = f"{format_duration(found.mtbf_low_s)} and {format_duration(found.mtbf_high_s)}"
    if not found.choices:
        yield f"none between {ends}: {found.reason}"
        return
    yield f"an MTBF between {ends}: {_regret_words(found.choices[0])} is the least"
    yield from map(_regret_words, found.choices[1:])
    if found.held is not None and found.held.interval_steps is not None:
        yield f"as recommended for {format_duration(recommendation.scenario.mtbf_s)}: " + (
            _regret_words(found.held)
        )


def _regret_words(choice: RegretChoice) -> str:
    """`FT1 at 351 steps: a largest regret of 2 min 3 s (0.05 %)`."""
    at = "" if choice.interval_steps is None else f" at {steps(choice.interval_steps)}"
    return (
        f"{choice.mechanism.upper()}{at}: a largest regret of "
        f"{format_duration(choice.largest_regret_s)} "
        f"({format_percent(choice.largest_regret_fraction)})"
    )


def rule_lines(recommendation: Recommendation) -> Iterator[str]:
    for candidate in recommendation.candidates:
        for rule in rules_with_checks(candidate):
            yield f"{candidate.mechanism.upper()}: {rule}"


def rules_with_checks(candidate: Candidate) -> Iterator[str]:
    """Each rule with how far it was off on the cluster, as far as that is known."""
    for rule, check in zip_longest(candidate.rules, candidate.checks):
        yield rule if check is None else f"{rule}; {check_words(check)}"


def check_words(check: RuleCheck) -> str:
    if not check.errors:
        return f"not checked on this cluster: {check.not_checked}"
    return f"leave-one-out on this cluster: {', '.join(map(_error_words, check.errors))}"


def _error_words(error: RuleError) -> str:
    if error.median_fraction is None or error.largest_fraction is None:
        return (
            f"{error.part.value} off by at most {percent(error.largest_apart_fraction or 0.0)} of "
            f"a step, where it cannot be told from zero (n = {error.n_apart})"
        )
    return (
        f"{error.part.value} median {percent(error.median_fraction)}, at most "
        f"{percent(error.largest_fraction)} (n = {error.n})"
    )


def percent(fraction: float) -> str:
    """An error in percent, with two digits: more would be noise."""
    return format_percent(float(f"{fraction:.2g}"))


def scenario_rows(scenario: Scenario) -> Iterator[tuple[str, str, str]]:
    """(input, value, where it is from) for every input that has a value."""
    for item in fields(Scenario):
        value = getattr(scenario, item.name)
        if item.name != "assumed" and value is not None:
            yield (
                input_words(item.name),
                input_value(item.name, value),
                scenario.assumed.get(item.name, "given"),
            )


def limit_words(scenario: Scenario) -> Iterator[str]:
    """Each limit that was set, and the regime if it is one of several failures."""
    for each in INPUTS:
        value = getattr(scenario, each.field)
        stated = value is not None and each.field not in scenario.assumed
        if each.group is Group.LIMITS and stated:
            yield f"{each.label.lower()} {input_value(each.field, value)}"
    if scenario.failure_regime is FailureRegime.MULTI:
        yield "several failures at once"


def input_words(name: str) -> str:
    """The label of an input; of a quantity, its name without the unit."""
    if name in BY_FIELD:
        return BY_FIELD[name].label
    for suffix in ("_fraction", "_bytes", "_s"):
        name = name.removesuffix(suffix)
    return name.replace("_", " ")


def input_value(name: str, value: object) -> str:
    if isinstance(value, IntervalPolicy):
        return value.value
    if isinstance(value, int | float):
        if name.endswith("_bytes_per_s"):
            return format_bytes_per_s(value)
        if name.endswith("_bytes"):
            return format_bytes(value)
        if name.endswith("_s"):
            return format_duration(value)
        if name == "interval":
            return steps(int(value))
        return format_percent(value)
    if isinstance(value, tuple):
        return ", ".join(value)
    return str(value)


def _cadence(candidate: Candidate) -> str:
    if candidate.interval_steps is None or candidate.interval_s is None:
        return ""
    if candidate.interval_steps == 1:
        return ", at every step"
    return (
        f", a checkpoint every {candidate.interval_steps:,} steps "
        f"({format_duration(candidate.interval_s)})"
    )


def _latency(candidate: Candidate) -> str:
    native = candidate.native
    assert native is not None
    low, high = format_duration(native.latency_low_s), format_duration(native.latency_high_s)
    return low if low == high else f"{low} to {high}"


def _optional_duration(value_s: float | None) -> str:
    return _ABSENT if value_s is None else format_duration(value_s)
