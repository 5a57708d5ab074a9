"""Probabilities and regrets, from times in draws."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from advisor.uncertainty.best import chances, perfect_information_s

_TIMES = arrays(
    np.float64, st.tuples(st.integers(1, 5), st.integers(1, 40)), elements=st.floats(1.0, 1e9)
)


def names(times_s: NDArray[np.float64]) -> list[str]:
    return [f"ft{row}" for row in range(len(times_s))]


@given(_TIMES)
def test_probabilities_sum_to_1_and_regrets_are_not_negative(times_s: NDArray[np.float64]) -> None:
    found = chances(names(times_s), times_s)
    assert sum(each.best_probability for each in found) == pytest.approx(1.0)
    assert all(each.expected_regret_s >= 0.0 for each in found)
    assert all(each.low_s <= each.high_s for each in found)
    least = min(each.expected_regret_s for each in found)
    assert perfect_information_s(times_s) == pytest.approx(least, rel=1e-9, abs=1e-9)


@given(_TIMES, st.integers(-20, 20))
def test_in_another_unit_of_time_only_the_seconds_change(
    times_s: NDArray[np.float64], power: int
) -> None:
    factor = 2.0**power  # exact, so that ties stay ties
    before, after = chances(names(times_s), times_s), chances(names(times_s), factor * times_s)
    for a, b in zip(before, after, strict=True):
        assert b.best_probability == a.best_probability
        assert b.expected_regret_fraction == pytest.approx(a.expected_regret_fraction, abs=1e-12)
        assert b.expected_regret_s == pytest.approx(factor * a.expected_regret_s, abs=1e-12)


def test_a_hand_made_table() -> None:
    times_s = np.array([[10.0, 10.0, 10.0, 10.0], [12.0, 8.0, 12.0, 12.0]])
    first, second = chances(("ft1", "ft2"), times_s)
    assert (first.best_probability, second.best_probability) == (0.75, 0.25)
    assert first.expected_regret_s == 0.5
    assert first.expected_regret_fraction == 0.0625
    assert second.expected_regret_s == 1.5
    assert perfect_information_s(times_s) == 0.5


def test_a_tie_goes_to_the_earlier() -> None:
    first, second = chances(("ft1", "ft2"), np.full((2, 8), 3.0))
    assert (first.best_probability, second.best_probability) == (1.0, 0.0)
    assert first.expected_regret_s == second.expected_regret_s == 0.0
