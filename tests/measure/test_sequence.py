"""The order of cells: from the seed alone, baselines evenly among the others."""

import pytest

from measure.sequence import shuffled

CELLS = [f"ft1-{number}" for number in range(30)] + [f"ft9-{number}" for number in range(10)]


def is_baseline(name: str) -> bool:
    return name.startswith("ft9")


def test_the_same_seed_gives_the_same_order_and_another_another() -> None:
    first, again, other = (shuffled(CELLS, seed, is_baseline) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert sorted(first) == sorted(other) == sorted(CELLS)
    assert first != CELLS


@pytest.mark.parametrize("seed", range(20))
def test_baselines_stand_evenly_among_the_others(seed: int) -> None:
    order = shuffled(CELLS, seed, is_baseline)
    for quarter in range(4):
        part = order[quarter * 10 : quarter * 10 + 10]
        assert 2 <= sum(map(is_baseline, part)) <= 3


def test_without_baselines_or_others_nothing_is_lost() -> None:
    for some in (CELLS[:30], CELLS[30:], []):
        assert sorted(shuffled(some, 3, is_baseline)) == sorted(some)
