"""How far the mean of a few runs may be from the truth, from what is stored of their dispersion.

symbol  name here   unit             meaning
n       n           1                runs behind the mean
R                   of the quantity  largest less smallest of them; half of it is stored
s       deviation   of the quantity  standard deviation of one run; in a pool a share of the mean
v       degrees     1                degrees of freedom of s; infinite: s is taken as known
d*_n    mean_range  1                with v_n: R / sigma is about d*_n chi_v / sqrt(v)

A half range, (max - min) / 2 of n runs, gives s = R / d*_n with v_n degrees of freedom: d*_n and
v_n are such that d*_n chi_v / sqrt(v) has the mean and the variance of the range of n standard
normal numbers (Patnaik 1950). The half width h of a 95 % interval gives
s = h sqrt(n) / t_0.975,n-1 with v = n - 1. The mean of n runs is then off by s / sqrt(n) times a
Student-t number with v degrees of freedom.

Few runs know their own s badly. The cluster's points together know more: their s^2 of one quantity,
as shares of the mean, are taken to scatter about s0^2 as a scaled inverse chi-square law with v0
degrees of freedom, which is fitted to them by the moments of log s^2 (Smyth 2004, section 6.2), and

    s~^2 = (v0 s0^2 + v s^2) / (v0 + v),    v~ = v0 + v

takes the place of s^2 and v. Where fewer than `_LEAST_POINTS` points have an s, nothing is fitted
and each keeps its own. A single run has none: it takes the root of the points' mean square (weighed
by v), with the sum of their degrees.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, inf, log, pi, sqrt

import numpy as np
from scipy.special import gammaln, ndtr, polygamma, psi, stdtrit

from advisor.characterization import is_same, kept
from advisor.recommendation import SpreadOrigin
from db.records import (
    ClusterEvidence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    OperatingPoint,
    PointOutcome,
    Quantity,
)

_LEAST_POINTS = 3
_NORMAL_95 = 1.959964
"""Half width of a 95 % interval, in standard deviations of a normal distribution."""
_MANY = 1e6
"""So many degrees of freedom are as good as infinitely many."""
MEASURED = frozenset({Evidence.MEASURED, Evidence.MEASURED_ANALYTICAL})


@dataclass(frozen=True, slots=True)
class Spread:
    """How far a mean may be off: `standard_error`, in its own unit, times a Student-t number with
    `degrees` degrees of freedom (inf: a normal number)."""

    standard_error: float
    degrees: float
    origin: SpreadOrigin


@dataclass(frozen=True, slots=True)
class Deviation:
    """Standard deviation of one run, and its degrees of freedom."""

    deviation: float
    degrees: float


@dataclass(frozen=True, slots=True)
class Pool:
    """What a cluster's points know together of one run's deviation, as a share of its mean.

    `mean` is what a point with a single run takes; `prior` (s0, v0) steadies the others' own, None
    where too few points have one.
    """

    mean: Deviation
    prior: Deviation | None


@dataclass(frozen=True, slots=True)
class RangeLaw:
    """The range of n standard normal numbers is about mean_range chi_degrees / sqrt(degrees)."""

    mean_range: float
    degrees: float


def spread_of(found: EvidencedValue, pool: Pool | None) -> Spread | None:
    """How far a measured value may be off; None where nothing at all says it, or it is none."""
    if found.value is None or found.evidence not in MEASURED:
        return None
    if _is_of_pairs(found):
        return Spread((found.dispersion or 0.0) / _NORMAL_95, inf, SpreadOrigin.PAIRS)
    own, runs = own_deviation(found), max(found.n or 1, 1)
    if own is None:
        if pool is None:
            return None
        error = abs(found.value) * pool.mean.deviation / sqrt(runs)
        return Spread(error, pool.mean.degrees, SpreadOrigin.POOLED)
    if pool is None or pool.prior is None or found.value == 0.0:
        return Spread(own.deviation / sqrt(runs), own.degrees, SpreadOrigin.OWN)
    prior = Deviation(abs(found.value) * pool.prior.deviation, pool.prior.degrees)
    both = moderated(own, prior)
    return Spread(both.deviation / sqrt(runs), both.degrees, SpreadOrigin.OWN_AND_POOLED)


def own_deviation(found: EvidencedValue) -> Deviation | None:
    """What a value's own runs say of one of them; None where they do not.

    A half range without n counts as one of two runs, which know least.
    """
    half_width = _half_width(found)
    if half_width is None or _is_of_pairs(found):
        return None
    if found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH:
        runs = found.n or 2
        deviation = half_width * sqrt(runs) / float(stdtrit(runs - 1.0, 0.975))
        return Deviation(deviation, runs - 1.0)
    law = range_law(max(found.n or 2, 2))
    return Deviation(2.0 * half_width / law.mean_range, law.degrees)


def moderated(own: Deviation, prior: Deviation) -> Deviation:
    """s~ and v~: a deviation steadied by what the others know (both in one unit)."""
    if prior.degrees == inf:
        return prior
    degrees = own.degrees + prior.degrees
    squares = own.degrees * own.deviation**2 + prior.degrees * prior.deviation**2
    return Deviation(sqrt(squares / degrees), degrees)


@kept
def pooled_deviation(evidence: ClusterEvidence, quantity: Quantity) -> Pool | None:
    """What the cluster's points know together of a quantity; None where none was repeated.

    Points of one cell that were measured once each, under other faults, repeat one another and
    count as one point of so many runs.
    """
    measured = [
        (point, found)
        for point in evidence.points
        if point.outcome is PointOutcome.COMPLETE
        and (found := point.values.get(quantity)) is not None
        and found.evidence in MEASURED
        and found.value
    ]
    shares = [
        Deviation(own.deviation / abs(found.value or 1.0), own.degrees)
        for _, found in measured
        if (own := own_deviation(found)) is not None and own.deviation > 0.0
    ]
    return pool_of([*shares, *_repeats(measured)])


def pool_of(shares: Sequence[Deviation]) -> Pool | None:
    """The law behind these deviations (shares of the mean, above 0); None without any."""
    if not shares:
        return None
    degrees = sum(each.degrees for each in shares)
    squares = sum(each.degrees * each.deviation**2 for each in shares)
    return Pool(Deviation(sqrt(squares / degrees), degrees), _prior(shares))


def _prior(shares: Sequence[Deviation]) -> Deviation | None:
    """s0 and v0 by the moments of log s^2, whose law has a known mean and variance."""
    if len(shares) < _LEAST_POINTS:
        return None
    half = np.array([each.degrees for each in shares]) / 2.0
    logs = 2.0 * np.log([each.deviation for each in shares]) - psi(half) + np.log(half)
    excess = float(np.var(logs, ddof=1) - np.mean(polygamma(1, half)))
    if excess <= 0.0:
        return Deviation(exp(float(np.mean(logs)) / 2.0), inf)
    half_prior = _inverse_trigamma(excess)
    square = exp(float(np.mean(logs) + psi(half_prior)) - log(half_prior))
    return Deviation(sqrt(square), 2.0 * half_prior)


@lru_cache(maxsize=64)
def range_law(n: int) -> RangeLaw:
    """d*_n and v_n of the range of n >= 2 runs, by integrating the range's distribution.

    P(R <= r) = n * integral of phi(x) (Phi(x + r) - Phi(x))^(n-1) dx.
    """
    x, dx = np.linspace(-9.0, 9.0, 901, retstep=True)
    r, dr = np.linspace(0.0, 16.0, 801, retstep=True)
    density = np.exp(-0.5 * x * x) / sqrt(2.0 * pi)
    within = (ndtr(x + r[:, None]) - ndtr(x)) ** (n - 1)
    beyond = 1.0 - n * float(dx) * (within @ density)
    # Trapezoids: the first integrand starts at 1 and the second at 0, and both end at 0.
    mean = float(dr) * (float(np.sum(beyond)) - 0.5 * float(beyond[0]))
    mean_range = sqrt(2.0 * float(dr) * float(r @ beyond))
    return RangeLaw(mean_range, _increasing_at(_mean_of_chi, mean / mean_range))


def _mean_of_chi(degrees: float) -> float:
    """The mean of chi_v / sqrt(v)."""
    half = degrees / 2.0
    return float(np.exp(gammaln(half + 0.5) - gammaln(half)) / sqrt(half))


def _inverse_trigamma(value: float) -> float:
    return _increasing_at(lambda x: -float(polygamma(1, x)), -value)


def _increasing_at(function: Callable[[float], float], value: float) -> float:
    """Where an increasing function has the value, between 10^-3 and `_MANY`."""
    low, high = 1e-3, _MANY
    for _ in range(80):
        middle = sqrt(low * high)
        if function(middle) < value:
            low = middle
        else:
            high = middle
    return high


def _repeats(
    measured: Sequence[tuple[OperatingPoint, EvidencedValue]],
) -> Iterator[Deviation]:
    """The deviation among the points of each cell that were measured once each.

    A number that several points share, since it is of runs without a fault, counts once.
    """
    cells: dict[tuple[object, ...], list[tuple[int, float]]] = {}
    for point, found in measured:
        if found.value is not None and found.dispersion is None and (found.n or 1) == 1:
            key = (point.architecture, point.mechanism, point.workload, point.interval_steps)
            cells.setdefault(key, []).append((point.state_bytes, found.value))
    for same in cells.values():
        values = np.unique([value for size, value in same if is_same(size, same[0][0])])
        if values.size > 1 and np.mean(values) != 0.0:
            share = float(np.std(values, ddof=1) / abs(np.mean(values)))
            yield Deviation(share, float(values.size - 1))


def _is_of_pairs(found: EvidencedValue) -> bool:
    """Whether a single run says by itself how far it may be off: a 95 % interval of its steps."""
    return (
        found.dispersion is not None
        and found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH
        and found.n == 1
    )


def _half_width(found: EvidencedValue) -> float | None:
    if found.dispersion is not None:
        return found.dispersion
    if found.low is not None and found.high is not None:
        return (found.high - found.low) / 2.0
    return None
