"""Who takes part in the next generation."""

import pytest

from measure.interfaces.capabilities import Way
from measure.supervisor.elect import Traits, elect, why_none
from measure.supervisor.observed import RankView

WORLD = 4


def group(*dead: int, ready: int = 0, starting: int = 0) -> tuple[list[RankView], list[RankView]]:
    """(Everybody, the living) of a group of four with these dead, and others besides."""
    views = [RankView(slot, plays=slot) for slot in range(WORLD)]
    for slot in dead:
        views[slot].died_at = 1.0
    views += [
        RankView(WORLD + number, ready=number < ready, member=False)
        for number in range(ready + starting)
    ]
    return views, [view for view in views[:WORLD] if view.died_at is None]


def joining(
    way: Way | None, *dead: int, ready: int, shrinks: bool = False, growing: bool = False
) -> object:
    """What is elected: (slot and place of each who joins, the way), or None."""
    everybody, living = group(*dead, ready=ready)
    found = elect(everybody, living, WORLD, Traits(False, way, shrinks), growing)
    return found and ([(view.rank, place) for view, place in found.joining], found.way)


def test_spares_take_the_free_places_in_order() -> None:
    assert joining(Way.SPARE, 1, 3, ready=2) == ([(4, 1), (5, 3)], "spare")


def test_nobody_goes_on_while_a_place_is_free() -> None:
    assert joining(Way.SPARE, 1, 3, ready=1) is None


def test_survivors_who_have_everything_go_on_smaller() -> None:
    assert joining(Way.SMALLER, 1, ready=0, shrinks=True) == ([], "smaller")


def test_who_has_come_back_meanwhile_is_taken_in() -> None:
    assert joining(Way.SMALLER, 1, 2, ready=1, shrinks=True) == ([(4, 1)], "smaller")
    assert joining(Way.SMALLER, 1, ready=1, shrinks=True) == ([(4, 1)], "started")
    assert joining(Way.SMALLER, 1, ready=1, shrinks=True, growing=True) == ([(4, 1)], "grown")


def test_survivors_who_lack_a_part_wait_for_one_who_takes_the_place() -> None:
    assert joining(Way.SMALLER, 1, ready=0) is None
    assert joining(Way.SMALLER, 1, ready=1) == ([(4, 1)], "started")


def test_a_smaller_group_must_fit_the_architecture() -> None:
    everybody, living = group(1)
    traits = Traits(False, Way.SMALLER, shrinks=True, fits=lambda size: size % 2 == 0)
    assert elect(everybody, living, WORLD, traits) is None


def test_who_is_starting_or_dead_is_not_elected() -> None:
    everybody, living = group(1, starting=1)
    assert elect(everybody, living, WORLD, Traits(False, Way.SPARE)) is None
    everybody, living = group(1, ready=1)
    everybody[WORLD].died_at = 2.0
    assert elect(everybody, living, WORLD, Traits(False, Way.SPARE)) is None


def test_a_restart_fills_every_place() -> None:
    assert joining(Way.RESTART, 0, 1, 2, 3, ready=4) == (
        [(4, 0), (5, 1), (6, 2), (7, 3)],
        "restart",
    )


@pytest.mark.parametrize("ready", [0, 4])
def test_without_a_way_nobody_is_elected(ready: int) -> None:
    assert joining(None, 1, ready=ready) is None


def why(traits: Traits, *dead: int, ready: int = 0) -> str:
    everybody, living = group(*dead, ready=ready)
    return why_none(everybody, living, WORLD, traits)


def test_why_nobody_was_elected_is_said() -> None:
    spare = Traits(False, Way.SPARE)
    assert why(spare, 1, 3, ready=1) == "places free: 2; processes ready to take them: 1"
    assert why(spare, 1, 3, ready=2) == ""
    smaller = Traits(False, Way.SMALLER, shrinks=True, fits=lambda size: size % 2 == 0)
    assert why(smaller, 1) == "the architecture cannot be formed by 3 ranks"
    assert why(smaller, 0, 1, 2, 3) == "no rank was left"


@pytest.mark.parametrize("traits", [Traits(False, None), Traits(True, Way.SPARE)])
def test_who_is_not_to_be_brought_back_needs_no_reason(traits: Traits) -> None:
    assert why(traits, 1) == ""


def test_a_place_whose_memory_is_still_there_goes_to_a_process_of_that_node() -> None:
    everybody, living = group(0, 1, 3, ready=3)
    for view, node in zip(everybody[WORLD:], [1, 2, 1], strict=True):
        view.node = node
    traits = Traits(False, Way.SPARE)

    def places(homes: dict[int, int]) -> dict[int, int]:
        found = elect(everybody, living, WORLD, traits, homes=homes)
        assert found is not None
        return {place: view.rank for view, place in found.joining}

    assert places({}) == {0: 4, 1: 5, 3: 6}
    assert places({3: 2}) == {3: 5, 0: 4, 1: 6}
    assert places({0: 2, 3: 1}) == {0: 5, 3: 4, 1: 6}
    assert places({3: 7}) == {0: 4, 1: 5, 3: 6}  # nobody of that node is ready


def test_a_place_that_is_to_leave_its_node_goes_to_a_process_of_another() -> None:
    everybody, living = group(1, ready=2)
    traits = Traits(False, Way.SPARE)
    first, second = everybody[WORLD:]

    def taken(*nodes: int) -> dict[int, int] | None:
        first.node, second.node = nodes
        found = elect(everybody, living, WORLD, traits, avoid={1: 0})
        return None if found is None else {place: view.rank for view, place in found.joining}

    assert taken(0, 1) == {1: 5}
    assert taken(1, 0) == {1: 4}
    assert taken(0, 0) is None  # it waits for one that is being started elsewhere
