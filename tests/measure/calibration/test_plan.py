"""What is measured, in which order, and what there is no room for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measure.calibration.plan import (
    MANY,
    MB,
    QUICK_SIZES,
    SIZES,
    Cell,
    Extent,
    Request,
    Room,
    between,
    disk_needed,
    extent_of,
    fitted_in,
    many_sizes,
    memory_needed,
    shuffled,
)
from measure.errors import UsageError
from measure.units import size_bytes

PLENTY = Room(10**13, 10**13)


def request(**changes: object) -> Request:
    usual: dict[str, object] = {
        "sizes_bytes": None,
        "repeats": None,
        "seed": 1,
        "is_quick": False,
        "with_check": True,
    }
    return Request(**{**usual, **changes})  # type: ignore[arg-type]


def test_the_usual_extent() -> None:
    extent = extent_of(request())
    assert (extent.sizes_bytes, extent.repeats) == (SIZES, 6)
    assert extent.sizes_bytes[0] == MB
    assert extent.sizes_bytes[-1] == 512 * MB
    assert extent_of(request(is_quick=True)).sizes_bytes == QUICK_SIZES
    assert extent_of(request(with_check=False)).checks_bytes == ()


@given(st.lists(st.integers(1000, 2**40), min_size=2, max_size=12, unique=True))
def test_no_size_is_checked_that_is_fitted_and_all_lie_inside(sizes: list[int]) -> None:
    ordered = sorted(sizes)
    checks = between(ordered)
    assert not set(checks) & set(ordered)
    assert all(ordered[0] <= size <= ordered[-1] for size in checks)
    assert all(size * MANY <= ordered[-1] for size in many_sizes(ordered))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"repeats": 0}, None),
        ({"repeats": -1}, "repeats must be from 1"),
        ({"repeats": 1001}, "repeats must be from 1"),
        ({"seed": -1}, "the seed must be from 0"),
        ({"sizes_bytes": [MB]}, "two sizes or more"),
        ({"sizes_bytes": [MB, MB]}, "two sizes or more"),
        ({"sizes_bytes": [MB, 2 * MB], "repeats": 1}, "four samples or more"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, object], said: str | None) -> None:
    with pytest.raises(UsageError, match=said or "repeats must be from 1"):
        extent_of(request(**changes))


def test_there_is_room() -> None:
    extent = extent_of(request())
    assert fitted_in(extent, PLENTY) == (extent, "")


def test_large_sizes_are_left_out_for_want_of_room_and_that_is_said() -> None:
    extent = extent_of(request())
    for lacking, room in (
        ("disk", Room(10**9, 10**13)),
        ("memory", Room(10**13, 2 * 10**9)),
    ):
        left, said = fitted_in(extent, room)
        assert left.sizes_bytes == SIZES[: len(left.sizes_bytes)]
        assert 2 <= len(left.sizes_bytes) < len(SIZES)
        assert max(left.checks_bytes) < left.sizes_bytes[-1]
        assert disk_needed(left) <= 0.8 * room.disk_bytes
        assert memory_needed(left) <= 0.8 * room.memory_bytes
        assert f"MB of {lacking} are needed" in said
        assert said.startswith(f"sizes above {left.sizes_bytes[-1] // MB} MB are left out")


def test_without_room_for_two_sizes_nothing_starts() -> None:
    with pytest.raises(UsageError, match="MB of disk are needed, 1 MB are free: make room"):
        fitted_in(extent_of(request()), Room(MB, 10**13))


@given(st.integers(0, 2**31 - 1))
def test_the_order_follows_from_the_seed(seed: int) -> None:
    cells = [(Cell("peer", size, 2), 3) for size in SIZES] + [(Cell("process_start", None, 1), 4)]
    order = shuffled(cells, seed)
    assert order == shuffled(cells, seed)
    assert sorted(map(str, order)) == sorted(str(c) for c, n in cells for _ in range(n))


def test_another_seed_is_another_order() -> None:
    cells = [(Cell("peer", size, 2), 6) for size in SIZES]
    assert shuffled(cells, 1) != shuffled(cells, 2)


def test_extents_compare_by_value() -> None:
    assert Extent((1, 2), (), 3) == Extent((1, 2), (), 3)


@pytest.mark.parametrize(
    ("text", "size"),
    [("1MB", 10**6), (" 64 mb ", 64 * 10**6), ("1.5kB", 1500), ("1GiB", 2**30), ("1000B", 1000)],
)
def test_sizes(text: str, size: int) -> None:
    assert size_bytes(text) == size


@pytest.mark.parametrize("text", ["", "5", "1XB", "MB", "-1MB", "999B", "2000GiB", "1MB 2MB"])
def test_a_size_needs_its_unit(text: str) -> None:
    with pytest.raises(UsageError, match="size"):
        size_bytes(text)
