"""Means and intervals, from the standard library alone."""

import math
import statistics
from collections.abc import Sequence
from typing import Any

# Student's t, 97.5 %, by degrees of freedom; beyond the last, by 1 / df between it and 1.960.
_T = (
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
)  # fmt: skip
_T_NORMAL = 1.960


def student_t(degrees: int) -> float:
    """The 97.5 % quantile of Student's t, to 0.2 %."""
    if degrees <= len(_T):
        return _T[degrees - 1]
    return _T_NORMAL + (_T[-1] - _T_NORMAL) * len(_T) / degrees


def ci95_half_width(values: Sequence[float]) -> float | None:
    """Half the 95 % interval of the mean (Student's t); None for fewer than two values."""
    if len(values) < 2:
        return None
    return student_t(len(values) - 1) * statistics.stdev(values) / math.sqrt(len(values))


def summary(values: Sequence[float]) -> dict[str, Any]:
    """n, median, mean, 95th percentile (nearest rank) and interval of at least one value."""
    ordered = sorted(values)
    return {
        "n": len(ordered),
        "median": statistics.median(ordered),
        "mean": statistics.fmean(ordered),
        "p95": ordered[math.ceil(0.95 * len(ordered)) - 1],
        "ci95_half_width": ci95_half_width(ordered),
    }
