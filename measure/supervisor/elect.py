"""Who takes part in the next generation: survivors keep their places, others take the free ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from measure.interfaces.capabilities import Way
from measure.supervisor.observed import RankView

_NOWHERE: Mapping[int, int] = {}


@dataclass(frozen=True, slots=True)
class Traits:
    """What the pair can do: set by its plug-ins and the job, not by their names."""

    continues: bool
    """The architecture goes on by itself after a loss, and is left to it."""
    way: Way | None
    """How training is brought back after a loss; None: it is not."""
    shrinks: bool = False
    """Survivors alone have the whole state."""
    grows: bool = False
    """Processes are started for the lost ones, and taken in when they are up."""
    coordinator: int | None = None
    """The place that has what no other has (a parameter server's optimizer)."""
    fits: Callable[[int], bool] = lambda _: True
    """Whether the architecture can be formed by so many ranks."""


@dataclass(frozen=True, slots=True)
class Election:
    """Who joins, each with the place that it takes; and the way this recovery takes."""

    joining: tuple[tuple[RankView, int], ...]
    way: str


def elect(
    everybody: Sequence[RankView],
    living: Sequence[RankView],
    world_size: int,
    traits: Traits,
    growing: bool = False,
    homes: Mapping[int, int] = _NOWHERE,
    avoid: Mapping[int, int] = _NOWHERE,
) -> Election | None:
    """The next generation; None while there are too few who could take part. Pure. `growing`:
    nobody was lost, the group only takes in who has come back. `homes`: on which node the memory
    of a free place still is; a process of that node takes the place, if there is one. `avoid`: the
    node that a place is to leave: only a process of another one takes it."""
    free = sorted(set(range(world_size)) - {view.plays for view in living})
    ready = [v for v in everybody if not v.member and v.ready and v.died_at is None]
    joining = _matched(ready, free, homes, avoid)
    if traits.way is Way.SMALLER and traits.shrinks:
        size = len(living) + len(joining)
        whole = "grown" if growing else "started"
        way = whole if size == world_size else "smaller"
        return Election(joining, way) if living and traits.fits(size) else None
    if traits.way is None or len(joining) < len(free):
        return None
    return Election(joining, _NAMES[traits.way])


def _matched(
    ready: Sequence[RankView],
    free: Sequence[int],
    homes: Mapping[int, int],
    avoid: Mapping[int, int],
) -> tuple[tuple[RankView, int], ...]:
    """Who takes which free place: near its memory where that is possible, otherwise in order; away
    from the node that it is to leave in any case."""
    left, taken = list(ready), dict[int, RankView]()
    for place in free:
        near = [view for view in left if place in homes and view.node == homes[place]]
        if near:
            taken[place] = near[0]
            left.remove(near[0])
    for place in (place for place in free if place not in taken):
        elsewhere = [view for view in left if place not in avoid or view.node != avoid[place]]
        for view in elsewhere[:1]:
            taken[place] = view
            left.remove(view)
    return tuple((taken[place], place) for place in free if place in taken)


def why_none(
    everybody: Sequence[RankView], living: Sequence[RankView], world_size: int, traits: Traits
) -> str:
    """Why `elect` gives no next generation, in words; empty where it does, or where training is
    not brought back anyway. Pure."""
    if traits.way is None or traits.continues:
        return ""
    if elect(everybody, living, world_size, traits) is not None:
        return ""
    if not living:
        return "no rank was left"
    free = world_size - len(living)
    ready = sum(not v.member and v.ready and v.died_at is None for v in everybody)
    if traits.way is Way.SMALLER and traits.shrinks:
        return f"the architecture cannot be formed by {len(living) + min(free, ready)} ranks"
    return f"places free: {free}; processes ready to take them: {ready}"


_NAMES = {Way.SPARE: "spare", Way.SMALLER: "started", Way.RESTART: "restart"}
