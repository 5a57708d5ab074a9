"""The MTBF at which two candidates finish at the same time.

symbol   name here          unit  meaning
O_a      overhead           1     steady-state overhead of a
C_a      per_failure_s      s     all that a failure costs under a: T_det + T_rec + T_lost
M        mtbf_s             s     the unknown

With both intervals held, Eq. (5) gives (1 + O_a)(M + C_a) = (1 + O_b)(M + C_b), so

    M = ((1 + O_b) C_b - (1 + O_a) C_a) / (O_a - O_b)                       (exact)
    M = (C_a - C_b) / (O_b - O_a) = dC / dO                                 (the paper's shortcut)

The shortcut leaves out that the number of failures grows with (1 + O) too. With the interval
free, each candidate is re-optimised at every M and the crossing is found numerically.
"""

from dataclasses import dataclass, replace
from math import isfinite

import numpy as np

from advisor.changes import changes_along, halved
from advisor.optimizer import Conditions, CostModel, evaluate

_SEARCH_FROM_S, _SEARCH_TO_S = 1e-2, 1e10
_GRID = 1_201
_TOLERANCE = 1e-12
"""How closely (relative) a re-optimised crossing is known."""


@dataclass(frozen=True, slots=True)
class HeldCost:
    """A candidate with everything held but the MTBF."""

    overhead: float
    per_failure_s: float


@dataclass(frozen=True, slots=True)
class Crossing:
    """`mtbf_s` None: they never cross. `a_wins_below`: at MTBFs below it (without one: always).

    `a_wins_below` None: there is no MTBF at which both are within the limits.
    """

    mtbf_s: float | None
    a_wins_below: bool | None


def held_crossing(a: HeldCost, b: HeldCost) -> Crossing:
    """The exact crossing of Eq. (5), with both intervals held."""
    slope = a.overhead - b.overhead
    offset = (1.0 + b.overhead) * b.per_failure_s - (1.0 + a.overhead) * a.per_failure_s
    if slope == 0.0:
        return Crossing(None, offset > 0.0)
    mtbf_s = offset / slope
    if mtbf_s <= 0.0 or not isfinite(mtbf_s):
        return Crossing(None, slope < 0.0)
    return Crossing(mtbf_s, offset > 0.0)


def shortcut_mtbf_s(a: HeldCost, b: HeldCost) -> float | None:
    """The paper's dC / dO (section IX); None where it is not a positive number."""
    overhead, cost = b.overhead - a.overhead, a.per_failure_s - b.per_failure_s
    if overhead == 0.0 or cost / overhead <= 0.0:
        return None
    return cost / overhead


def reoptimised_crossing(
    a: CostModel, b: CostModel, conditions: Conditions, near_mtbf_s: float
) -> Crossing:
    """The crossing nearest to `near_mtbf_s` (in ratio) when both intervals follow the MTBF.

    Searched between 10 ms and 300 years, on a grid of 100 points a decade, then bisected. Only
    MTBFs at which both are within the overhead limit count.
    """
    grid = np.geomspace(_SEARCH_FROM_S, _SEARCH_TO_S, _GRID)
    gap = _gap(a, b, conditions, grid)
    known = np.isfinite(gap)
    if not known.any():
        return Crossing(None, None)
    changes = np.flatnonzero(known[:-1] & known[1:] & (np.sign(gap[:-1]) * np.sign(gap[1:]) < 0))
    if not len(changes):
        return Crossing(None, bool(np.nanmedian(gap[known]) < 0.0))
    at = changes[np.argmin(np.abs(np.log(grid[changes] / near_mtbf_s)))]
    around = [float(grid[at]), float(grid[at + 1])]
    first, *_ = changes_along(
        lambda mtbf_s: bool(_gap(a, b, conditions, np.asarray([mtbf_s]))[0] < 0.0),
        around,
        halved(_TOLERANCE),
        [bool(gap[at] < 0.0), bool(gap[at + 1] < 0.0)],
    )
    return Crossing(0.5 * (first.low + first.high), first.before)


def _gap(
    a: CostModel,
    b: CostModel,
    conditions: Conditions,
    mtbf_s: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Relative difference of the expected times: negative where a is faster, NaN where unknown."""
    at = replace(conditions, mtbf_s=mtbf_s)
    expected_a = np.broadcast_to(evaluate(a, at).expected_s, mtbf_s.shape)
    expected_b = np.broadcast_to(evaluate(b, at).expected_s, mtbf_s.shape)
    with np.errstate(invalid="ignore"):
        return np.where(
            np.isfinite(expected_a) & np.isfinite(expected_b), expected_a / expected_b - 1.0, np.nan
        )
