"""Several mechanisms as the tiers of one job: their intervals, and the limits that they keep
together. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from advisor.errors import UserError
from advisor.inputs import LONGEST_INTERVAL_STEPS
from advisor.scenario import Scenario
from advisor.simulation.parts import Part
from advisor.units import format_apart, format_bytes, format_percent, whole_number

TIERS_EXAMPLE = "ft2+ft1, or ft2:100+ft1:1000 with intervals in steps"
_ROUNDING = 1e-12
"""Of a sum of overheads."""


@dataclass(frozen=True, slots=True)
class AskedTier:
    """A mechanism, and the steps between its saves; None: its own interval."""

    mechanism: str
    interval_steps: int | None = None


def parse_tiers(text: str) -> tuple[tuple[AskedTier, ...], ...]:
    """Such as `ft2+ft1`, or `ft2:100+ft1:1000`; several separated by commas. Raises UserError."""
    return tuple(_parse_one(part.strip().lower()) for part in text.split(","))


def name_of(parts: Sequence[Part]) -> str:
    """`ft1`, or `ft2+ft1`."""
    return "+".join(part.mechanism for part in parts)


def in_words(parts: Sequence[Part]) -> str:
    """As a person asks for them: `ft4+ft2:986+ft1:1972`."""
    return "+".join(
        part.mechanism if part.interval_steps is None else f"{part.mechanism}:{part.interval_steps}"
        for part in parts
    )


def composed(
    asked: Sequence[AskedTier], known: Mapping[str, Part], whole_job_steps: int
) -> tuple[Part, ...]:
    """The tiers at their intervals, the most frequent first, each a whole multiple of the one
    before: as asked for, else the nearest to the mechanism's own that it supports.

    `known` has every part that can be asked for. Raises UserError for tiers that cannot be.
    """
    found: list[Part] = []
    before: int | None = None
    for each in asked:
        part = known[each.mechanism]
        if part.emergency is not None:
            _require_no_interval(each)
            found.append(part)
            continue
        if part.interval_steps is None:
            raise UserError(
                f"{_name(part)} saves neither at intervals nor on a warning: it is no tier"
            )
        if each.interval_steps is None:
            steps = _nearest_steps(part, before, whole_job_steps)
        else:
            steps = _stated_steps(part, each.interval_steps, before, whole_job_steps)
        found.append(replace(part, interval_steps=steps))
        before = steps
    if sum(part.emergency is not None for part in found) > 1:
        raise UserError("only one of the tiers can save on a warning")
    return tuple(found)


def over_limits(scenario: Scenario, ranks_per_node: int, parts: Sequence[Part]) -> str | None:
    """Which limit of the scenario they break together, in words and numbers; None: none.

    Restores and pauses do not add up: each part keeps those limits by itself.
    """
    reason = over_memory(scenario, ranks_per_node, parts)
    overhead = sum(part.overhead_fraction(scenario.step_time_s) for part in parts)
    limit = scenario.max_overhead
    if reason is None and limit is not None and overhead > limit * (1.0 + _ROUNDING):
        taken, allowed = format_apart(overhead, limit, format_percent, "%")
        return f"their overhead together, {taken}, exceeds the limit of {allowed}"
    return reason


def over_memory(scenario: Scenario, ranks_per_node: int, parts: Sequence[Part]) -> str | None:
    """Which memory their copies exceed together, in words and numbers; None: none."""
    host_bytes = ranks_per_node * sum(part.host_bytes_per_rank for part in parts)
    if scenario.host_memory_bytes is not None and host_bytes > scenario.host_memory_bytes:
        needed, there = format_apart(host_bytes, scenario.host_memory_bytes, format_bytes, "B")
        return (
            f"their copies need {needed} of host memory a node ({ranks_per_node} ranks), and there "
            f"are {there}"
        )
    copies_bytes = sum(part.device_bytes_per_rank for part in parts)
    device_bytes = scenario.state_bytes + copies_bytes
    available = scenario.device_memory_bytes
    if copies_bytes and available is not None and device_bytes > available:
        needed, there = format_apart(device_bytes, available, format_bytes, "B")
        return f"the state and their copies need {needed} of device memory, and there are {there}"
    return None


def _parse_one(text: str) -> tuple[AskedTier, ...]:
    found = []
    for part in text.split("+"):
        name, colon, steps = (each.strip() for each in part.partition(":"))
        if not name or bool(colon) != bool(steps):
            raise UserError(f"{text[:60]!r} does not name tiers: write {TIERS_EXAMPLE}")
        found.append(AskedTier(name, _parse_steps(steps) if steps else None))
    names = [each.mechanism for each in found]
    if len(names) < 2:
        raise UserError(f"{text[:60]!r} is one mechanism alone: write {TIERS_EXAMPLE}")
    if len(set(names)) < len(names):
        raise UserError(f"{text[:60]!r} names a mechanism twice")
    return tuple(found)


def _parse_steps(text: str) -> int:
    steps = whole_number(text)
    if steps is None or not 1 <= steps <= LONGEST_INTERVAL_STEPS:
        raise UserError(
            f"{text[:30]!r} is not an interval: write a whole number of steps, as in "
            f"{TIERS_EXAMPLE}"
        )
    return steps


def _nearest_steps(part: Part, before: int | None, whole_job_steps: int) -> int:
    """The whole multiple of the interval before that is nearest to the mechanism's own."""
    own = part.interval_steps
    assert own is not None
    if before is None:
        return own
    if not part.can_vary:
        return _stated_steps(part, own, before, whole_job_steps)
    least = max(ceil(part.least_steps / before), 1)
    multiple = max(round(own / before), least)
    return before * max(min(multiple, whole_job_steps // before), least)


def _stated_steps(part: Part, steps: int, before: int | None, whole_job_steps: int) -> int:
    name = _name(part)
    if not part.can_vary and steps != part.interval_steps:
        raise UserError(f"{name} saves every {_steps(part.interval_steps or 1)}, not {steps:,}")
    if steps < part.least_steps:
        raise UserError(
            f"an interval of {_steps(steps)} of {name} is shorter than {_steps(part.least_steps)}, "
            "the shortest that the measurement supports"
        )
    if steps > whole_job_steps:
        raise UserError(
            f"an interval of {_steps(steps)} of {name} is longer than the whole job of "
            f"{_steps(whole_job_steps)}"
        )
    if before is not None and steps % before:
        raise UserError(
            f"an interval of {_steps(steps)} of {name} is no whole multiple of the {before:,} "
            "before it: name the most frequent tier first"
        )
    return steps


def _require_no_interval(asked: AskedTier) -> None:
    if asked.interval_steps is not None:
        raise UserError(
            f"{asked.mechanism.upper()} saves on a warning: it takes no interval in steps"
        )


def _name(part: Part) -> str:
    return part.mechanism.upper()


def _steps(number: int) -> str:
    return f"{number:,} step" if number == 1 else f"{number:,} steps"
