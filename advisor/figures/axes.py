"""Axes that people can read: logarithmic ones that can show 0, and times in fitting units."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from advisor.units import format_duration

_GAP_DECADES = 0.6
"""How far 0 lies below the smallest positive value."""


@dataclass(frozen=True, slots=True)
class LogAxis:
    """A logarithmic axis with a place for 0. Positions are decades above the axis' origin."""

    origin: float
    has_zero: bool
    tick_positions: tuple[float, ...]
    tick_labels: tuple[str, ...]

    def position(self, value: float) -> float:
        """Where a value of 0 or more lies."""
        return 0.0 if value <= 0.0 else log10(value) - self.origin

    def fraction(self, value: float) -> float:
        """Where a value lies on the shown range, from 0 to 1."""
        low, high = self.span
        return (self.position(value) - low) / (high - low)

    @property
    def span(self) -> tuple[float, float]:
        """A range that shows every tick with some air."""
        return self.tick_positions[0] - 0.25, self.tick_positions[-1] + 0.25


def log_axis(values: Sequence[float], label: Callable[[float], str]) -> LogAxis:
    """An axis for values of 0 or more: ticks at whole decades, and at 0 if it occurs."""
    positive = [v for v in values if v > 0.0]
    has_zero = any(v <= 0.0 for v in values)
    low = floor(log10(min(positive))) if positive else 0
    high = max(ceil(log10(max(positive))), low + 1) if positive else 1
    origin = low - _GAP_DECADES if has_zero else low
    decades = range(low, high + 1)
    positions = [decade - origin for decade in decades]
    labels = [label(10.0**decade) for decade in decades]
    if has_zero:
        positions, labels = [0.0, *positions], ["0", *labels]
    return LogAxis(origin, has_zero, tuple(positions), tuple(labels))


_TIMES_S = (
    *(10.0**power for power in range(-6, 2)),
    60.0,
    600.0,
    3600.0,
    6 * 3600.0,
    *(days * 86400.0 for days in (1, 7, 30, 365, 3650, 36500, 365000)),
)
_TIME_WORDS = {86400.0 * 7: "1 w", 86400.0 * 365: "1 y", 86400.0 * 3650: "10 y"}


def time_ticks(low_s: float, high_s: float) -> tuple[list[float], list[str]]:
    """Round times inside a range for a logarithmic axis: (seconds, words)."""
    inside = [t for t in _TIMES_S if low_s <= t <= high_s]
    return inside, [_TIME_WORDS.get(t) or format_duration(t) for t in inside]


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A unit for a whole axis: divide seconds by `seconds`."""

    name: str
    seconds: float


def time_unit(largest_s: float) -> TimeUnit:
    """The largest unit in which the largest value is at least 2."""
    for name, size in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0)):
        if largest_s >= 2.0 * size:
            return TimeUnit(name, size)
    return TimeUnit("ms", 1e-3)
