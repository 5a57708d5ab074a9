"""The Pareto frontier: which points no other point beats on every axis. Lower is better.

Definitions (the usual ones for minimisation): a dominates b if a is at most b on every axis and
less on at least one. Equal points do not dominate each other, so duplicates stay together, on the
frontier or off it. Infinity is an ordinary worst value (two infinities are equal). A point with a
missing value (NaN here, NULL in the database) cannot be compared: it is neither on the frontier
nor dominated.

The kernel is moocore's (C, O(n log n) up to three axes); dominators are named here, in
O(dominated x frontier) worst case, chunked.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

NO_DOMINATOR = -1
_CELLS_PER_CHUNK = 4_000_000


@dataclass(frozen=True, slots=True)
class ParetoFront:
    """Masks over the rows of the input; every row is in exactly one of the three."""

    is_front: NDArray[np.bool_]
    is_dominated: NDArray[np.bool_]
    is_not_comparable: NDArray[np.bool_]


def pareto_front(points: NDArray[np.float64]) -> ParetoFront:
    """Classifies the rows of `points` (n x axes). Raises ValueError unless it is 2-D."""
    points = np.asarray(points, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] == 0:
        raise ValueError(f"points are rows of axes; the shape is {points.shape}")
    missing = np.asarray(np.isnan(points).any(axis=1), dtype=np.bool_)
    if missing.any():
        front = np.zeros(len(points), dtype=np.bool_)
        front[~missing] = _nondominated(points[~missing])
    else:
        front = _nondominated(points)
    return ParetoFront(front, ~front & ~missing, missing)


def dominators(points: NDArray[np.float64], front: ParetoFront) -> NDArray[np.int64]:
    """For each dominated row, the first frontier row that dominates it; -1 for all others.

    A dominated point always has a dominator on the frontier: domination is transitive and the
    set finite.
    """
    points = np.asarray(points, dtype=np.float64)
    named = np.full(len(points), NO_DOMINATOR, dtype=np.int64)
    members, losers = np.flatnonzero(front.is_front), np.flatnonzero(front.is_dominated)
    if not len(members):
        return named
    rows = max(1, _CELLS_PER_CHUNK // (len(members) * points.shape[1]))
    for start in range(0, len(losers), rows):
        part = losers[start : start + rows]
        beats = _dominates(points[members][None, :, :], points[part][:, None, :])
        named[part] = members[np.argmax(beats, axis=1)]
    return named


def _dominates(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.bool_]:
    return np.asarray((a <= b).all(axis=-1) & (a < b).any(axis=-1), dtype=np.bool_)


def _nondominated(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    if len(points) <= 1:
        return np.ones(len(points), dtype=np.bool_)
    if np.isinf(points).any():
        points = _as_ranks(points)
    # Imported here: a caller that never asks for a frontier does not pay for the library.
    import moocore

    mask: NDArray[np.bool_] = moocore.is_nondominated(points, keep_weakly=True)
    return mask


def _as_ranks(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Same order on every axis, without infinities, which the kernel does not promise to take."""
    ranks = [np.unique(column, return_inverse=True)[1] for column in points.T]
    return np.stack(ranks, axis=1).astype(np.float64)
