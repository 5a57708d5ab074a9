"""The numbers of several clusters, those of the same cell in one row. Pure.

What a cell is depends on the number. An overhead goes with its interval; the stall per save behind
it does not, and neither goes with the trace, since no failure is in them. What a failure takes goes
with the trace: one whose source states none counts as a single failure (F1), as it does in answers.
Of several points of a cell, each cluster shows the one that is nearest in its conditions to that of
the first cluster; each state size has a row of its own. A cluster that shares no size with the
first joins the row where the two are nearest. What the conditions still differ in, the row says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import product
from math import log

from advisor.characterization import is_same
from advisor.comparison.conditions import named_conditions, sized_conditions
from advisor.prediction.stalls import closest_known, measured_stall
from db.records import (
    Cadence,
    ClusterEvidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    Quantity,
)

_SINGLE = "F1"
_UNLIKE = 0.1
"""What each condition that differs and has no size counts for, as a logarithm of a ratio."""


class Compared(StrEnum):
    """What is compared; the name carries the unit. Its members are in the order of rows."""

    OVERHEAD = "overhead_fraction"
    STALL = "stall_s"
    """What one save costs the training."""
    EMERGENCY_SAVE = "emergency_save_s"
    RESTORE = "restore_s"
    EFFECTIVE_RESTORE = "effective_restore_s"
    RECOVERY = "recovery_s"
    DETECTION = "detection_s"


_OF_A_FAILURE = {
    Quantity.RESTORE: Compared.RESTORE,
    Quantity.EFFECTIVE_RESTORE: Compared.EFFECTIVE_RESTORE,
    Quantity.RECOVERY: Compared.RECOVERY,
    Quantity.DETECTION: Compared.DETECTION,
}
_OF_TIMEOUTS = frozenset({Compared.RECOVERY, Compared.DETECTION})
_GO_WITH: Mapping[str, frozenset[Compared]] = {
    "failure domain": frozenset(_OF_A_FAILURE.values()),
    "way": frozenset({Compared.RESTORE, Compared.EFFECTIVE_RESTORE, Compared.RECOVERY}),
    "detector": _OF_TIMEOUTS,
    "group timeout": _OF_TIMEOUTS,
    "lead": frozenset({Compared.EMERGENCY_SAVE, Compared.EFFECTIVE_RESTORE}),
    # An overhead has its interval in the key of its cell, and nothing else goes with it.
    "interval": frozenset(),
}
"""Of the conditions, which numbers go with them; with any other condition all numbers go."""
_ORDER = {compared: place for place, compared in enumerate(Compared)}
CLOCK = "saves' clock / overhead"
"""Where one stall per save is by the saves' own clocks, and the other is overhead x interval."""


@dataclass(frozen=True, slots=True)
class Key:
    """A cell: `trace` is None of what no failure is in, `interval_steps` of what does not go with
    the interval."""

    architecture: str
    mechanism: str
    compared: Compared
    trace: str | None = None
    interval_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Number:
    """One cluster's number, and the point and the quantity there that it is of; without a value it
    says why."""

    point: OperatingPoint
    quantity: Quantity
    found: EvidencedValue


@dataclass(frozen=True, slots=True)
class Row:
    """The numbers of one cell, by cluster; None where a cluster did not measure it at all."""

    key: Key
    numbers: tuple[Number | None, ...]


def rows(evidences: Sequence[ClusterEvidence]) -> tuple[Row, ...]:
    """Every cell that one of the clusters measured."""
    measured = [numbers_of(evidence) for evidence in evidences]
    keys = sorted({key for each in measured for key in each}, key=_place)
    return tuple(
        Row(key, chosen)
        for key in keys
        for chosen in _matched([each.get(key, ()) for each in measured])
    )


def numbers_of(evidence: ClusterEvidence) -> Mapping[Key, tuple[Number, ...]]:
    """What a cluster measured of each cell; runs without a fault come first."""
    found: dict[Key, list[Number]] = {}
    for point in sorted(evidence.points, key=lambda p: (p.trace is not None, p.point_id)):
        for key, number in _of_point(evidence, evidence.mechanisms[point.mechanism], point):
            found.setdefault(key, []).append(number)
    return {key: tuple(numbers) for key, numbers in found.items()}


def unlike(compared: Compared, a: Number, b: Number) -> tuple[str, ...]:
    """The conditions that two numbers do not have in common, of those that they go with."""
    state = () if _is_same_size(a, b) else ("state",)
    clock = () if a.quantity is b.quantity else (CLOCK,)
    one, other = (named_conditions(n.point) | sized_conditions(n.point) for n in (a, b))
    differing = (name for name in one if one[name] != other[name])
    return (*state, *(n for n in differing if compared in _GO_WITH.get(n, {compared})), *clock)


def _of_point(
    evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint
) -> Iterator[tuple[Key, Number]]:
    pair, trace = (point.architecture, point.mechanism), point.trace or _SINGLE

    def number(quantity: Quantity) -> Number:
        return Number(point, quantity, point.values[quantity])

    for quantity in point.values:
        if quantity in _OF_A_FAILURE:
            yield Key(*pair, _OF_A_FAILURE[quantity], trace), number(quantity)
    if mechanism.cadence is Cadence.ON_WARNING and Quantity.SAVE in point.values:
        yield Key(*pair, Compared.EMERGENCY_SAVE, trace), number(Quantity.SAVE)
    if mechanism.cadence is not Cadence.NEVER and Quantity.OVERHEAD in point.values:
        key = Key(*pair, Compared.OVERHEAD, interval_steps=point.interval_steps)
        yield key, number(Quantity.OVERHEAD)
        stall = _stall(evidence, mechanism, point)
        if stall is not None:
            yield Key(*pair, Compared.STALL), stall


def _stall(evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint) -> Number | None:
    """The stall per save as answers take it: of the point whose interval shows it most closely.
    None where the overhead has no value, or nobody knows the step time."""
    closest = closest_known(evidence, point)
    stall = measured_stall(evidence, mechanism, closest)
    if stall is None:
        return None
    scale = stall.between_saves_s if stall.quantity is Quantity.OVERHEAD else 1.0
    found = _scaled(closest.values[stall.quantity], stall.stall_s, scale)
    return Number(closest, stall.quantity, found)


def _scaled(found: EvidencedValue, value: float, scale: float) -> EvidencedValue:
    """Another number from the same runs: its dispersion is so many times the one of the first."""

    def times(number: float | None) -> float | None:
        return None if number is None else number * scale

    return replace(
        found,
        value=value,
        dispersion=times(found.dispersion),
        low=times(found.low),
        high=times(found.high),
    )


def _matched(measured: Sequence[Sequence[Number]]) -> Iterator[tuple[Number | None, ...]]:
    """A row for each state size. A cluster that has no size in common with the first joins one of
    its rows, where the two are nearest."""
    listed = [_with_values(numbers) for numbers in measured]
    classes = _by_size(listed)
    for place in range(1, len(listed)):
        if not any({0, place} <= each.keys() for each in classes):
            _join_nearest(classes, place)
    for each in classes:
        if each:
            yield _row([each.get(place, ()) for place in range(len(listed))])


def _with_values(numbers: Sequence[Number]) -> Sequence[Number]:
    """Those that have a value; all of them where none has."""
    return [number for number in numbers if number.found.value is not None] or numbers


_OneSize = dict[int, list[Number]]
"""Numbers at one state size, by the place of their cluster."""


def _by_size(listed: Sequence[Sequence[Number]]) -> list[_OneSize]:
    """The numbers of each state size; smallest size first."""
    placed = [(number, place) for place, numbers in enumerate(listed) for number in numbers]
    classes: list[_OneSize] = []
    smallest: Number | None = None
    for number, place in sorted(placed, key=lambda each: each[0].point.state_bytes):
        if smallest is None or not _is_same_size(smallest, number):
            smallest = number
            classes.append({})
        classes[-1].setdefault(place, []).append(number)
    return classes


def _join_nearest(classes: Sequence[_OneSize], place: int) -> None:
    """Moves the numbers of a cluster that are nearest to those of the first one to them, if both
    have any."""
    own = [each for each in classes if place in each]
    baseline = [each for each in classes if 0 in each]

    def apart(pair: tuple[_OneSize, _OneSize]) -> float:
        here, there = pair
        return min(_apart(a, b) for a, b in product(here[place], there[0]))

    nearest = min(product(own, baseline), key=apart, default=None)
    if nearest is not None:
        here, there = nearest
        there[place] = here.pop(place)


def _is_same_size(a: Number, b: Number) -> bool:
    return is_same(a.point.state_bytes, b.point.state_bytes)


def _row(listed: Sequence[Sequence[Number]]) -> tuple[Number | None, ...]:
    """Of the first cluster that has any, the number that the others come nearest to; of each
    other, its nearest."""
    first, *others = [numbers for numbers in listed if numbers]

    def apart(number: Number) -> float:
        return sum(min(_apart(number, other) for other in numbers) for numbers in others)

    anchor = min(first, key=apart)
    return tuple(anchor if numbers is first else _nearest(anchor, numbers) for numbers in listed)


def _nearest(anchor: Number, numbers: Sequence[Number]) -> Number | None:
    return min(numbers, key=lambda each: _apart(anchor, each), default=None)


def _apart(a: Number, b: Number) -> float:
    """How far apart the conditions of two numbers are, as a sum of logarithms of ratios."""
    size = 0.0 if _is_same_size(a, b) else _ratio(a.point.state_bytes, b.point.state_bytes)
    one, other = sized_conditions(a.point), sized_conditions(b.point)
    ratios = sum(_ratio(one[name], other[name]) for name in one)
    named, others = named_conditions(a.point), named_conditions(b.point)
    differing = sum(named[name] != others[name] for name in named)
    return size + ratios + _UNLIKE * (differing + (a.quantity is not b.quantity))


def _ratio(a: float | None, b: float | None) -> float:
    """|log(a / b)|; 1 where only one of them is there."""
    if a == b:
        return 0.0
    return abs(log(a / b)) if a and b else 1.0


def _place(key: Key) -> tuple[str, str, int, str, int]:
    return (
        key.architecture,
        key.mechanism,
        _ORDER[key.compared],
        key.trace or "",
        key.interval_steps or 0,
    )
