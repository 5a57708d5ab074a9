"""How often spares are enough: Poisson's numbers, and those that tuning weighs spares by."""

import pytest
from scipy.stats import poisson

from advisor.simulation.waiting import enough_fraction
from advisor.tuning.losses import parse_losses
from advisor.tuning.spares import Repairs, waiting_shares


@pytest.mark.parametrize("load", [1e-6, 0.3, 5.0, 40.0, 400.0, 3_000.0])
@pytest.mark.parametrize("spares", [0, 1, 7, 50, 420, 3_100])
def test_one_node_at_a_time_is_poisson(load: float, spares: int) -> None:
    """Also where no float holds the chance that none is in repair."""
    found = enough_fraction(load, {1: 1.0}, spares)
    assert found == pytest.approx(float(poisson.cdf(spares, load)), rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("spares", range(9))
def test_several_at_once_wait_as_tuning_says(spares: int) -> None:
    losses = parse_losses("1:60%,2:30%,5:10%")
    shares = waiting_shares(Repairs(16, 4_000.0), losses, 1_600.0, 8)
    found = enough_fraction(2.5, {1: 0.6, 2: 0.3, 5: 0.1}, spares)
    assert 1.0 - found == pytest.approx(float(shares[spares]), rel=1e-9)


def test_the_limits() -> None:
    assert enough_fraction(0.0, {1: 1.0}, 0) == 1.0
    assert enough_fraction(1e6, {0: 1.0}, 0) == 1.0
    assert enough_fraction(1e12, {1: 1.0}, 1000) == 0.0
    assert enough_fraction(1e8, {1: 1.0}, 1000) == 0.0
    # Those that take no node do not count.
    half = enough_fraction(2.0, {0: 0.5, 1: 0.5}, 1)
    assert half == pytest.approx(enough_fraction(1.0, {1: 1.0}, 1))
