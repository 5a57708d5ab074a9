"""What a plan against failures of several classes says, in cells and sentences."""

from collections.abc import Iterator

from advisor.exact_time import FLAT_WASTE
from advisor.failure_classes.breakdown import Breakdown, ClassCost, MonitorCost
from advisor.failure_classes.search import Plan, Plans
from advisor.failure_classes.stated import ClassRate, Monitor
from advisor.recommendation import EvidenceCode
from advisor.reports.words import SUPERSEDED_MARK, listed, steps
from advisor.units import format_duration, format_number, format_percent

PLAN_HEADER = (
    *("mechanism", "interval", "monitors", "kept", "overhead", "expected", "wrong result"),
    *("until right", "ev."),
)
CLASS_HEADER = ("class", "expected", "noticed", "after", "recovery", "lost work", "costs")
MODELLED = (
    "Modelled: no run was made with these plans. Rates of failures and figures of monitors are as "
    "stated, not measured here."
)
_ABSENT = "–"


def plan_cells(plan: Plan) -> tuple[str, ...]:
    """One row under `PLAN_HEADER`."""
    return (
        plan.mechanism.upper(),
        _ABSENT if plan.interval_steps is None else steps(plan.interval_steps),
        ", ".join(_at(each.name, each.interval_steps) for each in plan.monitors) or _ABSENT,
        _ABSENT if plan.interval_steps is None else f"{plan.kept:,}",
        format_percent(plan.overhead),
        format_duration(plan.expected_completion_s),
        chance(plan.wrong_probability),
        format_duration(plan.right_s),
        EvidenceCode.EXTRAPOLATED.value + (SUPERSEDED_MARK if plan.candidate.is_superseded else ""),
    )


def headline(plans: Plans) -> str:
    """The answer in one sentence."""
    best = plans.best
    if best is None:
        return "No mechanism with any of the monitors keeps every rule and limit."
    settings = [] if best.interval_steps is None else [f"every {steps(best.interval_steps)}"]
    settings += [f"{_at(each.name, each.interval_steps)}" for each in best.monitors]
    if best.kept > 1:
        settings.append(f"{best.kept:,} saves kept")
    words = f" ({', '.join(settings)})" if settings else ""
    became = (
        f"{best.mechanism.upper()}{words}: {format_duration(plans.scenario.duration_s)} becomes "
        f"{format_duration(best.expected_completion_s)}"
    )
    if not plans.stated.corrupting:
        return f"{became}."
    if best.wrong_probability <= 0.0:
        return f"{became}; no failure that was stated spoils the result."
    return f"{became}; the result is wrong with a probability of {chance(best.wrong_probability)}."


def class_cells(cost: ClassCost) -> tuple[str, ...]:
    """One row under `CLASS_HEADER`."""
    return (
        cost.kind.value,
        format_number(cost.expected),
        chance(cost.noticed),
        _optional(cost.noticed_after_s),
        _optional(cost.recovery_s),
        _optional(cost.lost_s),
        format_duration(cost.cost_s),
    )


def breakdown_lines(found: Breakdown) -> Iterator[str]:
    """What else the time goes into."""
    yield f"saves: {format_duration(found.saves_s)}"
    for each in found.monitors:
        yield _monitor_words(each)


def reason_lines(plans: Plans) -> Iterator[str]:
    """Of each mechanism why its monitors are set or left, each by what it is worth."""
    for plan in plans.choices:
        yield f"{plan.mechanism.upper()}: {_reasons(plans, plan)}"


def stated_lines(plans: Plans) -> Iterator[str]:
    """What was stated beside the scenario."""
    for each in plans.stated.classes:
        yield _class_words(each)
    for monitor in plans.stated.monitors:
        yield _figures(monitor)
    yield f"up to {plans.limits.kept:,} saves are kept"
    if plans.limits.wrong < 1.0:
        yield f"a wrong result with a probability of {format_percent(plans.limits.wrong)} at most"


def caution_lines(plans: Plans) -> Iterator[str]:
    """What a reader has to know of the answer and is in no number of it."""
    best = plans.best
    if best is None:
        return
    if best.begins_anew:
        yield (
            f"{best.mechanism.upper()} keeps no state from before the last check: what is noticed "
            "to be wrong costs the whole job so far"
        )
    if plans.stated.corrupting and not best.corruption_monitors:
        yield "nothing here notices a wrong state: the result may be wrong and nobody knows"


def chance(share: float) -> str:
    """`none`, `0.03 %`, `1 in 2.3e+07`."""
    if share <= 0.0:
        return "none"
    return format_percent(share) if share >= 1e-6 else f"1 in {1.0 / share:.2g}"


def _reasons(plans: Plans, plan: Plan) -> str:
    """The same without each of its monitors, with each other one, and with none."""
    names = {each.name for each in plan.monitors}
    said = []
    for other in plans.others_of(plan):
        others = {each.name for each in other.monitors}
        if not others or len(names ^ others) == 1:
            said.append(_against(plan, other))
    if not said:
        return "the only plan" if plan.monitors else "no monitor has anything to watch"
    return "; ".join(said)


def _against(plan: Plan, other: Plan) -> str:
    """What another set of monitors would give, beside the plan."""
    names = listed([each.name for each in other.monitors]) if other.monitors else "no monitor"
    more_s = other.right_s - plan.right_s
    if abs(more_s) <= FLAT_WASTE * plan.right_s:
        time = "as long"
    else:
        word = "longer" if more_s > 0.0 else "less"
        time = f"{format_duration(abs(more_s))} {word} until right"
    return f"with {names} {time}, wrong {chance(other.wrong_probability)}"


def _at(name: str, interval_steps: int) -> str:
    return f"{name} every {steps(interval_steps)}"


def _optional(value_s: float | None) -> str:
    return _ABSENT if value_s is None else format_duration(value_s)


def _monitor_words(each: MonitorCost) -> str:
    alarms = (
        f"{format_number(each.false_alarms)} false alarms, {format_duration(each.false_alarms_s)}"
    )
    return f"{each.name}: checks {format_duration(each.checks_s)}; {alarms}"


def _class_words(each: ClassRate) -> str:
    parts = [f"{each.kind.value}: one every {format_duration(each.every_s)}"]
    if each.factor is not None and each.length_s is not None:
        parts.append(f"steps take {each.factor:g} times as long")
        parts.append(f"for {format_duration(each.length_s)} in the mean")
    if each.detection_s is not None:
        parts.append(f"detected after {format_duration(each.detection_s)}")
    if each.recovery_s is not None:
        parts.append(f"recovery {format_duration(each.recovery_s)}")
    return ", ".join(parts)


def _figures(monitor: Monitor) -> str:
    misses = ", ".join(
        f"{kind.value} {chance(share)}" for kind, share in sorted(monitor.miss.items())
    )
    alarms = []
    if monitor.false_per_s > 0.0:
        alarms.append(f"one every {format_duration(1.0 / monitor.false_per_s)}")
    if monitor.false_per_check > 0.0:
        alarms.append(f"{chance(monitor.false_per_check)} of the checks")
    delay = f", {format_duration(monitor.delay_s)} until the job stops" if monitor.delay_s else ""
    return (
        f"{monitor.name}: {format_duration(monitor.cost_s)} a check{delay}; misses: {misses}; "
        f"false alarms: {' and '.join(alarms) or 'none'}"
    )
