"""Distributions of times, in seconds: gaps between failures, leads of warnings, repairs.

`draw` gives whole times. `left` gives what is left of one that began before the job did: longer
ones are met more often (the equilibrium of a renewal process), as in advisor/arrivals.py.
`at_least` is the share of the whole times that are as long as that or longer.
"""

from dataclasses import dataclass
from functools import cached_property
from math import erfc, exp, gamma, log, sqrt
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from advisor.errors import UserError

Seconds = NDArray[np.float64]


class Times(Protocol):
    """A distribution of times above zero."""

    @property
    def mean_s(self) -> float: ...

    def draw(self, random: np.random.Generator, count: int) -> Seconds: ...

    def left(self, random: np.random.Generator, count: int) -> Seconds: ...

    def at_least(self, least_s: float) -> float: ...


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same."""

    mean_s: float

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return np.full(count, self.mean_s)

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        return self.mean_s * random.random(count)

    def at_least(self, least_s: float) -> float:
        return float(self.mean_s >= least_s)


@dataclass(frozen=True, slots=True)
class Exponential:
    """Memoryless: a Poisson process."""

    mean_s: float

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        drawn = random.standard_exponential(count)
        drawn *= self.mean_s
        return drawn

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        return self.draw(random, count)

    def at_least(self, least_s: float) -> float:
        return exp(-max(least_s, 0.0) / self.mean_s)


@dataclass(frozen=True, slots=True)
class Weibull:
    """With a shape below 1 short times and very long ones: bursts and quiet spells."""

    mean_s: float
    shape: float

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return self._scale_s * random.standard_exponential(count) ** (1.0 / self.shape)

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        met = random.standard_gamma(1.0 + 1.0 / self.shape, count) ** (1.0 / self.shape)
        return self._scale_s * met * random.random(count)

    def at_least(self, least_s: float) -> float:
        return exp(-((max(least_s, 0.0) / self._scale_s) ** self.shape))

    @property
    def _scale_s(self) -> float:
        return self.mean_s / gamma(1.0 + 1.0 / self.shape)


@dataclass(frozen=True, slots=True)
class Lognormal:
    """`sigma` is the standard deviation of the logarithm."""

    mean_s: float
    sigma: float

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return self._median_s * np.exp(self.sigma * random.standard_normal(count))

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        # Weighed by its length, it is lognormal again, with a median that is larger by sigma^2.
        met = self._median_s * np.exp(
            self.sigma * random.standard_normal(count) + self.sigma * self.sigma
        )
        return met * random.random(count)

    def at_least(self, least_s: float) -> float:
        if least_s <= 0.0:
            return 1.0
        return 0.5 * erfc(log(least_s / self._median_s) / (self.sigma * sqrt(2.0)))

    @property
    def _median_s(self) -> float:
        return self.mean_s * exp(-0.5 * self.sigma * self.sigma)


@dataclass(frozen=True)
class Empirical:
    """Times that were observed, each as likely as the others. Raises UserError without any."""

    observed_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.observed_s or not all(0.0 < each < np.inf for each in self.observed_s):
            raise UserError("observed times have to be above zero, and there has to be one")

    @property
    def mean_s(self) -> float:
        return float(self._times.mean())

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return random.choice(self._times, count)

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        times = self._times
        return random.choice(times, count, p=times / times.sum()) * random.random(count)

    def at_least(self, least_s: float) -> float:
        return float(np.mean(self._times >= least_s))

    @cached_property
    def _times(self) -> Seconds:
        """Made once: there can be many of them, and a draw for each failure."""
        return np.asarray(self.observed_s, dtype=np.float64)
