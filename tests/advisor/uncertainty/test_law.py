"""Draws: the same for everybody, above 0, and of the right law."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t as student

from advisor.recommendation import SpreadOrigin
from advisor.uncertainty.law import UncertainValue, deviations, quantiles, value_at
from advisor.uncertainty.spread import Spread
from db.records import Quantity


def value(
    name: str,
    degrees: float = 3.0,
    *,
    measured: float = 10.0,
    error: float = 2.0,
    quantity: Quantity = Quantity.RESTORE,
) -> UncertainValue:
    return UncertainValue((name, quantity), measured, 3, Spread(error, degrees, SpreadOrigin.OWN))


def test_a_number_is_drawn_alike_whatever_else_is_drawn() -> None:
    alone = deviations([value("a")])
    together = deviations([value("b"), value("a")])
    assert np.array_equal(alone[0], together[1])
    assert not np.array_equal(together[0], together[1])
    assert not np.array_equal(alone, deviations([value("a")], seed=1))


@pytest.mark.parametrize("degrees", [1.0, 3.0, inf])
def test_draws_follow_student(degrees: float) -> None:
    found = np.sort(deviations([value("a", degrees)], draws=2_000)[0])
    share = (np.arange(2_000) + 0.5) / 2_000
    wanted = student.ppf(0.0005 + 0.999 * share, min(degrees, 1e9))
    middle = slice(20, -20)
    assert found[middle] == pytest.approx(wanted[middle], rel=0.05, abs=0.01)
    assert np.all(np.isfinite(found))
    assert np.all(np.abs(found) <= student.ppf(0.9995, min(degrees, 1e9)) * 1.001)


@given(st.floats(1e-6, 1e6), st.floats(1e-3, 2.0), st.floats(-600.0, 600.0))
def test_a_rate_and_the_time_it_takes_have_one_law(
    measured: float, share: float, off: float
) -> None:
    """A rate that is off upwards is a time that is off downwards by as much, and the difference of
    the two ratios is what the standard error says."""
    rate = value("a", measured=measured, error=share * measured)
    time = value("a", measured=1.0 / measured, error=share / measured)
    up, down = value_at(rate, np.array([off, -off])) / measured
    assert up * down == pytest.approx(1.0)
    assert 1.0 / value_at(time, np.array([off]))[0] / measured == pytest.approx(down)
    assert 0.5 * (up - down) == pytest.approx(share * off, rel=1e-6, abs=1e-9)


def test_a_small_error_is_added() -> None:
    off = np.linspace(-3.0, 3.0, 7)
    for quantity in (Quantity.RESTORE, Quantity.OVERHEAD):
        found = value_at(value("a", error=0.01, quantity=quantity), off)
        assert found == pytest.approx(10.0 + 0.01 * off, abs=1e-4)


@pytest.mark.parametrize("degrees", [1.0, 4.0, inf])
@pytest.mark.parametrize("share", [0.05, 0.6, 5.0])
@pytest.mark.parametrize("quantity", [Quantity.THROUGHPUT, Quantity.SAVE, Quantity.OVERHEAD])
def test_no_draw_is_0_or_below(quantity: Quantity, share: float, degrees: float) -> None:
    """And none is piled up at the least: all differ."""
    one = value("a", degrees, measured=0.4, error=0.4 * share, quantity=quantity)
    found = value_at(one, deviations([one])[0])
    assert np.all(found > 0.0)
    assert np.unique(found).size == found.size


def test_an_overhead_is_students_where_it_is_above_0() -> None:
    """0.47 +- 0.28: what lies below 0 is left out, and the rest keeps its proportions."""
    one = value("a", 4.0, measured=0.47, error=0.28, quantity=Quantity.OVERHEAD)
    found = value_at(one, deviations([one], draws=20_000)[0])
    below = student.cdf(-0.47 / 0.28, 4.0)
    for limit in (0.02, 0.1, 0.47, 1.0):
        wanted = (student.cdf((limit - 0.47) / 0.28, 4.0) - below) / (1.0 - below)
        assert np.mean(found <= limit) == pytest.approx(wanted, abs=2e-3)


def test_an_overhead_measured_below_0_stays_about_its_value() -> None:
    one = value("a", measured=-0.1, error=0.05, quantity=Quantity.OVERHEAD)
    assert quantiles(one, np.array([0.5]))[0] == pytest.approx(0.0, abs=1e-9)
    assert value_at(one, np.array([-1.0, 0.0, 4.0])) == pytest.approx([-0.15, -0.1, 0.1])
