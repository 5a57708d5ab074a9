"""When failures come: the laws, their means, and what a draw promises."""

from statistics import fmean, pstdev

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.arrivals import MOST_FAILURES, Law, draw, parse_law
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
    assert len(set(ranks)) == len(ranks) <= min(world_size - 1, MOST_FAILURES)
    assert set(ranks) <= set(range(1, world_size))
    # One failure beyond what is covered, or one more than there are ranks to lose.
    assert failures
    assert until_s >= times[-1]
    assert until_s >= covered_s or len(failures) == min(world_size - 1, MOST_FAILURES)


@pytest.mark.parametrize("text", ["poisson", "weibull:0.6", "weibull:1.5", "weibull:3"])
def test_as_many_failures_as_the_mtbf_says_whatever_the_shape(text: str) -> None:
    """Of a job that begins at any time; counted where no rank is left out."""
    law, covered_s = parse_law(text), 30.0
    counts = [
        sum(f.at_s < covered_s for f in draw(law, 20.0, covered_s, 64, seed)[0])
        for seed in range(4000)
    ]
    sigma = pstdev(counts) / len(counts) ** 0.5
    assert fmean(counts) == pytest.approx(1.5, abs=4 * sigma)


def test_a_shape_below_one_has_more_short_and_more_long_times() -> None:
    def gaps(law: Law) -> list[float]:
        drawn = (draw(law, 20.0, 60.0, 8, seed)[0] for seed in range(2000))
        return sorted(two.at_s - one.at_s for one, two, *_ in (d for d in drawn if len(d) > 1))

    steady, bursty = gaps(POISSON), gaps(parse_law("weibull:0.6"))
    assert bursty[len(bursty) // 10] < steady[len(steady) // 10]
    assert bursty[-20] > steady[-20]


def test_scenarios_of_other_names_meet_other_failures() -> None:
    first, second = (draw(POISSON, 20.0, 60.0, 8, 1, name)[0] for name in ("one", "two"))
    assert first != second
    assert first == draw(POISSON, 20.0, 60.0, 8, 1, "one")[0]


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("poisson", POISSON),
        (" Weibull:0.75 ", Law(Arrivals.WEIBULL, 0.75)),
        ("weibull:0.7123456789", Law(Arrivals.WEIBULL, 0.7123456789)),
    ],
)
def test_laws_read_and_written(text: str, law: Law) -> None:
    assert parse_law(text) == law
    assert parse_law(law.in_words()) == law


def test_laws_are_written_in_full_and_no_longer() -> None:
    words = [Law(Arrivals.WEIBULL, shape).in_words() for shape in (1.0, 0.7, 0.7123456789, 2 / 3)]
    assert words == [
        *("weibull:1", "weibull:0.7", "weibull:0.7123456789", "weibull:0.6666666666666666")
    ]


@pytest.mark.parametrize(
    "text", ["", "gamma", "weibull", "weibull:", "weibull:0", "weibull:nan", "poisson:2", "9" * 99]
)
def test_what_is_no_law(text: str) -> None:
    with pytest.raises(
        UserError, match=r"write poisson, or weibull:SHAPE with a shape from 0\.3 to"
    ):
        parse_law(text)
