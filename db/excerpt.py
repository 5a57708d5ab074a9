"""Which operating points a question reads where a cluster has very many of them. Pure.

Up to `MOST_POINTS` of a cluster are all read. Of more, a question reads an excerpt of at most
`EXCERPT_POINTS`: of the architecture that it asks about and of those with the same capabilities,
less what is set aside (db/stacks.py). All, if they are no more than that; else some of each kind.
Baselines that are set aside come besides, for their step times.

A kind are the points that differ in numbers alone. Of each come the smallest and the largest, and
those whose state is nearest in size to the job's, by name where they are equally near: the order in
which a prediction looks for the measurement that it starts from. Every kind gets as much as every
other, as far as it has that many. Where there are more kinds than can have three each, those
nearest in size are left, of each mechanism, trace and outcome the nearest first.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from db.records import Architecture, SoftwareStack
from db.stacks import those_that_count

MOST_POINTS = 2_000
EXCERPT_POINTS = 1_000
_LEAST = 3
"""Points of a kind: the smallest, the largest and the nearest."""

Row = tuple[int, str]
"""(state_bytes, point_id)."""


@dataclass(frozen=True, slots=True)
class Near:
    """What a question is about; without a state size, the smallest that the architecture has."""

    architecture: str
    state_bytes: int | None = None


@dataclass(frozen=True, slots=True)
class PointKind:
    """Points of one cluster that differ in numbers alone: how many, and of which sizes (B)."""

    architecture: str
    mechanism: str
    workload: str
    trace: str | None
    software_stack: str | None
    outcome: str
    interval_steps: int | None
    points: int
    smallest_bytes: int
    largest_bytes: int


_NUMBERS = ("points", "smallest_bytes", "largest_bytes")
SAME = tuple(each.name for each in fields(PointKind) if each.name not in _NUMBERS)
"""What points of one kind have in common, in the order of the index by which they are found."""


def same_capabilities(
    architectures: Mapping[str, Architecture], architecture: str
) -> tuple[str, ...]:
    """The other architectures with the same capabilities, in order of name.

    They lay out and move state in the same way, so the cost of a save carries over.
    """
    wanted = architectures[architecture].capabilities
    return tuple(
        sorted(
            name
            for name, other in architectures.items()
            if name != architecture and other.capabilities == wanted
        )
    )


def counting_kinds(
    kinds: Iterable[PointKind], stacks: Mapping[str, SoftwareStack]
) -> list[PointKind]:
    """Those that are not set aside, in an order that no database decides."""
    counting, _ = those_that_count(kinds, stacks)
    return sorted((kind for kind, _ in counting), key=_words)


def set_aside_kinds(
    kinds: Iterable[PointKind],
    kept: Iterable[PointKind],
    stacks: Mapping[str, SoftwareStack],
    mechanisms: Container[str],
) -> list[PointKind]:
    """Those of these mechanisms that are set aside, if what is kept shows it. Overheads that were
    measured under their stack go with their step times."""
    _, aside = those_that_count(kinds, stacks)
    old = [kind for kind, _ in aside if kind.mechanism in mechanisms]
    _, still = those_that_count((*kept, *old), stacks)
    return sorted((kind for kind, _ in still), key=_words)


def shares(
    kinds: Sequence[PointKind], near: Near, state_bytes: int, most: int
) -> dict[PointKind, int]:
    """How many points are read of each kind: all, or `most` (at least 3) together."""
    if sum(kind.points for kind in kinds) <= most:
        return {kind: kind.points for kind in kinds}
    kept = _nearest_first(kinds, near, state_bytes)[: most // _LEAST]
    found: dict[PointKind, int] = {}
    left = most
    for number, kind in enumerate(sorted(kept, key=lambda kind: kind.points)):
        found[kind] = min(kind.points, left // (len(kept) - number))
        left -= found[kind]
    return found


def chosen(rows: Iterable[Row], kind: PointKind, share: int, state_bytes: int) -> set[str]:
    """The points to be read of a kind. Of `rows` it needs the first of the smallest size and of the
    largest, and on either side of the size as many of the nearest as are wanted."""
    nearest = sorted(set(rows), key=lambda row: (ratio_distance(row[0], state_bytes), row[1]))
    if share >= kind.points:
        return {point_id for _, point_id in nearest}
    ends = min(nearest), min(nearest, key=lambda row: (-row[0], row[1]))
    return {point_id for _, point_id in (*ends, *nearest[: share - len(ends)])}


def _nearest_first(kinds: Iterable[PointKind], near: Near, state_bytes: int) -> list[PointKind]:
    """So that what is left of them holds every mechanism, trace and outcome, if anything can."""
    places: dict[object, int] = {}
    placed: list[tuple[int, PointKind]] = []

    def order(kind: PointKind) -> tuple[bool, float]:
        return kind.architecture != near.architecture, _apart(kind, state_bytes)

    for kind in sorted(kinds, key=order):
        alike = kind.architecture, kind.mechanism, kind.trace, kind.outcome
        places[alike] = places.get(alike, -1) + 1
        placed.append((places[alike], kind))
    return [kind for _, kind in sorted(placed, key=lambda each: each[0])]


def _apart(kind: PointKind, state_bytes: int) -> float:
    """From the nearest size that the kind may have; 1 where the size is among its sizes."""
    nearest = min(max(state_bytes, kind.smallest_bytes), kind.largest_bytes)
    return ratio_distance(nearest, state_bytes)


def ratio_distance(a: float, b: float) -> float:
    """How many times the larger is the smaller; 1 where they are equal. By it a prediction finds
    the point that it starts from, so an excerpt holds what is nearest by it."""
    return max(a / b, b / a)


def _words(kind: PointKind) -> tuple[tuple[bool, object], ...]:
    """The kind's own order: what is not there comes first."""
    found = (getattr(kind, name) for name in SAME)
    return tuple((value is not None, value) for value in found)
