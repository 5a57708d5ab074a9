"""How often spares are enough: Poisson's numbers, and sums of them where several are lost."""

import numpy as np
import pytest
from scipy.stats import poisson

from advisor.simulation.waiting import enough_fraction


@pytest.mark.parametrize("load", [1e-6, 0.3, 5.0, 40.0, 400.0, 3_000.0])
@pytest.mark.parametrize("spares", [0, 1, 7, 50, 420, 3_100])
def test_one_node_at_a_time_is_poisson(load: float, spares: int) -> None:
    """Also where no float holds the chance that none is in repair."""
    found = enough_fraction(load, {1: 1.0}, spares)
    assert found == pytest.approx(float(poisson.cdf(spares, load)), rel=1e-6, abs=1e-300)


@pytest.mark.parametrize("spares", range(9))
def test_several_at_once_are_in_repair_in_groups(spares: int) -> None:
    """Of i nodes at once there is a Poisson number, of the mean load x P(B >= i) / i."""
    chances = np.array([1.0])
    for number, at_least in ((1, 1.0), (2, 0.4), (3, 0.1), (4, 0.1), (5, 0.1)):
        groups = np.zeros(200 * number)
        groups[::number] = poisson.pmf(np.arange(200), 2.5 * at_least / number)
        chances = np.convolve(chances, groups)
    found = enough_fraction(2.5, {1: 0.6, 2: 0.3, 5: 0.1}, spares)
    assert found == pytest.approx(float(chances[: spares + 1].sum()), rel=1e-9)


def test_very_many_nodes_at_once() -> None:
    """Each loss is at least so many, whatever its size; sizes are not counted one by one."""
    chances = [enough_fraction(0.5, {taken: 1.0}, 3) for taken in (99, 100, 101, 10**6, 10**9)]
    assert chances == sorted(chances, reverse=True)
    harmonic = float(np.sum(1.0 / np.arange(1, 10**6 + 1)))
    assert enough_fraction(0.5, {10**6: 1.0}, 0) == pytest.approx(np.exp(-0.5 * harmonic))


def test_the_limits() -> None:
    assert enough_fraction(0.0, {1: 1.0}, 0) == 1.0
    assert enough_fraction(1e6, {0: 1.0}, 0) == 1.0
    assert enough_fraction(1e12, {1: 1.0}, 1000) == 0.0
    assert enough_fraction(1e8, {1: 1.0}, 1000) == 0.0
    # Those that take no node do not count.
    half = enough_fraction(2.0, {0: 0.5, 1: 0.5}, 1)
    assert half == pytest.approx(enough_fraction(1.0, {1: 1.0}, 1))
