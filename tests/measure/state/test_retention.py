"""Which generations survive: recent ones densely, old ones sparsely."""

import math
from itertools import pairwise

import pytest

from measure.state.retention import Retention


def after_many_saves(retention: Retention, saves: int, interval: int) -> list[set[int]]:
    """What is there after each save, when each is followed by pruning."""
    history, there = [], set[int]()
    for step in range(interval, (saves + 1) * interval, interval):
        there = retention.kept(there | {step})
        history.append(there)
    return history


@pytest.mark.parametrize("interval", [1, 7, 100])
@pytest.mark.parametrize("ratio", [2, 4, 10])
def test_recent_ones_densely_and_gaps_that_grow_with_age(interval: int, ratio: int) -> None:
    retention = Retention(recent=3, ratio=ratio)
    for saves, kept in enumerate(after_many_saves(retention, 400, interval), start=1):
        newest = saves * interval
        dense = {newest - i * interval for i in range(min(3, saves))}
        assert dense <= kept
        assert interval in kept, "the first one"
        assert len(kept) <= 3 + 2 * math.log(saves, ratio) + 1
        ages = sorted(newest - step for step in kept)[2:]
        for younger, older in pairwise(ages):
            assert older <= younger * ratio, (saves, ages)


def test_without_a_ratio_only_recent_ones_stay() -> None:
    assert after_many_saves(Retention(2, 0), 50, 10)[-1] == {490, 500}


def test_what_is_kept_is_there() -> None:
    assert Retention().kept([]) == set()
    assert Retention(1, 2).kept([5]) == {5}
    steps = [1, 5, 9, 13, 90]
    assert Retention(2, 2).kept(steps) <= set(steps)


@pytest.mark.parametrize(("recent", "ratio"), [(0, 4), (1, 1), (1, -1)])
def test_senseless_rules_are_refused(recent: int, ratio: int) -> None:
    with pytest.raises(ValueError, match="recent must be"):
        Retention(recent, ratio)


def test_what_was_proved_good_last_is_kept_until_something_newer_is() -> None:
    retention, steps = Retention(2, 0), [10, 20, 30, 40, 50]
    assert retention.kept(steps, [25]) == {20, 40, 50}
    assert retention.kept(steps, [30, 12]) == {10, 30, 40, 50}
    assert retention.kept(steps, [45]) == {40, 50}
    assert retention.kept(steps, [9]) == {40, 50}
    assert retention.kept([], [9]) == set()


@pytest.mark.parametrize("recent", [1, 2, 5])
@pytest.mark.parametrize("lag", [0, 1, 3, 12])
def test_a_rollback_finds_what_is_proved(recent: int, lag: int) -> None:
    """Pruned after every save, with proofs that come so many saves late: something proved stays
    once it is there, and where as many are kept as proofs are late, it is the newest there was."""
    there, best = set[int](), 0
    for number in range(1, 200):
        proved = max(0, number - lag) * 10 + 5
        there = Retention(recent, 4).kept(there | {10 * number}, [proved])
        found = max((step for step in there if step <= proved), default=0)
        assert found >= best
        best = found
        if recent > lag:
            assert found == max(0, number - lag) * 10
    assert best > 0
