"""Shapes of times between failures: against scipy's fit, and by what the intervals cover."""

import numpy as np
import pytest
from scipy import stats

from advisor.failure_logs.gaps import FEWEST, variation, weibull

LOGS = 1000


@pytest.mark.parametrize("shape", [0.5, 0.8, 1.0, 2.0])
def test_the_shape_is_the_most_likely_one(shape: float) -> None:
    source = np.random.default_rng(1)
    gaps, still_open = 3600 * source.weibull(shape, 200), 3600 * source.weibull(shape, 20)
    censored = stats.CensoredData(uncensored=gaps, right=still_open)
    wanted, *_ = stats.weibull_min.fit(censored, floc=0)
    found = weibull(list(gaps), list(still_open))
    assert found is not None
    assert found.shape == pytest.approx(wanted, rel=1e-3)
    assert found.low < found.shape < found.high
    assert found.n == 200


def test_the_limits_are_those_of_the_likelihood_ratio() -> None:
    gaps = 3600 * np.random.default_rng(2).weibull(0.7, 100)
    found = weibull(list(gaps))
    assert found is not None

    def best_likelihood(shape: float) -> float:
        scale = float(np.mean(gaps**shape)) ** (1 / shape)
        return float(stats.weibull_min.logpdf(gaps, shape, scale=scale).sum())

    top = best_likelihood(found.shape)
    for limit in (found.low, found.high):
        assert 2 * (top - best_likelihood(limit)) == pytest.approx(
            stats.chi2.ppf(0.95, 1), rel=1e-3
        )


@pytest.mark.parametrize(
    ("shape", "merged_share"), [(0.7, 0.0), (1.0, 0.0), (0.7, 0.05), (1.0, 0.2)]
)
def test_the_interval_covers_the_truth(shape: float, merged_share: float) -> None:
    source = np.random.default_rng(3)
    covered = 0
    for _ in range(LOGS):
        gaps = source.weibull(shape, 60)
        last = float(source.weibull(shape)) * float(source.random())
        found = weibull(list(gaps), [last] if last > merged_share else [], merged_share)
        assert found is not None
        covered += found.low <= shape <= found.high
    assert 0.93 <= covered / LOGS <= 0.97


def test_bursts_are_told_from_chance() -> None:
    source = np.random.default_rng(4)
    bursts = weibull(list(source.weibull(0.6, 300)))
    memoryless = weibull(list(source.exponential(1.0, 300)))
    assert bursts is not None
    assert bursts.bursts
    assert memoryless is not None
    assert not memoryless.bursts


def test_too_little_gives_no_shape() -> None:
    assert weibull([1.0] * (FEWEST - 1) + [0.0] * 10) is None
    assert weibull([2.0] * 50) is None
    assert weibull([]) is None
    assert variation([1.0]) is None
    assert variation([0.0, 0.0]) is None


def test_variation() -> None:
    assert variation([1.0, 2.0, 3.0]) == pytest.approx(0.5)
    assert variation(list(np.random.default_rng(5).exponential(9.0, 20000))) == pytest.approx(
        1.0, abs=0.02
    )


def test_one_very_long_time_without_a_failure_overflows_nothing() -> None:
    found = weibull([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1e12])
    assert found is not None
    assert found.shape < 1.0
