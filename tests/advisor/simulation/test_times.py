"""Distributions of times: their means, and what is left of one that began before."""

import numpy as np
import pytest
from scipy import stats

from advisor.errors import UserError
from advisor.simulation.times import (
    Constant,
    Empirical,
    Exponential,
    Lognormal,
    Times,
    Weibull,
)

_COUNT = 100_000
_ALL: dict[str, Times] = {
    "constant": Constant(30.0),
    "exponential": Exponential(30.0),
    "weibull": Weibull(30.0, 0.7),
    "weibull-ageing": Weibull(30.0, 2.0),
    "lognormal": Lognormal(30.0, 0.8),
    "empirical": Empirical((10.0, 20.0, 60.0)),
}


@pytest.mark.parametrize("name", _ALL)
def test_means(name: str) -> None:
    """Whole times have the mean; what is left of one has E[X^2] / 2 E[X] (renewal theory)."""
    times = _ALL[name]
    assert times.mean_s == pytest.approx(30.0)
    drawn = times.draw(np.random.default_rng(1), _COUNT)
    left = times.left(np.random.default_rng(2), _COUNT)
    assert drawn.shape == left.shape == (_COUNT,)
    assert drawn.min() > 0.0
    close(drawn, 30.0)
    second = {
        "constant": 900.0,
        "exponential": 1800.0,
        "weibull": stats.weibull_min(0.7, scale=1.0).moment(2)
        * (30.0 / stats.weibull_min(0.7).mean()) ** 2,
        "weibull-ageing": stats.weibull_min(2.0).moment(2)
        * (30.0 / stats.weibull_min(2.0).mean()) ** 2,
        "lognormal": 900.0 * np.exp(0.64),
        "empirical": (100.0 + 400.0 + 3600.0) / 3.0,
    }[name]
    close(left, second / 60.0)


def close(values: np.ndarray, mean: float) -> None:
    sigma = values.std() / np.sqrt(values.size)
    assert abs(values.mean() - mean) <= 4.0 * sigma + 1e-9


def test_shapes_follow_their_laws() -> None:
    """Kolmogorov and Smirnov on the laws of scipy; seeds are fixed, so this cannot flicker."""
    scale = 30.0 / stats.weibull_min(0.7).mean()
    for times, law in (
        (_ALL["exponential"], stats.expon(scale=30.0)),
        (_ALL["weibull"], stats.weibull_min(0.7, scale=scale)),
        (_ALL["lognormal"], stats.lognorm(0.8, scale=30.0 * np.exp(-0.32))),
    ):
        drawn = times.draw(np.random.default_rng(3), 20_000)
        assert stats.kstest(drawn, law.cdf).pvalue > 0.01


@pytest.mark.parametrize("name", _ALL)
def test_at_least_is_the_share_of_what_is_drawn(name: str) -> None:
    times = _ALL[name]
    drawn = times.draw(np.random.default_rng(4), _COUNT)
    for least_s in (1.0, 10.0, 20.5, 30.0, 45.0, 200.0):
        share = times.at_least(least_s)
        sigma = np.sqrt(share * (1.0 - share) / _COUNT)
        assert abs(float(np.mean(drawn >= least_s)) - share) <= 4.0 * sigma + 1e-9
    assert times.at_least(0.0) == times.at_least(-1.0) == 1.0
    assert times.at_least(1e9) < 1e-6
    assert times.at_least(15.0) >= times.at_least(25.0)


@pytest.mark.parametrize("observed_s", [(), (0.0, 1.0), (1.0, float("inf")), (float("nan"),)])
def test_observed_times_have_to_be_times(observed_s: tuple[float, ...]) -> None:
    with pytest.raises(UserError, match="above zero"):
        Empirical(observed_s)
