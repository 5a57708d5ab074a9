"""What a scale says, in the cells and sentences that the command line and the app share."""

from collections.abc import Iterator

from advisor.cost import Price, format_money
from advisor.reports.words import evidence_code, steps
from advisor.scale.answer import MechanismChange, Scale, ScalePoint
from advisor.units import format_duration, format_number, format_percent

SCALE_HEADER = (
    *("ranks", "nodes", "MTBF", "step", "failure-free", "mechanism", "interval", "expected"),
    *("exact", "goodput", "GPU-hours", "cost", "ev."),
)
_ABSENT = "–"


def point_cells(point: ScalePoint, price: Price | None) -> tuple[str, ...]:
    """One row under `SCALE_HEADER`; `*` where Eq. (5) is more than 1 % off the exact time."""
    selected = point.selected
    interval = None if selected is None else selected.interval_steps
    cost = point.cost(price)
    return (
        f"{point.world_size:,}",
        f"{point.nodes:,}",
        format_duration(point.scenario.mtbf_s),
        format_duration(point.scenario.step_time_s),
        format_duration(point.scenario.duration_s),
        _who(point.mechanism),
        _ABSENT if interval is None else steps(interval),
        _ABSENT
        if point.expected_s is None
        else format_duration(point.expected_s) + ("*" if point.is_flagged else ""),
        _exact(point),
        _ABSENT if point.goodput is None else format_percent(point.goodput),
        _ABSENT if point.gpu_hours is None else format_number(point.gpu_hours),
        _ABSENT if cost is None or price is None else format_money(cost, price.currency),
        _ABSENT if selected is None else evidence_code(selected),
    )


def verdict_lines(found: Scale) -> Iterator[str]:
    """Where the answer changes, where more ranks stop helping, and what is cheapest."""
    for change in found.changes:
        yield _change_words(change)
    soonest, cheapest = found.soonest, found.cheapest
    if soonest is None or cheapest is None or soonest.exact_s is None:
        yield "No world size of these has an expected time."
        return
    time = format_duration(soonest.exact_s)
    verb = "finish" if soonest.world_size > 1 else "finishes"
    ends = f"{_ranks(soonest)} {verb} soonest, in {time} (exact)"
    if found.no_gain_beyond is None:
        yield f"{ends}, of the numbers that were looked at."
    else:
        yield f"{ends}: more ranks do not shorten the job."
    if cheapest.gpu_hours is not None:
        verb = "take" if cheapest.world_size > 1 else "takes"
        hours = format_number(cheapest.gpu_hours)
        yield f"{_ranks(cheapest)} {verb} the fewest GPU-hours, {hours}."
    if any(point.is_flagged for point in found.points):
        yield (
            "*: Eq. (5), with its goodput and GPU-hours, is more than 1 % off the exact time, in "
            "which failures strike recoveries and saves too."
        )


def rule_lines(point: ScalePoint) -> Iterator[str]:
    """The rules from the scenario to this point."""
    return (rule.words for rule in point.rules)


def assumed_lines(found: Scale) -> Iterator[str]:
    """What was not stated of how the job grows."""
    return iter(found.growth.assumed)


def exclusion_lines(found: Scale) -> Iterator[str]:
    """Why nobody is recommended, at the first of the points asked for where that is so."""
    for point in found.points:
        if point.selected is None:
            for excluded in point.excluded:
                yield f"{_ranks(point)}, {excluded.mechanism.upper()}: {excluded.reason}"
            return


def _change_words(change: MechanismChange) -> str:
    return (
        f"From {change.world_size:,} ranks on {_who(change.after)} is recommended, up to "
        f"{change.last_before:,} {_who(change.before)}."
    )


def _ranks(point: ScalePoint) -> str:
    return "1 rank" if point.world_size == 1 else f"{point.world_size:,} ranks"


def _exact(point: ScalePoint) -> str:
    if point.exact is None:
        return _ABSENT
    return "never ends" if point.exact_s is None else format_duration(point.exact_s)


def _who(mechanism: str | None) -> str:
    return "nobody" if mechanism is None else mechanism.upper()
