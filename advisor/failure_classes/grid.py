"""Settings to try: intervals of checks and saves that are whole multiples of each other. Pure."""

import itertools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Steps = NDArray[np.float64]
"""Whole numbers of steps, as floats."""

_BASES = 96
_MOST = 40_000
"""Settings tried at once; more monitors get fewer multiples each."""
_FEWEST_RATIOS, _MOST_RATIOS = 6, 160
_LONGEST_RATIO = 100_000
_BESIDE = 1.4
"""How far beside a setting its neighbours lie, as a factor."""
_MOST_BESIDE = 61


def settings_between(fixed: Sequence[int | None], longest: float) -> tuple[Steps, ...]:
    """One array a setting, all of one length: every row is a setting of all of them together.

    `fixed` says which are given, in the order of rising intervals; each is a whole multiple of the
    one before, and at most `longest`. Empty where what is given does not fit together.
    """
    free = sum(each is None for each in fixed)
    bases = _whole_between(1.0, longest, _BASES)
    each_ratios = int((_MOST / len(bases)) ** (1.0 / max(free - 1, 1)))
    count = min(max(each_ratios, _FEWEST_RATIOS), _MOST_RATIOS)
    ratios = _whole_between(1.0, min(float(_LONGEST_RATIO), longest), count)
    return _rows(fixed, longest, bases, [ratios] * (len(fixed) - 1))


def settings_beside(
    fixed: Sequence[int | None], longest: float, best: Sequence[float]
) -> tuple[Steps, ...]:
    """The same of settings near to the best so far."""
    bases = _beside(best[0], _MOST_BESIDE if len(best) < 3 else _MOST_BESIDE // 2)
    ratios = [_beside(b / a, 9) for a, b in itertools.pairwise(best)]
    return _rows(fixed, longest, bases, ratios)


def _rows(
    fixed: Sequence[int | None], longest: float, bases: Steps, ratios: Sequence[Steps]
) -> tuple[Steps, ...]:
    given = [each for each in fixed if each is not None]
    first = fixed[0]
    if first is not None:
        rows = [np.array([float(first)])]
    else:
        rows = [_divisors(given[0]) if given else bases]
    for index in range(1, len(fixed)):
        value = fixed[index]
        later = [each for each in fixed[index:] if each is not None]
        if value is not None:
            whole = np.mod(float(value), rows[-1]) == 0.0
            rows = [row[whole] for row in rows]
            rows.append(np.full(rows[-1].shape, float(value)))
            continue
        factors = _divisors(later[0]) if later else ratios[index - 1]
        last = np.outer(rows[-1], factors).ravel()
        rows = [np.repeat(row, len(factors)) for row in rows]
        fits = last <= longest
        if later:
            fits &= np.mod(float(later[0]), last) == 0.0
        rows = [row[fits] for row in (*rows, last)]
    fits = rows[-1] <= max(longest, 1.0)
    return tuple(row[fits] for row in rows)


def _whole_between(low: float, high: float, count: int) -> Steps:
    """About so many whole numbers, at equal ratios."""
    return np.unique(np.round(np.geomspace(low, max(high, low), count)))


def _beside(value: float, count: int) -> Steps:
    low, high = max(np.floor(value / _BESIDE), 1.0), np.ceil(value * _BESIDE)
    near = np.arange(max(value - 2.0, 1.0), value + 3.0)
    return np.unique(np.concatenate([_whole_between(low, high, count), near]))


def _divisors(value: int) -> Steps:
    small = np.arange(1.0, min(np.sqrt(value), 1e6) + 1.0)
    small = small[np.mod(float(value), small) == 0.0]
    return np.unique(np.concatenate([small, float(value) / small]))
