"""What a joint search says, in the cells and sentences that the command line and the app share."""

from collections.abc import Iterator

from advisor.exact_time import FLAT_WASTE, SHOWN_DIFFERENCE
from advisor.reports.words import SUPERSEDED_MARK, listed, steps
from advisor.simulation.run import Simulated
from advisor.tuning.circumstances import Circumstances
from advisor.tuning.search import Choice, Setting, Tuned
from advisor.units import format_bytes, format_duration, format_number, format_percent

TUNE_HEADER = (
    *("mechanisms", "intervals", "timeout", "false alarms", "spares", "waiting", "overhead"),
    *("expected", "simulated", "P95", "goodput", "ev."),
)
_ABSENT = "–"
_WORTH_SAYING = FLAT_WASTE
_NAMED = 6
"""Combinations that are named for one reason; the others are counted."""
_CENTURY_S = 100 * 365 * 86400.0


def choice_cells(tuned: Tuned, choice: Choice, found: Simulated | None) -> tuple[str, ...]:
    """One row under `TUNE_HEADER`; `*` where the simulated mean is more than 1 % off."""
    is_off = found is not None and is_flagged(choice, found)
    return (
        choice.combination.label,
        ", ".join(_interval(each) for each in choice.settings) or _ABSENT,
        _ABSENT if choice.timeout_s is None else format_duration(choice.timeout_s),
        _ABSENT if choice.timeout_s is None else _per_time(choice.false_alarms_per_day),
        _ABSENT if choice.spares is None else f"{choice.spares:,}",
        _ABSENT if choice.spares is None else format_percent(choice.waiting_fraction),
        format_percent(choice.overhead),
        format_duration(choice.expected_completion_s) + ("*" if is_off else ""),
        _ABSENT if found is None else format_duration(found.mean_s),
        _ABSENT if found is None else format_duration(found.p95_s),
        format_percent(tuned.scenario.duration_s / choice.expected_completion_s),
        choice.evidence.value + (SUPERSEDED_MARK if choice.is_superseded else ""),
    )


def is_flagged(choice: Choice, found: Simulated) -> bool:
    """Whether the formula is more than 1 % off the simulated mean, beyond its interval."""
    off_s = abs(choice.expected_completion_s - found.mean_s) - found.half_width_s
    return off_s > SHOWN_DIFFERENCE * found.mean_s


def headline(tuned: Tuned) -> str:
    """The answer in one sentence."""
    best, scenario = tuned.best, tuned.scenario
    if best is None:
        if tuned.tiers.goes_on and not tuned.circumstances.loses_several:
            names = listed([name.upper() for name in tuned.tiers.goes_on])
            return (
                f"{scenario.architecture.upper()} goes on by itself after a loss ({names}): there "
                "is nothing to set."
            )
        if tuned.left_out:
            return "With none of the combinations does the job end within the limits."
        return "No mechanism satisfies every rule and limit: there is nothing to set."
    return (
        f"{best.combination.label}{_settings_words(best)}: {format_duration(scenario.duration_s)} "
        f"becomes {format_duration(best.expected_completion_s)}; goodput "
        f"{format_percent(scenario.duration_s / best.expected_completion_s)}."
    )


def worth_lines(tuned: Tuned) -> Iterator[str]:
    """What each choice of the best is worth, beside the plainer one."""
    best = tuned.best
    if best is None:
        return
    single = tuned.best_single
    if single is not None and single is not best:
        yield (
            f"Several mechanisms instead of {single.combination.label} alone: "
            f"{_gain(best, single.expected_completion_s)}."
        )
    elif any(len(each.names) > 1 for each in tuned.choices):
        yield "No combination of mechanisms is worth its parts."
    yield from _timeout_lines(tuned, best)
    yield from _spares_lines(best)
    yield from _restart_lines(best)


def circumstance_lines(told: Circumstances) -> Iterator[str]:
    """What was told beside the scenario, and what was not."""
    nodes = "1 node" if told.nodes == 1 else f"{told.nodes:,} nodes"
    yield f"{nodes}; taken by a failure at once: {_kinds(told)}"
    if told.hiccups is None:
        yield (
            "the detection timeout was not searched: the hiccups of a healthy job are not stated"
        )
    else:
        yield f"hiccups of a healthy job: {told.hiccups.in_words()}"
        if told.silent < 1.0:
            yield f"{format_percent(told.silent)} of the failures are silent"
    if told.repair_s is None:
        yield "spares were not searched: the time to repair a node is not stated"
    else:
        yield f"a repair takes {format_duration(told.repair_s)} in the mean"


def caution_lines(tuned: Tuned) -> Iterator[str]:
    """What speaks against an answer and is in no number of it."""
    best = tuned.best
    if best is not None:
        for name in tuned.tiers.goes_on:
            yield (
                f"{tuned.scenario.architecture.upper()} goes on by itself after a loss "
                f"({name.upper()}), outside Eq. (5): that is not compared here"
            )
    for each in tuned.tiers.cautions:
        yield f"{each.mechanism.upper()}: {each.reason}"
    yield from tuned.tiers.warnings


def left_out_lines(tuned: Tuned) -> Iterator[str]:
    """Every mechanism that could not be part, and combinations by their reason."""
    for excluded in tuned.tiers.excluded:
        yield f"{excluded.mechanism.upper()}: {excluded.reason}"
    names: dict[str, list[str]] = {}
    for excluded in tuned.left_out:
        names.setdefault(excluded.reason, []).append(excluded.mechanism)
    for reason, combined in names.items():
        more = len(combined) - _NAMED
        listed_ = combined[:_NAMED] + ([f"{more:,} more"] if more > 0 else [])
        yield f"{', '.join(listed_)}: {reason}"


def setting_lines(choice: Choice) -> Iterator[str]:
    """The settings of a choice, one a line."""
    emergency = choice.combination.emergency
    if emergency is not None:
        yield f"{emergency.part.mechanism.upper()}: an emergency save at each warning"
    for each in choice.settings:
        interval = "" if each.interval_steps is None else f" every {steps(each.interval_steps)}"
        length = "" if each.interval_s is None else f" ({format_duration(each.interval_s)})"
        peers = f", with {each.replicas} peers" if each.replicas > 1 else ""
        yield f"{each.mechanism.upper()}{interval}{length}{peers}"
    if choice.timeout_s is not None:
        yield f"detection timeout {format_duration(choice.timeout_s)}"
    if choice.spares is not None:
        yield f"{choice.spares:,} spare nodes"
    if choice.host_bytes_per_rank:
        yield f"{format_bytes(choice.host_bytes_per_rank)} of host memory a rank"


def _settings_words(best: Choice) -> str:
    parts = [f"every {_interval(each)}" for each in best.settings if each.interval_steps]
    if best.timeout_s is not None:
        parts.append(f"timeout {format_duration(best.timeout_s)}")
    if best.spares is not None:
        parts.append("1 spare" if best.spares == 1 else f"{best.spares:,} spares")
    return f" ({', '.join(parts)})" if parts else ""


def _timeout_lines(tuned: Tuned, best: Choice) -> Iterator[str]:
    if best.timeout_s is None or best.flat_timeouts_s is None:
        return
    low, high = (format_duration(each) for each in best.flat_timeouts_s)
    stated_s = tuned.scenario.detection_s
    stated = format_duration(stated_s)
    if best.at_stated_s is not None:
        if best.at_stated_s <= best.expected_completion_s * (1.0 + _WORTH_SAYING):
            yield f"Timeout: detection after {stated}, as stated, is as good."
        else:
            yield f"Timeout instead of detection after {stated}: {_gain(best, best.at_stated_s)}."
    if low != high:
        yield f"Timeouts from {low} to {high} are equal within 0.2 %."


def _spares_lines(best: Choice) -> Iterator[str]:
    if best.spares is None:
        return
    beside = {each.spares: each for each in best.by_spares}
    for number in (best.spares - 1, best.spares + 1):
        other = beside.get(number)
        if other is not None:
            name = "1 spare" if number == 1 else f"{number:,} spares"
            time = format_duration(other.expected_completion_s)
            yield f"With {name}: {time}, {format_number(other.node_hours)} node-hours."


def _restart_lines(best: Choice) -> Iterator[str]:
    if best.restarts_per_day > 0.0:
        yield (
            f"{_per_time(best.restarts_per_day)} a failure is expected that none of these "
            "survives: the job starts from the beginning."
        )


def _gain(best: Choice, other_s: float) -> str:
    saved_s = other_s - best.expected_completion_s
    return f"{format_duration(saved_s)} sooner ({format_percent(saved_s / other_s)})"


def _kinds(told: Circumstances) -> str:
    """Such as `none: 90 %, 2: 8 %, all: 2 %`."""
    words = {0: "none", told.nodes: "all"}
    return ", ".join(
        f"{words.get(kind.nodes, kind.nodes)}: {format_percent(kind.share)}" for kind in told.losses
    )


def _interval(setting: Setting) -> str:
    return _ABSENT if setting.interval_steps is None else steps(setting.interval_steps)


def _per_time(per_day: float) -> str:
    """`3 a day`, `1 in 12 d`, `none`."""
    if per_day <= 0.0:
        return "none"
    if per_day >= 1.0:
        return f"{format_number(per_day)} a day"
    every_s = 86400.0 / per_day
    return f"1 in {format_duration(every_s)}" if every_s < _CENTURY_S else "under 1 in 100 y"
