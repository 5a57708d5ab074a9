"""Timeouts learned from gaps: how often a living rank would exceed them, by the gaps' own law."""

import math
import random
import statistics
from collections.abc import Callable

import pytest

from measure.monitors.timeouts import LEAST_GAPS, fitted_tail, learned_timeout_s
from tests.measure.monitors.many import HUNDRED_OR_THOUSAND

GAPS = 1000


def _normal_tail(x: float) -> float:
    return 0.5 * math.erfc(x / math.sqrt(2.0))


Law = tuple[Callable[[random.Random], float], Callable[[float], float]]
LAWS: dict[str, Law] = {
    # A beat of 0.1 s, and what a scheduler adds: (how a gap is drawn, how often one is longer).
    "normal": (
        lambda drawn: max(0.0, drawn.gauss(0.1, 0.01)),
        lambda t: _normal_tail((t - 0.1) / 0.01),
    ),
    "exponential": (
        lambda drawn: 0.1 + drawn.expovariate(50.0),
        lambda t: math.exp(-50.0 * (t - 0.1)),
    ),
    "lognormal": (
        lambda drawn: 0.1 * drawn.lognormvariate(0.0, 0.5),
        lambda t: _normal_tail(math.log(t / 0.1) / 0.5),
    ),
    "Pareto": (
        lambda drawn: 0.1 * drawn.paretovariate(4.0),
        lambda t: (0.1 / t) ** 4.0,
    ),
}


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("probability", [1e-3, 1e-5])
@pytest.mark.parametrize("count", HUNDRED_OR_THOUSAND)
def test_the_stated_probability_is_kept(name: str, probability: float, count: int) -> None:
    """In the middle of many histories of 1,000 gaps each; and nine in ten are within two orders of
    magnitude, which is how far a tail can be carried on."""
    draw, tail = LAWS[name]
    exceeded = []
    for seed in range(count):
        drawn = random.Random(seed)
        timeout_s = learned_timeout_s([draw(drawn) for _ in range(GAPS)], probability)
        exceeded.append(tail(timeout_s))
    middle, nine_tenths = statistics.median(exceeded), sorted(exceeded)[int(0.9 * count)]
    print(f"\n{name}, {probability:g} stated: median {middle:.2g}, nine tenths {nine_tenths:.2g}")
    assert middle <= 3.0 * probability
    assert nine_tenths <= 100.0 * probability


def test_a_smaller_probability_takes_a_longer_timeout() -> None:
    drawn = random.Random(1)
    gaps_s = [0.1 + drawn.expovariate(50.0) for _ in range(GAPS)]
    found = [learned_timeout_s(gaps_s, 10.0**-n) for n in range(2, 10)]
    assert found == sorted(found)
    assert found[0] >= max(gaps_s)
    assert found[-1] < 10.0 * max(gaps_s)  # a tail that falls fast is not made a long one


def test_gaps_that_are_all_alike_give_themselves() -> None:
    assert learned_timeout_s([0.1] * LEAST_GAPS, 1e-6) == pytest.approx(0.1)


def test_the_tail_of_an_exponential_law_has_no_shape() -> None:
    drawn = random.Random(3)
    excesses_s = sorted(drawn.expovariate(10.0) for _ in range(20_000))
    shape, scale_s = fitted_tail(excesses_s)
    assert shape == pytest.approx(0.0, abs=0.03)
    assert scale_s == pytest.approx(0.1, rel=0.05)


@pytest.mark.parametrize(
    ("gaps_s", "probability", "said"),
    [
        ([0.1] * 10, 1e-3, "10 gaps are too few: 200 or more"),
        ([0.1] * 500 + [math.nan], 1e-3, "a gap must be a finite time"),
        ([0.1] * 500 + [-1.0], 1e-3, "a gap must be a finite time"),
        ([0.1] * 500, 0.0, "the probability of a false alarm must be above 0 and below 0.1"),
        ([0.1] * 500, 0.5, "the probability of a false alarm must be above 0 and below 0.1"),
    ],
)
def test_what_cannot_be_learned_from_is_refused(
    gaps_s: list[float], probability: float, said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        learned_timeout_s(gaps_s, probability)
