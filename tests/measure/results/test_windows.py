"""Throughput before and after a fault, on runs whose figures are known beforehand."""

import pytest

from measure.results.rank_log import RankLog, Step
from measure.results.windows import (
    LARGEST_SERIES,
    aggregate_slowdown,
    mean_loss,
    series,
    window,
)


def steady(
    rank: int, step_s: float, count: int, begin_s: float = 0.0, samples: int = 4, first: int = 0
) -> RankLog:
    return RankLog(
        rank,
        tuple(
            Step(first + n, begin_s + (n + 1) * step_s, step_s, 1.0 / (n + 1), samples)
            for n in range(count)
        ),
    )


def test_a_steady_run_has_its_rate() -> None:
    found = window([steady(0, 0.1, 50), steady(1, 0.1, 50)], 0.0, 10.0)
    assert found is not None
    assert found.rate == pytest.approx(40.0)
    assert (found.ranks, found.as_json()["steps"]) == (2, 50)
    assert found.as_json()["step_s"]["median"] == pytest.approx(0.1)


def test_the_first_steps_and_what_lies_outside_are_left_out() -> None:
    found = window([steady(0, 0.1, 50)], 0.0, 3.05, first_step=10)
    assert found is not None
    assert [step.number for step in found.steps[0]] == list(range(10, 30))


def test_a_rank_that_trains_on_nothing_is_not_counted() -> None:
    found = window([steady(0, 0.1, 50, samples=0), steady(1, 0.1, 50)], 0.0, 10.0)
    assert found is not None
    assert found.ranks == 1


def test_no_steps_no_window() -> None:
    assert window([steady(0, 0.1, 1)], 0.2, 10.0) is None
    assert window([], 0.0, 10.0) is None


def test_a_rank_with_one_step_counts() -> None:
    found = window([steady(0, 0.1, 50), steady(1, 4.0, 1)], 0.0, 10.0)
    assert found is not None
    assert found.ranks == 2


def test_the_window_begins_with_its_first_step() -> None:
    found = window([steady(0, 0.1, 50)], 0.0, 10.0, first_step=10)
    assert found is not None
    assert found.from_s == pytest.approx(1.0)


def test_a_lost_worker_of_seven_costs_a_seventh() -> None:
    before = window([steady(r, 0.1, 20) for r in range(7)], 0.0, 2.0)
    after = window([steady(r, 0.1, 20, 2.0) for r in range(6)], 2.0, 4.1)
    assert aggregate_slowdown(before, after) == pytest.approx(1 / 7)


def test_a_rate_that_rises_makes_the_slowdown_negative() -> None:
    before = window([steady(r, 0.2, 20) for r in range(8)], 0.0, 4.0)
    after = window([steady(r, 0.1, 20, 4.0) for r in range(7)], 4.0, 6.1)
    assert aggregate_slowdown(before, after) == pytest.approx(1 - 2 * 7 / 8)


def test_losses_are_averaged_over_the_last_steps() -> None:
    assert mean_loss([steady(0, 0.1, 2)], 0.25) == pytest.approx(0.75)
    assert mean_loss([steady(0, 0.1, 2)], 0.05) is None


def test_a_long_run_is_thinned_out() -> None:
    columns = series([steady(0, 0.001, 3 * LARGEST_SERIES + 5)])
    lengths = {len(column) for column in columns.values()}
    assert len(lengths) == 1
    assert lengths.pop() <= LARGEST_SERIES
