"""A distribution in bounded memory: exact mean and variance, quantiles to a stated precision."""

from math import ceil, exp, inf, log, log1p, sqrt

import numpy as np
from scipy.special import stdtrit

from advisor.simulation.times import Seconds

PRECISION = 2e-4
"""Quantiles are that close, relative to what lies above the least value."""
_WIDTH = log1p(PRECISION)
"""Of a bin, in the logarithm of the excess over the least, in times of it."""
_SMALLEST, _LARGEST = 1e-9, 1e6
"""Excesses up to the smallest share the first bin, those from the largest on the last one."""


class Sketch:
    """Takes values of at least `least` above zero, block by block, in any number.

    About 1.4 MB, for any number. Quantiles are bins' upper ends: below the true by rounding only,
    above by at most `PRECISION` of the excess over `least`; in the last bin the largest value.
    """

    def __init__(self, least: float) -> None:
        self._least = least
        self._bins = np.zeros(ceil(log(_LARGEST / _SMALLEST) / _WIDTH) + 2, dtype=np.int64)
        self.count = 0
        self.mean = 0.0
        self.largest = -inf
        self._squares = 0.0

    def add(self, values: Seconds) -> None:
        """A block of values, at least one, joined to the others as by Chan et al. (1979)."""
        count, mean = values.size, float(values.mean())
        apart, together = mean - self.mean, self.count + count
        squares = float(np.square(values - mean).sum())
        self._squares += squares + apart * apart * self.count * count / together
        self.mean += apart * count / together
        self.count = together
        self.largest = max(self.largest, float(values.max()))
        excess = np.maximum(values / self._least - 1.0, _SMALLEST)
        places = np.minimum(np.log(excess / _SMALLEST) / _WIDTH + 1.0, self._bins.size - 1.0)
        places = np.where(excess > _SMALLEST, places, 0.0).astype(np.int64)
        self._bins += np.bincount(places, minlength=self._bins.size)

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of the mean; infinity with one value."""
        if self.count < 2:
            return inf
        free = self.count - 1
        return float(stdtrit(free, 0.975)) * sqrt(self._squares / free / self.count)

    def quantile(self, share: float) -> float:
        """The least value that at least this share of the values (above 0, at most 1) is up to."""
        place = int(np.searchsorted(np.cumsum(self._bins), share * self.count))
        if place >= self._bins.size - 1:
            return self.largest
        return min(self._least * (1.0 + _SMALLEST * exp(_WIDTH * place)), self.largest)
