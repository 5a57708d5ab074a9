"""Straggler scores: synthetic groups that are well, and as many with one slow rank."""

import math

import numpy as np
import pytest

from measure.monitors.scores import (
    IN_A_ROW,
    LEARNED,
    SKIPPED,
    Standing,
    ratios,
)
from tests.measure.monitors.many import HUNDRED_OR_THOUSAND

WINDOWS = 20
STEPS = 10
"""Steps of a window, whose median each rank reports."""


def judged(
    seed: int, size: int, scatter: float, factor: float = 1.0
) -> tuple[int, list[tuple[int, int]]]:
    """(Which rank is slow once the group is learned, [(window, rank) of each suspicion]).

    A step takes a lognormal time, and one in twenty three times as long; a quarter of the ranks
    has more work than the others.
    """
    drawn = np.random.default_rng(seed)
    work = drawn.choice([1.0, 1.0, 1.0, 1.4], size=size)
    victim = int(drawn.integers(size))
    times = work[:, None] * drawn.lognormal(0.0, scatter, (WINDOWS, size, STEPS))
    times *= np.where(drawn.random(times.shape) < 0.05, 3.0, 1.0)
    times[SKIPPED + LEARNED :, victim] *= factor
    standing, found = Standing(), []
    steps_s = np.median(times.max(axis=1), axis=1)  # all wait for the slowest
    for number, window in enumerate(np.median(times, axis=2)):
        slow = standing.take(window.tolist(), float(steps_s[number]))
        found += [(number, each.rank) for each in slow]
    return victim, found


@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
@pytest.mark.parametrize("size", [2, 4, 8])
def test_false_alarms_of_healthy_groups(size: int, count: int) -> None:
    """Of 15 judged windows each."""
    alarms = [seed for seed in range(count) if judged(seed, size, 0.1)[1]]
    print(f"\n{size} ranks: {len(alarms)} of {count} healthy groups suspected")
    assert len(alarms) <= count // 50


@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
@pytest.mark.parametrize(("factor", "scatter"), [(1.2, 0.05), (1.5, 0.1), (3.0, 0.2)])
def test_slow_ranks_are_named(factor: float, scatter: float, count: int) -> None:
    right = at_once = wrong = 0
    for seed in range(count):
        victim, found = judged(seed, 8, scatter, factor)
        right += any(rank == victim for _, rank in found)
        at_once += (SKIPPED + LEARNED + IN_A_ROW - 1, victim) in found
        wrong += any(rank != victim for _, rank in found)
    print(f"\n{factor} times: {right} of {count} named, {at_once} at once, {wrong} wrong ones")
    assert right >= 0.99 * count
    assert at_once >= 0.85 * right
    assert wrong <= count // 50


def test_a_rank_is_named_once_until_it_is_well_again() -> None:
    standing, named = Standing(), []
    for number in range(30):
        slow = 10 <= number < 15 or 20 <= number < 25
        noise = 0.01 * (number % 3)
        times = [1.0 + noise, 1.0, 2.0 if slow else 1.0, 1.0 - noise]
        named += [(number, found.rank) for found in standing.take(times, max(times))]
    assert named == [(11, 2), (21, 2)]


def test_nobody_is_suspected_while_the_group_is_learned() -> None:
    standing = Standing()
    for _ in range(SKIPPED + LEARNED):
        assert math.isinf(standing.threshold)
        assert standing.take([1.0, 5.0], 5.0) == []
    assert standing.threshold == pytest.approx(1.0)


@pytest.mark.parametrize(("step_s", "named"), [(2.0, [2]), (9.9, [2]), (10.1, [])])
def test_who_keeps_nobody_waiting_is_no_straggler(step_s: float, named: list[int]) -> None:
    """A rank that needs half a second more, in a step of 10 s or more."""
    standing, found = Standing(), []
    for number in range(SKIPPED + LEARNED + IN_A_ROW):
        times = [1.0, 1.0, 1.5 if number >= SKIPPED + LEARNED else 1.0, 1.0]
        found += [slow.rank for slow in standing.take(times, step_s)]
    assert found == named


def test_beside_a_very_slow_rank_a_little_slowness_is_no_suspicion() -> None:
    standing, named = Standing(), []
    for number in range(20):
        slow = number >= 10
        times = [1.0, 1.0, 9.0 if slow else 1.0, 1.4 if slow else 1.0, 8.0 if slow else 1.0]
        named += [(number, found.rank) for found in standing.take(times, max(times))]
    assert named == [(11, 2), (11, 4)]


def test_ratios_are_against_the_others() -> None:
    assert ratios([1.0, 2.0]) == [0.5, 2.0]
    assert ratios([1.0, 1.0, 1.0, 3.0]) == [1.0, 1.0, 1.0, 3.0]
    assert ratios([4.0]) == [1.0]
    assert ratios([0.0, 0.0]) == [1.0, 1.0]
