"""The robust line: exact on exact data, its intervals true, outliers held off, units no matter."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from advisor.robust_fit import Estimate, fit_constant, fit_line
from db.pooling import t_quantile_95

Array = NDArray[np.float64]

MB = 1e6
SIZES = np.repeat(np.array([1, 4, 16, 64, 256, 512]) * MB, 6)
LATENCY_S, S_PER_BYTE = 1e-3, 1e-9
DRAWS = 1000


def noise(kind: str, sizes: Array, seed: int) -> Array:
    """Relative errors, the same distribution for each draw."""
    drawn = np.random.default_rng(seed)
    shape = (DRAWS, len(sizes))
    if kind == "normal":
        return drawn.normal(0.0, 0.05, shape)
    if kind == "heavy tails":
        return np.clip(0.05 * drawn.standard_t(4, shape), -0.9, None)
    if kind == "small ones scatter more":
        return drawn.normal(0.0, 1.0, shape) * np.where(sizes < 20 * MB, 0.12, 0.04)
    return np.exp(drawn.normal(0.0, 0.1, shape)) - 1.0


def covered(estimate: Estimate, truth: float) -> float:
    """The share of intervals that hold the truth."""
    return float(np.mean((estimate.low <= truth) & (truth <= estimate.high)))


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "small ones scatter more", "skewed"])
def test_intervals_hold_the_truth_as_often_as_they_say(kind: str) -> None:
    true = LATENCY_S + S_PER_BYTE * SIZES
    fitted = fit_line(SIZES, true * (1.0 + noise(kind, SIZES, seed=7)))
    assert fitted.slope is not None
    assert 0.93 <= covered(fitted.constant, LATENCY_S) <= 0.97
    assert 0.93 <= covered(fitted.slope, S_PER_BYTE) <= 0.97


@pytest.mark.parametrize("n", [12, 24])
def test_intervals_of_a_mean(n: int) -> None:
    drawn = np.random.default_rng(3).normal(1.0, 0.1, (DRAWS, n))
    assert 0.93 <= covered(fit_constant(0.02 * drawn).constant, 0.02) <= 0.97


def test_intervals_of_ranks() -> None:
    ranks = np.repeat(np.array([2.0, 4.0, 8.0]), 12)
    drawn = np.random.default_rng(5).normal(1.0, 0.1, (DRAWS, len(ranks)))
    fitted = fit_line(ranks, (2e-3 + 1e-3 * ranks) * drawn)
    assert fitted.slope is not None
    assert 0.93 <= covered(fitted.constant, 2e-3) <= 0.97
    assert 0.93 <= covered(fitted.slope, 1e-3) <= 0.97


def test_a_noisy_neighbour_moves_it_little() -> None:
    """A sixth of the samples takes three times as long: least squares would be off by a third."""
    drawn = np.random.default_rng(11)
    true = LATENCY_S + S_PER_BYTE * SIZES
    noisy = true * (1.0 + drawn.normal(0.0, 0.03, (DRAWS, len(SIZES))))
    disturbed = np.where(drawn.random(noisy.shape) < 1 / 6, 3.0 * noisy, noisy)
    fitted = fit_line(SIZES, disturbed)
    assert fitted.slope is not None
    assert np.median(np.abs(fitted.slope.value / S_PER_BYTE - 1.0)) < 0.03
    plain = np.mean(disturbed / true, axis=1)
    assert np.median(np.abs(plain - 1.0)) > 0.3
    assert np.mean(fitted.outliers) > 4


LATENCIES = st.floats(1e-6, 10.0)
RATES = st.floats(1e-12, 1e-6)


@given(LATENCIES, RATES)
def test_exact_data_is_recovered_for_certain(latency_s: float, s_per_byte: float) -> None:
    times = latency_s + s_per_byte * SIZES
    fitted = fit_line(SIZES, times)
    assert fitted.slope is not None
    predicted = fitted.constant.value + fitted.slope.value * SIZES
    assert predicted == pytest.approx(times, rel=1e-6)
    assert fitted.scale == pytest.approx(0.0, abs=1e-9)


Points = list[tuple[float, float]]
POINTS = st.lists(
    st.tuples(st.floats(1e3, 1e10), st.floats(1e-6, 1e3)), min_size=4, max_size=20
).filter(lambda points: np.ptp([size for size, _ in points]) > 0.0)


@given(POINTS)
def test_whatever_comes_nothing_is_negative_and_the_value_is_inside(points: Points) -> None:
    sizes, times = np.array(points).T
    fitted = fit_line(sizes, times)
    assert fitted.slope is not None
    for estimate in (fitted.constant, fitted.slope):
        assert 0.0 <= estimate.low <= estimate.value <= estimate.high
        assert np.isfinite(estimate.high)
    assert np.all(fitted.constant.value + fitted.slope.value * sizes > 0.0)
    assert 0 <= fitted.outliers <= len(points)


@given(st.integers(0, 2**31), st.floats(1e-3, 1e3), st.floats(1e-3, 1e3))
def test_units_are_no_matter(seed: int, time_unit: float, size_unit: float) -> None:
    drawn = np.random.default_rng(seed)
    times = (LATENCY_S + S_PER_BYTE * SIZES) * np.exp(drawn.normal(0.0, 0.1, len(SIZES)))
    order = drawn.permutation(len(SIZES))
    plain = fit_line(SIZES, times)
    other = fit_line(SIZES[order] * size_unit, times[order] * time_unit)
    assert plain.slope is not None
    assert other.slope is not None
    for mine, theirs, unit in (
        (plain.constant, other.constant, time_unit),
        (plain.slope, other.slope, time_unit / size_unit),
    ):
        for a, b in ((mine.value, theirs.value), (mine.low, theirs.low), (mine.high, theirs.high)):
            assert b / unit == pytest.approx(a, rel=1e-4, abs=1e-15)


def test_many_sets_at_once_are_each_one_alone() -> None:
    drawn = np.random.default_rng(2)
    times = (LATENCY_S + S_PER_BYTE * SIZES) * np.exp(drawn.normal(0.0, 0.1, (3, 4, len(SIZES))))
    together = fit_line(SIZES, times)
    assert together.constant.value.shape == (3, 4)
    alone = fit_line(SIZES, times[1, 2])
    assert together.constant.high[1, 2] == pytest.approx(float(alone.constant.high), rel=1e-6)
    assert together.outliers[1, 2] == alone.outliers


def test_durations_that_fall_with_size_are_flat() -> None:
    fitted = fit_line(SIZES, 2.0 - 1e-9 * SIZES)
    assert fitted.slope is not None
    assert fitted.slope.value == 0.0
    assert fitted.constant.value > 0.0


def test_through_the_origin_where_the_latency_would_be_negative() -> None:
    fitted = fit_line(SIZES, 1e-9 * SIZES * (1.0 + SIZES / 1e9))
    assert fitted.slope is not None
    assert fitted.constant.value == 0.0
    assert fitted.slope.value > 0.0


@pytest.mark.parametrize(
    ("at", "durations", "said"),
    [
        ([1, 2, 3], [1, 2, 3], "4 samples or more"),
        ([1, 1, 1, 1], [1, 2, 3, 4], "two different ones"),
        ([1, 2, 3], [1, 2, 3, 4], "a size for each"),
        ([1, 2, 3, 4], [1, 2, 3, 0], "above zero"),
        ([1, 2, 3, 4], [1, 2, 3, float("nan")], "finite"),
        ([1, 2, 3, float("inf")], [1, 2, 3, 4], "a size for each"),
    ],
)
def test_what_cannot_be_fitted_is_refused(
    at: list[float], durations: list[float], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        fit_line(at, durations)


def test_a_mean_needs_two() -> None:
    with pytest.raises(ValueError, match="2 samples or more"):
        fit_constant([1.0])


def test_the_quantile_of_few_degrees_is_students() -> None:
    exact = fit_constant(np.array([[1.0, 1.1, 0.9]]))
    half = (exact.constant.high - exact.constant.low) / 2
    assert half[0] > t_quantile_95(10) * 0.1 / np.sqrt(3)
