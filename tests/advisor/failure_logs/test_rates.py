"""Intervals of rates, against scipy's distributions and by what they cover."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from advisor.failure_logs.rates import fewer_chance, mtbf, share_interval


@pytest.mark.parametrize("failures", [1, 2, 10, 419, 5000])
def test_the_interval_is_the_exact_one(failures: int) -> None:
    found = mtbf(failures, 54 * 86400.0)
    assert found.mtbf_s == pytest.approx(54 * 86400.0 / failures)
    assert found.low_s == pytest.approx(
        2 * 54 * 86400.0 / stats.chi2.ppf(0.975, 2 * failures + 2), rel=1e-9
    )
    assert found.high_s == pytest.approx(
        2 * 54 * 86400.0 / stats.chi2.ppf(0.025, 2 * failures), rel=1e-9
    )


def test_an_end_at_a_failure_has_its_own_interval() -> None:
    found = mtbf(10, 1000.0, ends_at_failure=True)
    assert found.low_s == pytest.approx(2000.0 / stats.chi2.ppf(0.975, 20), rel=1e-9)
    assert found.high_s == mtbf(10, 1000.0).high_s


def test_no_failure_gives_a_bound() -> None:
    found = mtbf(0, 300.0)
    assert (found.mtbf_s, found.high_s) == (None, None)
    # At an MTBF of the bound, no failure in this time has a probability of 5 %.
    assert np.exp(-300.0 / found.low_s) == pytest.approx(0.05)


@given(st.integers(1, 10**6), st.floats(1.0, 1e12))
def test_the_estimate_lies_within(failures: int, at_risk_s: float) -> None:
    found = mtbf(failures, at_risk_s)
    assert found.mtbf_s is not None
    assert found.high_s is not None
    assert found.low_s < found.mtbf_s < found.high_s
    longer = mtbf(failures, 2 * at_risk_s)
    assert longer.low_s == pytest.approx(2 * found.low_s)


@pytest.mark.parametrize(("part", "whole"), [(0, 5), (5, 5), (3, 7), (40, 100)])
def test_a_share_has_its_exact_interval(part: int, whole: int) -> None:
    wanted = stats.binomtest(part, whole).proportion_ci(0.95, "exact")
    assert share_interval(part, whole) == pytest.approx((wanted.low, wanted.high))


def test_fewer_failures() -> None:
    assert fewer_chance(3, 2.5) == pytest.approx(stats.poisson.cdf(2, 2.5))
    assert fewer_chance(0, 2.5) == 0.0
