"""The numbers of several clusters, those of the same cell in one row. Pure.

What a cell is depends on the number. An overhead goes with its interval; the stall per save behind
it does not, and neither goes with the trace, since no failure is in them. What a failure takes goes
with the trace: one whose source states none counts as a single failure (F1), as it does in answers.
Of several points of a cell, each cluster shows the one that is nearest in its conditions to that of
the first cluster; a state size that all of them measured has a row of its own. What the conditions
still differ in, the row says.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import log

from advisor.characterization import is_same, step_time_s, value_of
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
"""What another workload, or another number of replicas, counts for, as a logarithm of a ratio."""


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
_OF_WARNINGS = frozenset({Compared.EMERGENCY_SAVE, Compared.EFFECTIVE_RESTORE})
_OF_TIMEOUTS = frozenset({Compared.RECOVERY, Compared.DETECTION})
_ORDER = {compared: place for place, compared in enumerate(Compared)}


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
    """One cluster's number and the point that it is of; without a value it says why."""

    point: OperatingPoint
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


def unlike(compared: Compared, a: OperatingPoint, b: OperatingPoint) -> tuple[str, ...]:
    """The conditions that two points do not have in common, of those that the number goes with."""
    pairs: dict[str, tuple[object, object]] = {
        "workload": (a.workload, b.workload),
        "ranks": (a.world_size, b.world_size),
        "replicas": (a.replicas, b.replicas),
    }
    if compared in _OF_WARNINGS:
        pairs["lead"] = (a.lead_s, b.lead_s)
    if compared in _OF_TIMEOUTS:
        pairs["group timeout"] = (a.group_timeout_s, b.group_timeout_s)
    state = () if is_same(a.state_bytes, b.state_bytes) else ("state",)
    return (*state, *(name for name, (one, other) in pairs.items() if one != other))


def _of_point(
    evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint
) -> Iterator[tuple[Key, Number]]:
    pair, trace = (point.architecture, point.mechanism), point.trace or _SINGLE
    for quantity, found in point.values.items():
        if quantity in _OF_A_FAILURE:
            yield Key(*pair, _OF_A_FAILURE[quantity], trace), Number(point, found)
    if mechanism.cadence is Cadence.ON_WARNING and Quantity.SAVE in point.values:
        save = Number(point, point.values[Quantity.SAVE])
        yield Key(*pair, Compared.EMERGENCY_SAVE, trace), save
    if mechanism.cadence is not Cadence.NEVER and Quantity.OVERHEAD in point.values:
        overhead = Number(point, point.values[Quantity.OVERHEAD])
        yield Key(*pair, Compared.OVERHEAD, interval_steps=point.interval_steps), overhead
        stall = _stall(evidence, mechanism, point)
        if stall is not None:
            yield Key(*pair, Compared.STALL), stall


def _stall(evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint) -> Number | None:
    """The stall per save as answers take it: from the interval that shows it most closely. None
    where the overhead has no value, or nobody measured the step time."""
    step_s = step_time_s(evidence, point.architecture, point.workload)
    if not point.interval_steps or step_s is None or value_of(point, Quantity.OVERHEAD) is None:
        return None
    closest = closest_known(evidence, point)
    between_saves_s = (closest.interval_steps or point.interval_steps) * step_s
    stall_s, quantity = measured_stall(mechanism, closest, between_saves_s)
    scale = between_saves_s if quantity is Quantity.OVERHEAD else 1.0
    return Number(point, _scaled(closest.values[quantity], stall_s, scale))


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
    """A row for each state size. Where the clusters have none in common, the numbers that are
    nearest to each other share a row all the same."""
    listed = [_with_values(numbers) for numbers in measured]
    classes = _by_size(listed)
    if all(len(each) < sum(map(bool, listed)) for each in classes):
        nearest = _row(listed)
        yield nearest
        classes = [
            {place: numbers for place, numbers in each.items() if nearest[place] not in numbers}
            for each in classes
        ]
    for each in classes:
        if each:
            yield _row([each.get(place, ()) for place in range(len(listed))])


def _with_values(numbers: Sequence[Number]) -> Sequence[Number]:
    """Those that have a value; all of them where none has."""
    return [number for number in numbers if number.found.value is not None] or numbers


def _by_size(listed: Sequence[Sequence[Number]]) -> list[dict[int, list[Number]]]:
    """The numbers of each state size, by the place of their cluster; smallest size first."""
    placed = [(number, place) for place, numbers in enumerate(listed) for number in numbers]
    classes: list[dict[int, list[Number]]] = []
    smallest: Number | None = None
    for number, place in sorted(placed, key=lambda each: each[0].point.state_bytes):
        if smallest is None or not _is_same_size(smallest, number):
            smallest = number
            classes.append({})
        classes[-1].setdefault(place, []).append(number)
    return classes


def _is_same_size(a: Number, b: Number) -> bool:
    return is_same(a.point.state_bytes, b.point.state_bytes)


def _row(listed: Sequence[Sequence[Number]]) -> tuple[Number | None, ...]:
    """Of the first cluster that has any, the number that the others come nearest to; of each
    other, its nearest."""
    first, *others = [numbers for numbers in listed if numbers]

    def apart(number: Number) -> float:
        return sum(min(_apart(number.point, o.point) for o in numbers) for numbers in others)

    anchor = min(first, key=apart)
    return tuple(anchor if numbers is first else _nearest(anchor, numbers) for numbers in listed)


def _nearest(anchor: Number, numbers: Sequence[Number]) -> Number | None:
    return min(numbers, key=lambda each: _apart(anchor.point, each.point), default=None)


def _apart(a: OperatingPoint, b: OperatingPoint) -> float:
    """How far apart the conditions of two points are, as a sum of logarithms of ratios."""
    size = 0.0 if is_same(a.state_bytes, b.state_bytes) else _ratio(a.state_bytes, b.state_bytes)
    return (
        size
        + _ratio(a.interval_steps, b.interval_steps)
        + _ratio(a.lead_s, b.lead_s)
        + _ratio(a.group_timeout_s, b.group_timeout_s)
        + _UNLIKE * (a.workload != b.workload)
        + _UNLIKE * (a.replicas != b.replicas)
    )


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
