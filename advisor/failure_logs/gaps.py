"""Times between failures: the shape of a Weibull law, and how much they scatter. Pure.

Survival to x is exp(-(x/s)^k), given that x is longer than t (shorter gaps were merged), so the log
likelihood of r gaps x and of open ones c (the time since the last failure) is

    r log k - r log(A/r) + (k-1) sum(log x) - r,   A = sum(x^k - t^k) + sum(c^k - t^k)

at the best scale s^k = A/r for each k. The interval holds every k whose log likelihood is at most
1.92 below the largest (likelihood ratio, 95 %). Shape 1: memoryless, as Eq. (5) has it; below 1:
bursts with long quiet times between.
W. Weibull, J. Appl. Mech. 18, 1951; W. Meeker and L. Escobar, Statistical Methods for Reliability
Data, 1998, chapters 8 and 11.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

FEWEST = 5
"""Gaps that a shape is fitted to at least."""
_SHAPES = (0.02, 50.0)
_RATIO = 1.9207  # half of the 95 % point of chi2 with one degree of freedom


@dataclass(frozen=True, slots=True)
class Weibull:
    """A fitted shape (a plain number) with its 95 % interval."""

    n: int
    shape: float
    low: float
    high: float

    @property
    def bursts(self) -> bool:
        """Whether all shapes in the interval lie below 1."""
        return self.high < 1.0


def weibull(
    gaps_s: Sequence[float], open_s: Sequence[float] = (), merged_below_s: float = 0.0
) -> Weibull | None:
    """The fit; None with fewer than FEWEST gaps above `merged_below_s`, or all the same.

    Gaps of 0 are left out: they have no likelihood under this law (`variation` counts them).
    """
    gaps = np.asarray([x for x in gaps_s if x > merged_below_s], dtype=float)
    if len(gaps) < FEWEST or float(np.ptp(gaps)) == 0.0:
        return None
    unit = float(gaps.max())
    logs = np.log(gaps / unit)
    n, sum_logs = len(gaps), float(logs.sum())
    later = [x for x in open_s if x > merged_below_s]
    all_logs = np.concatenate([logs, np.log(np.asarray(later, dtype=float) / unit)])
    floor = log(merged_below_s / unit) if merged_below_s > 0.0 else None

    def likelihood(log_shape: float) -> float:
        shape = exp(log_shape)
        with np.errstate(over="ignore"):  # as unlikely as it gets: an infinite total says so
            total = float(np.exp(shape * all_logs).sum())
        if floor is not None:
            total -= len(all_logs) * exp(shape * floor)
        if total <= 0.0:  # gaps that differ from the shortest possible one by rounding only
            return -inf
        return n * log_shape - n * log(total / n) + (shape - 1.0) * sum_logs

    low, high = log(_SHAPES[0]), log(_SHAPES[1])
    best = _highest(likelihood, low, high)
    least = likelihood(best) - _RATIO
    return Weibull(
        n,
        exp(best),
        exp(_where(likelihood, least, low, best)),
        exp(_where(likelihood, least, high, best)),
    )


def variation(gaps_s: Sequence[float]) -> float | None:
    """Coefficient of variation: standard deviation / mean, 1 for a memoryless law.

    None with fewer than two gaps.
    """
    if len(gaps_s) < 2 or sum(gaps_s) == 0.0:
        return None
    gaps = np.asarray(gaps_s, dtype=float)
    return float(gaps.std(ddof=1) / gaps.mean())


def _highest(function: Callable[[float], float], low: float, high: float) -> float:
    """Where a function with one top is highest, by golden section."""
    ratio = 0.6180339887498949
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    while high - low > 1e-6:
        if at_a >= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return (low + high) / 2.0


def _where(function: Callable[[float], float], value: float, far: float, top: float) -> float:
    """Between `far` and the top, where the function takes the value; `far` if nowhere."""
    if function(far) >= value:
        return far
    near = top
    while abs(far - near) > 1e-6:
        middle = (far + near) / 2.0
        if function(middle) >= value:
            near = middle
        else:
            far = middle
    return near
