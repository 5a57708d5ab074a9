"""A heartbeat's timeout, learned from the gaps between beats. Pure; stdlib only.

Too short a timeout takes a busy rank for a dead one; too long a one keeps everybody waiting. What
is wanted is a gap that a living rank exceeds with a stated probability, which is far smaller than
anything that was observed: gaps above a high quantile u follow, whatever the gaps' own law, nearly
a generalised Pareto distribution (Pickands 1975), whose tail is carried on from there.

    P(gap > t) = q (1 + xi (t - u) / sigma)^(-1/xi)          q: the share of gaps above u
    t(p)       = u + sigma / xi ((p / q)^-xi - 1)            xi = 0: u + sigma ln(q / p)

Shape xi and scale sigma come from probability-weighted moments of the excesses (Hosking and Wallis
1987): a0 is their mean, a1 the mean of (1 - F) x.
"""

import math
import statistics
from collections.abc import Sequence

LEAST_GAPS = 200
"""Fewer say too little of the tail."""
_TAIL = 0.1
"""The share of gaps that the tail is fitted to."""
_LARGEST_SHAPE = 0.9
"""Tails of a shape from 1 on have no mean."""


def learned_timeout_s(gaps_s: Sequence[float], false_alarm_probability: float) -> float:
    """The gap (seconds) that one gap of a living rank exceeds with this probability.

    `gaps_s` are observed times between two beats, seconds. Never shorter than the longest of them.
    ValueError for fewer than LEAST_GAPS gaps, a gap that is negative or not finite, or a
    probability that is not between 0 and the tail's share.
    """
    if len(gaps_s) < LEAST_GAPS:
        raise ValueError(f"{len(gaps_s)} gaps are too few: {LEAST_GAPS} or more say what is usual")
    if not all(math.isfinite(gap) and gap >= 0.0 for gap in gaps_s):
        raise ValueError("a gap must be a finite time, from 0 on")
    if not 0.0 < false_alarm_probability < _TAIL:
        raise ValueError(f"the probability of a false alarm must be above 0 and below {_TAIL}")
    ordered = sorted(gaps_s)
    count = math.ceil(_TAIL * len(ordered))
    begin_s = ordered[-count - 1]
    excesses_s = [gap - begin_s for gap in ordered[-count:]]
    shape, scale_s = fitted_tail(excesses_s)
    share = count / len(ordered) / false_alarm_probability
    beyond_s = scale_s * (math.log(share) if shape == 0.0 else (share**shape - 1.0) / shape)
    return max(begin_s + beyond_s, ordered[-1])


def fitted_tail(excesses_s: Sequence[float]) -> tuple[float, float]:
    """(xi, sigma in seconds) of ordered excesses, by probability-weighted moments. Never a shape
    below 0, which would say that no gap can be longer than some limit."""
    count = len(excesses_s)
    mean_s = statistics.fmean(excesses_s)
    weighted_s = statistics.fmean(
        (count - 1 - n) / (count - 1) * excess_s for n, excess_s in enumerate(excesses_s)
    )
    if mean_s <= 0.0:
        return 0.0, 0.0
    shape = 2.0 - mean_s / (mean_s - 2.0 * weighted_s) if mean_s > 2.0 * weighted_s else 0.0
    shape = min(max(shape, 0.0), _LARGEST_SHAPE)
    return shape, mean_s * (1.0 - shape)
