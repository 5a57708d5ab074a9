"""Which points a question reads of very many: how many of each kind, and which of them."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from db.excerpt import Near, PointKind, chosen, counting_kinds, shares
from db.records import SoftwareStack

NEAR = Near("a2", 200)


def kind(
    points: int = 10,
    mechanism: str = "ft1",
    sizes: tuple[int, int] = (100, 400),
    architecture: str = "a2",
    workload: str = "resnet50",
    trace: str | None = None,
    stack: str | None = None,
) -> PointKind:
    return PointKind(
        architecture, mechanism, workload, trace, stack, "complete", None, points, *sizes
    )


def test_all_points_where_they_are_no_more_than_wanted() -> None:
    kinds = [kind(600), kind(400, "ft2")]
    assert shares(kinds, NEAR, 200, 1_000) == {kinds[0]: 600, kinds[1]: 400}


def test_small_kinds_whole_and_the_rest_in_equal_shares() -> None:
    small, large, larger = kind(10), kind(5_000, "ft2"), kind(9_000, "ft3")
    assert shares([larger, small, large], NEAR, 200, 1_000) == {small: 10, large: 495, larger: 495}


def test_of_too_many_kinds_every_mechanism_keeps_its_nearest() -> None:
    near = [kind(50, f"ft{number}", (200, 200)) for number in range(1, 4)]
    far = [
        kind(50, f"ft{number}", (size, size), workload=f"w{size}")
        for number in range(1, 4)
        for size in (900, 9_000)
    ]
    found = shares([*far, *near], NEAR, 200, 9)
    assert found == dict.fromkeys(near, 3)


def test_of_too_many_kinds_those_of_the_architecture_itself_come_first() -> None:
    own = [kind(50, "ft1", (900, 900)), kind(50, "ft2", (900, 900))]
    like = [kind(50, "ft1", (200, 200), "a3"), kind(50, "ft2", (200, 200), "a3")]
    assert set(shares([*like, *own], NEAR, 200, 6)) == set(own)


@given(
    some.lists(some.integers(1, 5_000), min_size=1, max_size=60),
    some.integers(3, 2_000),
    some.randoms(use_true_random=False),
)
def test_no_more_than_wanted_and_of_each_kind_three_or_all(
    counts: list[int], most: int, random: Random
) -> None:
    kinds = [
        kind(points, f"ft{random.randrange(1, 10)}", workload=f"w{number}")
        for number, points in enumerate(counts)
    ]
    found = shares(kinds, NEAR, 200, most)
    assert sum(found.values()) <= most
    assert all(min(3, each.points) <= share <= each.points for each, share in found.items())
    # Nothing is left unread that there was room for.
    assert sum(found.values()) == min(most, sum(each.points for each in found))


def test_the_nearest_by_ratio_then_by_name_and_both_ends() -> None:
    rows = [(100, "x"), (400, "b"), (400, "a"), (190, "c"), (1, "low"), (9_000, "high"), (50, "y")]
    assert chosen(rows, kind(7), 4, 200) == {"low", "high", "c", "a"}
    assert chosen(rows, kind(7), 6, 200) == {"low", "high", "c", "a", "b", "x"}
    assert chosen(rows, kind(7), 7, 200) == {"low", "high", "c", "a", "b", "x", "y"}


@pytest.mark.parametrize(
    ("measured", "left"),
    [
        ((kind(stack="old"), kind(stack="new")), ["new"]),
        ((kind(stack="old"), kind(stack="new", trace="F1")), ["old", "new"]),
        ((kind(stack="old"), kind(stack=None)), [None, "old"]),
    ],
)
def test_what_is_set_aside_is_not_read(
    measured: tuple[PointKind, ...], left: list[str | None]
) -> None:
    stacks = {
        name: SoftwareStack(name, "c", "", "", "", "", None, by)
        for name, by in (("old", "new"), ("new", None))
    }
    assert [each.software_stack for each in counting_kinds(measured, stacks)] == left
