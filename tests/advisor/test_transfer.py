"""The fitted transfer: exact on exact data, never negative, honest about one point."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.transfer import fit_transfer


@given(st.floats(0.0, 1.0), st.floats(1e-10, 1e-7))
def test_exact_data_is_recovered(latency_s: float, s_per_byte: float) -> None:
    sizes = [1e8, 2e8, 1e9, 2.7e9]
    fit = fit_transfer(sizes, [latency_s + s_per_byte * size for size in sizes])
    assert fit.latency_s == pytest.approx(latency_s, rel=1e-6, abs=1e-9)
    assert fit.s_per_byte == pytest.approx(s_per_byte, rel=1e-6)


def test_one_size_is_proportional() -> None:
    fit = fit_transfer([2e8], [0.4])
    assert fit.latency_s == 0.0
    assert fit.scale(4e8, 2e8) == pytest.approx(2.0)
    assert "one measurement" in fit.in_words()


def test_durations_that_do_not_grow_are_a_latency_alone() -> None:
    fit = fit_transfer([1e6, 2e6, 2e6], [0.08, 0.04, 0.04])
    assert fit.s_per_byte == 0.0
    assert fit.in_words() == "44.44 ms, fitted over 3 measurements (1 MB to 2 MB)"
    assert fit.scale(2e6, 1e6) == 1.0


@given(st.lists(st.tuples(st.floats(1e6, 1e10), st.floats(1e-3, 1e2)), min_size=1, max_size=8))
def test_never_negative(points: list[tuple[float, float]]) -> None:
    fit = fit_transfer([s for s, _ in points], [t for _, t in points])
    assert fit.latency_s >= 0.0
    assert fit.s_per_byte >= 0.0
    assert fit.duration_s(5e9) >= 0.0


def test_nothing_to_fit() -> None:
    with pytest.raises(ValueError, match="at least one"):
        fit_transfer([], [])
