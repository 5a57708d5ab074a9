"""Laws as a person names them, and the gaps that they stand for."""

import numpy as np
import pytest

from advisor.arrivals import Law
from advisor.errors import UserError
from advisor.simulation.laws import GapLaw, LognormalLaw, ObservedLaw, gaps, parse_gap_law
from advisor.simulation.times import Empirical, Exponential, Lognormal, Weibull
from db.records import Arrivals


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("poisson", Law(Arrivals.POISSON)),
        (" Weibull:0.7 ", Law(Arrivals.WEIBULL, 0.7)),
        ("lognormal:1.2", LognormalLaw(1.2)),
        ("LOGNORMAL:2", LognormalLaw(2.0)),
        ("lognormal:.1", LognormalLaw(0.1)),
        ("lognormal:1.23456789", LognormalLaw(1.23456789)),
        ("weibull:0.1234567890123e1", Law(Arrivals.WEIBULL, 1.234567890123)),
    ],
)
def test_names(text: str, law: Law | LognormalLaw) -> None:
    assert parse_gap_law(text) == law
    assert parse_gap_law(law.in_words()) == law


@pytest.mark.parametrize(
    "text",
    [
        *("", "often", "poisson:1", "weibull", "weibull:0.1", "lognormal", "lognormal:"),
        *("lognormal:0", "lognormal:-1", "lognormal:2.1", "lognormal:nan", "lognormal:wide"),
        "lognormal:" + "1" * 5000,
    ],
)
def test_what_is_no_law(text: str) -> None:
    with pytest.raises(UserError, match="is not a law of arrivals: write poisson, weibull") as said:
        parse_gap_law(text)
    assert "lognormal:SIGMA with a sigma from 0.1 to 2, or file:PATH" in str(said.value)
    assert len(str(said.value)) < 250


@pytest.mark.parametrize(
    ("law", "times"),
    [
        (Law(Arrivals.POISSON), Exponential(7200.0)),
        (Law(Arrivals.WEIBULL, 0.7), Weibull(7200.0, 0.7)),
        (LognormalLaw(1.2), Lognormal(7200.0, 1.2)),
        (ObservedLaw("gaps.txt", (1.0, 2.0, 9.0)), Empirical((1800.0, 3600.0, 16200.0))),
    ],
)
def test_gaps_have_the_mtbf_as_their_mean(law: GapLaw, times: object) -> None:
    found = gaps(law, 7200.0)
    assert found == times
    assert found.mean_s == pytest.approx(7200.0)


def test_observed_gaps_keep_their_pattern() -> None:
    law = ObservedLaw("gaps.txt", (60.0, 60.0, 60.0, 6000.0))
    assert (law.mean_s, law.in_words()) == (1545.0, "file:gaps.txt")
    drawn = gaps(law, 3090.0).draw(np.random.default_rng(1), 20_000)
    assert set(np.round(drawn, 6)) == {120.0, 12_000.0}
    assert float(np.mean(drawn == drawn.max())) == pytest.approx(0.25, abs=0.02)
