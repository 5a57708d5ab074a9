"""Two means: the interval of their ratio holds the truth as often as it says, and 1 exactly where
the difference may be chance."""

from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import stdtrit

from advisor.comparison.difference import Uncertain, difference

_ABOVE = st.floats(1e-6, 1e6)
_SHARE = st.floats(0.0, 0.5)
_DEGREES = st.sampled_from([1.0, 2.0, 4.0, 30.0, inf])


def test_by_hand() -> None:
    """s = 1 with 4 degrees each: 8 together, t = 2.306, so 3.261 apart may be chance."""
    a = Uncertain(10.0, 1.0, 4.0)
    assert difference(a, Uncertain(13.2, 1.0, 4.0)).is_more_than_chance is False
    found = difference(a, Uncertain(14.0, 1.0, 4.0))
    assert found.is_more_than_chance is True
    assert found.ratio == 1.4
    assert (found.low, found.high) == pytest.approx((1.0634, 1.8939), abs=1e-3)


@given(_ABOVE, _ABOVE, _SHARE, _SHARE, _DEGREES, _DEGREES)
def test_the_interval_holds_one_exactly_where_it_may_be_chance(
    a: float, b: float, share_a: float, share_b: float, v_a: float, v_b: float
) -> None:
    found = difference(Uncertain(a, share_a * a, v_a), Uncertain(b, share_b * b, v_b))
    assert found.is_more_than_chance is not None
    if found.low is None or found.high is None or found.ratio is None:
        assert "cannot be told from 0" in found.why
        return
    assert found.low <= found.ratio <= found.high
    if min(abs(found.low - 1.0), abs(found.high - 1.0)) > 1e-9:
        assert (found.low <= 1.0 <= found.high) is not found.is_more_than_chance


@given(_ABOVE, _ABOVE, st.floats(0.01, 0.3), st.floats(0.01, 0.3))
def test_at_its_ends_the_ratio_would_just_be_chance(
    a: float, b: float, share_a: float, share_b: float
) -> None:
    s_a, s_b = share_a * a, share_b * b
    found = difference(Uncertain(a, s_a, 30.0), Uncertain(b, s_b, 30.0))
    assert found.low is not None
    assert found.high is not None
    squares = s_a**2 + s_b**2
    t = float(stdtrit(squares**2 / (s_a**4 / 30.0 + s_b**4 / 30.0), 0.975))
    for rho in (found.low, found.high):
        assert abs(b - rho * a) == pytest.approx(t * sqrt(s_b**2 + (rho * s_a) ** 2), rel=1e-6)


@pytest.mark.parametrize("true_ratio", [1.0, 1.5])
def test_the_interval_holds_the_true_ratio_as_often_as_it_says(true_ratio: float) -> None:
    """Three runs each, as clusters are measured; 4,000 pairs of clusters."""
    chance = np.random.default_rng(11)
    held = more = 0
    tries, runs = 4_000, 3
    for _ in range(tries):
        a = chance.normal(10.0, 0.5, runs)
        b = chance.normal(10.0 * true_ratio, 1.0, runs)
        found = difference(
            *(
                Uncertain(float(x.mean()), float(x.std(ddof=1)) / sqrt(runs), runs - 1.0)
                for x in (a, b)
            )
        )
        assert found.low is not None
        assert found.high is not None
        held += found.low <= true_ratio <= found.high
        more += found.is_more_than_chance is True
    assert 0.94 <= held / tries <= 0.985
    assert (more / tries <= 0.06) if true_ratio == 1.0 else (more / tries >= 0.9)


@pytest.mark.parametrize(("a", "b"), [(0.0, 1.0), (1.0, 0.0), (-0.5, 1.0), (1.0, -0.5), (0.0, 0.0)])
def test_no_ratio_without_two_numbers_above_zero(a: float, b: float) -> None:
    found = difference(Uncertain(a, 0.1, 2.0), Uncertain(b, 0.1, 2.0))
    assert (found.ratio, found.low, found.high) == (None, None, None)
    assert found.is_more_than_chance is (abs(a - b) > 0.39)  # t = 2.776 with 4 degrees
    assert "not above 0" in found.why


def test_without_a_dispersion_there_is_a_ratio_and_no_verdict() -> None:
    found = difference(Uncertain(2.0, None, why="one run"), Uncertain(3.0, 0.1, 2.0))
    assert (found.ratio, found.low, found.high) == (1.5, None, None)
    assert (found.is_more_than_chance, found.why) == (None, "one run")


def test_a_baseline_that_may_be_zero_has_no_interval() -> None:
    found = difference(Uncertain(1.0, 1.0, 2.0), Uncertain(3.0, 0.1, 2.0))
    assert (found.ratio, found.low, found.high) == (3.0, None, None)
    assert found.is_more_than_chance is False
    assert "cannot be told from 0" in found.why


def test_numbers_that_never_scatter() -> None:
    same, other = Uncertain(2.0, 0.0, 2.0), Uncertain(3.0, 0.0, 2.0)
    assert difference(same, same).is_more_than_chance is False
    found = difference(same, other)
    assert (found.is_more_than_chance, found.low, found.high) == (True, 1.5, 1.5)
