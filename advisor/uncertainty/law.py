"""What a measured number may truly be: its law, and draws from it.

symbol  name here            unit             meaning
v       value                of the quantity  what was measured: the mean of its runs
s       standard_error       of the quantity  of that mean (spread.py)
z       off                  1                by how many standard errors the number is off
T                            1                Student-t with the spread's degrees of freedom
x       value_at             of the quantity  what the number then is

Durations and rates are above 0, and what is priced may divide by them. They are drawn on a log
scale: log(x / v) = asinh(z s / v) with z = T, which is (x / v - v / x) / 2 = T s / v. The median is
the measured mean, and x / v and v / x have the same law, so that it makes no difference whether a
rate or the time it takes was printed. Where s is small against v that is v + s T. The law is of the
family of Birnbaum and Saunders (1969) (sinh-normal: Rieck and Nedelman 1991). exp(T s / v), the log
Student-t, has no mean at any degrees of freedom; here neither x nor 1 / x has a longer tail than T.

An overhead is a ratio less 1, measured as a difference and off by as much whatever it is: v + s T,
as long as that is above 0, since no mechanism makes a training faster. Leaving out the rest is the
posterior of a flat prior above 0; to take the rest as 0 would give a mechanism that nobody measured
well a chance of costing nothing. An overhead that was measured below 0 is drawn without that
condition, which it breaks by itself.

`_TAIL` of the probability is left out at either end, so that expectations exist with one degree of
freedom too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr, stdtrit

from advisor.uncertainty.spread import Spread
from db.records import Quantity

DRAWS = 1_024
SEED = 0
_TAIL = 5e-4
_WIDEST = 1e3
"""Standard errors, in values, up to which a number has a scale of its own; what is beyond is as
good as 0, and is drawn as an overhead is."""
_LEAST = 1e-12
"""Of the value: no number that is above 0 is drawn below this share of it."""

Key = tuple[str, Quantity]
"""Which number: the operating point or published calibration, and the quantity."""


@dataclass(frozen=True, slots=True)
class UncertainValue:
    """A measured number, and how far it may be off."""

    key: Key
    value: float
    n: int | None
    spread: Spread

    @property
    def is_on_log_scale(self) -> bool:
        return (
            self.key[1] is not Quantity.OVERHEAD
            and self.value > 0.0
            and self.spread.standard_error <= _WIDEST * self.value
        )


def name_of(value: UncertainValue) -> int:
    """A number that stands for the value's name, the same on every machine."""
    return crc32(f"{value.key[0]}|{value.key[1].value}".encode())


def deviations(
    values: Sequence[UncertainValue], seed: int = SEED, draws: int = DRAWS
) -> NDArray[np.float64]:
    """[value, draw]: by how many standard errors each value is off.

    Each value gets its draws from the seed and its own name, so that they are the same for every
    candidate and in every question (common random numbers), whatever else is drawn. The draws of
    one value are a Latin hypercube sample (McKay, Beckman and Conover 1979): one from each of as
    many equally probable parts of its law, in random order.
    """
    found = np.empty((len(values), draws))
    for row, value in enumerate(values):
        rng = np.random.default_rng([seed, name_of(value)])
        found[row] = quantiles(value, (rng.permutation(draws) + rng.random(draws)) / draws)
    return found


def quantiles(value: UncertainValue, share: NDArray[np.float64]) -> NDArray[np.float64]:
    """The z below which the value's law has these shares of what is drawn of it."""
    spread, low = value.spread, _TAIL
    is_normal = np.isinf(spread.degrees)
    if not value.is_on_log_scale and value.value >= 0.0:
        at_0 = -value.value / spread.standard_error
        low = max(low, float(ndtr(at_0) if is_normal else stdtr(spread.degrees, at_0)))
    drawn = low + (1.0 - _TAIL - low) * share
    return np.asarray(ndtri(drawn) if is_normal else stdtrit(spread.degrees, drawn))


def value_at(value: UncertainValue, off: NDArray[np.float64]) -> NDArray[np.float64]:
    """What the number is where it is off by so many standard errors."""
    error = value.spread.standard_error
    if value.is_on_log_scale:
        return np.asarray(value.value * np.exp(np.arcsinh(off * (error / value.value))))
    found = value.value + error * off
    return found if value.value < 0.0 else np.maximum(found, _LEAST * value.value)
