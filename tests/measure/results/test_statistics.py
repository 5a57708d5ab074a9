"""The statistics of records, against scipy."""

import numpy as np
import pytest
from scipy import stats

from measure.results.statistics import ci95_half_width, student_t, summary


@pytest.mark.parametrize("degrees", [*range(1, 200), 1000, 100_000])
def test_student_t(degrees: int) -> None:
    assert student_t(degrees) == pytest.approx(stats.t.ppf(0.975, degrees), rel=2e-3)


@pytest.mark.parametrize("n", [2, 3, 10, 31, 500])
def test_the_interval_is_students(n: int) -> None:
    values = np.random.default_rng(n).normal(5.0, 2.0, n)
    low, high = stats.t.interval(0.95, n - 1, values.mean(), stats.sem(values))
    assert ci95_half_width(values.tolist()) == pytest.approx((high - low) / 2, rel=2e-3)


def test_one_value_has_no_interval() -> None:
    assert summary([3.0]) == {
        "n": 1, "median": 3.0, "mean": 3.0, "p95": 3.0, "ci95_half_width": None,
    }  # fmt: skip


def test_the_95th_percentile_is_a_value_that_occurred() -> None:
    assert summary([float(v) for v in range(1, 101)])["p95"] == 95.0
