"""Which operating points count where a newer software stack stands beside an older one. Pure.

A stack is superseded by the one that `superseded_by` names, and by whatever supersedes that. Its
points are kept. One of them counts for as long as none of the newer stacks was measured at the
same: the same architecture, mechanism and workload under the same trace, whatever came of it. It is
marked then, with the newest of the stacks. The others are set aside.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol, TypeVar

from db.records import OperatingPoint, SoftwareStack

_Same = tuple[str, str, str, str | None]


class Measured(Protocol):
    """A point, or a kind of them: what says whether something newer was measured at the same."""

    @property
    def architecture(self) -> str: ...
    @property
    def mechanism(self) -> str: ...
    @property
    def workload(self) -> str: ...
    @property
    def trace(self) -> str | None: ...
    @property
    def software_stack(self) -> str | None: ...


M = TypeVar("M", bound=Measured)


def newer_stacks(stacks: Mapping[str, SoftwareStack]) -> dict[str, tuple[str, ...]]:
    """Of each superseded stack, those that are newer, the newest last.

    Stacks that supersede one another in a ring say nothing, and count as not superseded.
    """
    found: dict[str, tuple[str, ...]] = {}
    for name, stack in stacks.items():
        newer: list[str] = []
        following = stack.superseded_by
        while following is not None and following != name and following not in newer:
            newer.append(following)
            after = stacks.get(following)
            following = None if after is None else after.superseded_by
        if newer and following is None:
            found[name] = tuple(newer)
    return found


def points_that_count(
    points: Iterable[OperatingPoint], stacks: Mapping[str, SoftwareStack]
) -> tuple[tuple[OperatingPoint, ...], tuple[OperatingPoint, ...]]:
    """(those that count, those that are set aside), each in their order; points of a superseded
    stack are marked in both."""
    counting, aside = those_that_count(points, stacks)
    return tuple(map(_marked, counting)), tuple(map(_marked, aside))


def those_that_count(
    measured: Iterable[M], stacks: Mapping[str, SoftwareStack]
) -> tuple[list[tuple[M, str | None]], list[tuple[M, str | None]]]:
    """(those that count, those that are set aside), each in their order and with the newest stack
    where its own is superseded."""
    listed, newer = tuple(measured), newer_stacks(stacks)
    if not newer:
        return [(each, None) for each in listed], []
    there: dict[_Same, set[str | None]] = {}
    for each in listed:
        there.setdefault(_same(each), set()).add(each.software_stack)
    counting: list[tuple[M, str | None]] = []
    aside: list[tuple[M, str | None]] = []
    for each in listed:
        by = newer.get(each.software_stack or "", ())
        counts = there[_same(each)].isdisjoint(by)
        (counting if counts else aside).append((each, by[-1] if by else None))
    return counting, aside


def _same(measured: Measured) -> _Same:
    """What two points have in common of which the newer one takes the other's place."""
    return measured.architecture, measured.mechanism, measured.workload, measured.trace


def _marked(found: tuple[OperatingPoint, str | None]) -> OperatingPoint:
    point, by = found
    return point if by is None else replace(point, superseded_by=by)
