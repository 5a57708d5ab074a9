"""When failures come: the laws, their means, and what a draw promises."""

from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.arrivals import Law, draw, parse_law
from advisor.errors import UserError
from db.records import Arrivals

POISSON = Law(Arrivals.POISSON)


@given(seed=st.integers(0, 2**31), covered_s=st.floats(1.0, 500.0), world_size=st.integers(2, 16))
def test_what_a_draw_promises(seed: int, covered_s: float, world_size: int) -> None:
    failures, until_s = draw(POISSON, 20.0, covered_s, world_size, seed)
    assert draw(POISSON, 20.0, covered_s, world_size, seed) == (failures, until_s)
    times = [failure.at_s for failure in failures]
    ranks = [failure.rank for failure in failures]
    assert times == sorted(times)
    assert len(set(ranks)) == len(ranks) <= world_size - 1
    assert set(ranks) <= set(range(1, world_size))
    # One failure beyond what is covered, or one more than there are ranks to lose.
    assert failures
    assert until_s >= times[-1]
    assert until_s >= covered_s or len(failures) == world_size - 1


@pytest.mark.parametrize("text", ["poisson", "weibull:0.7", "weibull:1.5"])
def test_the_mean_between_failures_is_the_mtbf(text: str) -> None:
    firsts = [draw(parse_law(text), 20.0, 1.0, 8, seed)[0][0].at_s for seed in range(4000)]
    assert fmean(firsts) == pytest.approx(20.0, rel=4 * pstdev(firsts) / 20.0 / len(firsts) ** 0.5)


def test_a_shape_below_one_has_more_short_and_more_long_times() -> None:
    def firsts(law: Law) -> list[float]:
        return sorted(draw(law, 20.0, 1.0, 8, seed)[0][0].at_s for seed in range(2000))

    steady, bursty = firsts(POISSON), firsts(parse_law("weibull:0.6"))
    assert bursty[200] < steady[200]
    assert bursty[-20] > steady[-20]


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("poisson", POISSON),
        (" Weibull:0.75 ", Law(Arrivals.WEIBULL, 0.75)),
    ],
)
def test_laws_read_and_written(text: str, law: Law) -> None:
    assert parse_law(text) == law
    assert parse_law(law.in_words()) == law


@pytest.mark.parametrize(
    "text", ["", "gamma", "weibull", "weibull:", "weibull:0", "weibull:nan", "poisson:2", "9" * 99]
)
def test_what_is_no_law(text: str) -> None:
    with pytest.raises(
        UserError, match=r"write poisson, or weibull:SHAPE with a shape from 0\.3 to"
    ):
        parse_law(text)
