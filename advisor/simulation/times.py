"""Distributions of times, in seconds: gaps between failures, leads of warnings, repairs.

`draw` gives whole times. `left` gives what is left of one that began before the job did: longer
ones are met more often (the equilibrium of a renewal process), as in advisor/arrivals.py.
"""

from dataclasses import dataclass
from math import exp, gamma
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


@dataclass(frozen=True, slots=True)
class Constant:
    """Always the same."""

    mean_s: float

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return np.full(count, self.mean_s)

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        return self.mean_s * random.random(count)


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

    @property
    def _median_s(self) -> float:
        return self.mean_s * exp(-0.5 * self.sigma * self.sigma)


@dataclass(frozen=True, slots=True)
class Empirical:
    """Times that were observed, each as likely as the others. Raises UserError without any."""

    observed_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.observed_s or not all(0.0 < each < np.inf for each in self.observed_s):
            raise UserError("observed times have to be above zero, and there has to be one")

    @property
    def mean_s(self) -> float:
        return float(np.mean(self.observed_s))

    def draw(self, random: np.random.Generator, count: int) -> Seconds:
        return random.choice(np.asarray(self.observed_s), count)

    def left(self, random: np.random.Generator, count: int) -> Seconds:
        times = np.asarray(self.observed_s)
        return random.choice(times, count, p=times / times.sum()) * random.random(count)
