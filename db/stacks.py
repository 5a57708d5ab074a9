"""Which operating points count where a newer software stack stands beside an older one. Pure.

A stack is superseded by the one that `superseded_by` names, and by whatever supersedes that. Its
points are kept. One of them counts for as long as none of the newer stacks was measured at the
same: the same architecture, mechanism and workload under the same trace, whatever came of it. It is
marked then, with the newest of the stacks. The others are set aside.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from db.records import OperatingPoint, SoftwareStack

_Same = tuple[str, str, str, str | None]


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
    listed, newer = tuple(points), newer_stacks(stacks)
    if not newer:
        return listed, ()
    measured: dict[_Same, set[str | None]] = {}
    for point in listed:
        measured.setdefault(_same(point), set()).add(point.software_stack)
    counting, aside = [], []
    for point in listed:
        by = newer.get(point.software_stack or "")
        if by is None:
            counting.append(point)
        elif measured[_same(point)].isdisjoint(by):
            counting.append(replace(point, superseded_by=by[-1]))
        else:
            aside.append(replace(point, superseded_by=by[-1]))
    return tuple(counting), tuple(aside)


def _same(point: OperatingPoint) -> _Same:
    """What two points have in common of which the newer one takes the other's place."""
    return point.architecture, point.mechanism, point.workload, point.trace
