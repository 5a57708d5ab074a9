"""Eq. (5) for a combination of tiers, with false alarms, waits for spares and restarts. Pure.

Per second of training, b is 1 plus what failures and false alarms take without the work that is
lost; tier i, saved every x_i of work for C_i, loses x_i / 2 at the rate l_i. A0 is 1 plus the
overhead that no interval changes. Then

    E[T] = T0 (A0 + sum C_i / x_i) (b + sum l_i x_i / 2)

is least at x_i = sqrt(2 C_i b / (l_i A0)), each tier by itself, and is T0 (sqrt(A0 b) + u)^2
there, with u = sum sqrt(C_i l_i / 2): with one tier the best interval of Eq. (5). With several x_i
is a whole multiple of the interval before it, so for given multiples the first one is free:
C = sum C_i / m_i and l = sum l_i m_i, with m_i x_1 = x_i.

Failures that nothing survives, at the rate c, start the job from the beginning after d: it takes
(1 / c + d) (e^(c T) - 1), where T is the time without them. Those for which only an earlier
emergency save is there, at the rate m beside s that are announced, lose a run that ended in
another one of them: T (1 + m / s) (1 + m d), or as above if that is less. A job that waits for a
spare a share q of the time takes 1 / (1 - q) as long.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from advisor.optimizer import shortest_within

Numbers = NDArray[np.float64]

_MOST_MULTIPLES = 12
"""Multiples of an interval that are tried for each further tier."""
_LONGEST_STEPS = 1e15
"""No interval is longer: whole numbers hold its multiples."""
_NEAR = 1.05
"""Timeouts at which the time is beyond this many times the least do not call for multiples of their
own: they are not chosen."""


@dataclass(frozen=True, slots=True)
class Saves:
    """A tier that saves at intervals: the stall of a save (s), the rate (per s) of what falls back
    to it, and its shortest interval in steps. A `fixed_steps` is the only one possible."""

    stall_s: float
    rate_per_s: Numbers
    shortest_steps: int = 1
    fixed_steps: int | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """What a combination meets, the arrays with one number a detection timeout.

    `base` is A0 and `taken` is b of this module's formulas.
    """

    duration_s: float
    step_time_s: float
    base: float
    taken: Numbers
    saves: tuple[Saves, ...]
    saved_per_s: Numbers
    """The rate of failures (per s) that an emergency save is made for."""
    missed_per_s: Numbers
    """The rate of those for which only an earlier emergency save is there, `missed_s` each."""
    missed_s: Numbers
    restarts_per_s: Numbers
    """The rate of those after which the job starts from the beginning, `restart_s` each."""
    restart_s: Numbers


@dataclass(frozen=True, slots=True)
class Priced:
    """The best intervals (steps, a row a tier) and what they give, one number a timeout.

    `time_s` is infinite where no interval is possible.
    """

    interval_steps: NDArray[np.int64]
    overhead: Numbers
    time_s: Numbers


def price(load: Load, max_overhead: float = np.inf) -> Priced:
    """The best whole intervals of all tiers, and the expected time with them (without waits)."""
    best = _unpriced(load)
    for multiples in _multiples(load):
        best = _better(best, _at(load, multiples, max_overhead))
    return best


def whole_s(time_s: Numbers, load: Load, waiting_share: float) -> Numbers:
    """The time (s) with missed warnings, restarts and waits on top."""
    return with_waits_s(with_restarts_s(with_missed_s(time_s, load), load), waiting_share)


def with_missed_s(time_s: Numbers, load: Load) -> Numbers:
    """The time (s) of a job whose unannounced failures go back to the last emergency save."""
    missed, saved = load.missed_per_s, load.saved_per_s
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        from_beginning = _attempts_s(time_s, missed, load.missed_s)
        by_runs = time_s * (1.0 + missed / saved) * (1.0 + missed * load.missed_s)
    return np.where(missed > 0.0, np.fmin(from_beginning, by_runs), time_s)


def with_waits_s(time_s: Numbers, waiting_share: float) -> Numbers:
    """The time (s) of a job that waits that share of it for spares; infinity if it only waits."""
    with np.errstate(divide="ignore", over="ignore"):
        return np.divide(time_s, 1.0 - waiting_share)


def with_restarts_s(time_s: Numbers, load: Load) -> Numbers:
    """The time (s) of a job that some failures throw back to its beginning."""
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        restarted = _attempts_s(time_s, load.restarts_per_s, load.restart_s)
    return np.where(load.restarts_per_s > 0.0, restarted, time_s)


def _attempts_s(time_s: Numbers, rate: Numbers, back_s: Numbers) -> Numbers:
    """Until `time_s` passes without such a failure: the renewal form."""
    found: Numbers = (1.0 / rate + back_s) * np.expm1(rate * time_s)
    return found


def _unpriced(load: Load) -> Priced:
    shape = load.taken.shape
    steps = np.zeros((len(load.saves), *shape), dtype=np.int64)
    return Priced(steps, np.full(shape, np.inf), np.full(shape, np.inf))


def _multiples(load: Load) -> list[tuple[int, ...]]:
    """How many times as long each interval may be as the first, from the real optimum's ratios."""
    if not load.saves:
        return [()]
    near = _near_the_best(load)
    ideal = [_ideal_s(load, each)[near] for each in load.saves]
    choices = []
    for finer, coarser in pairwise(ideal):
        with np.errstate(invalid="ignore", divide="ignore"):
            ratio = np.nan_to_num(coarser / finer, nan=1.0, posinf=1.0)
        low, high = max(int(ratio.min()), 1), max(int(ratio.max()) + 1, 1)
        few = np.unique(np.geomspace(low, high, _MOST_MULTIPLES).round().astype(int))
        choices.append([int(m) for m in (range(low, high + 1) if high - low < 12 else few)])
    found = []
    for each in product(*choices):
        multiples, last = [1], 1
        for ratio_ in each:
            last *= ratio_
            multiples.append(last)
        found.append(tuple(multiples))
    return found


def _near_the_best(load: Load) -> NDArray[np.bool_]:
    """The timeouts whose closed form is near the least one."""
    u = sum(np.sqrt(each.stall_s * each.rate_per_s / 2.0) for each in load.saves)
    closed = (np.sqrt(load.base * load.taken) + u) ** 2
    return np.asarray(closed <= _NEAR * closed.min())


def _ideal_s(load: Load, saves: Saves) -> Numbers:
    """The real interval (s), within what the tier and the job allow."""
    if saves.fixed_steps is not None:
        return np.full_like(load.taken, saves.fixed_steps * load.step_time_s)
    with np.errstate(divide="ignore", invalid="ignore"):
        ideal = np.sqrt(2.0 * saves.stall_s * load.taken / (saves.rate_per_s * load.base))
    shortest_s = saves.shortest_steps * load.step_time_s
    longest_s = max(load.duration_s, shortest_s)
    found: Numbers = np.clip(np.nan_to_num(ideal, posinf=longest_s), shortest_s, longest_s)
    return found


def _at(load: Load, multiples: tuple[int, ...], max_overhead: float) -> Priced:
    """The best first interval with these multiples."""
    step_s = load.step_time_s
    if not load.saves:
        return _without_saves(load, max_overhead)
    pairs = list(zip(load.saves, multiples, strict=True))
    stall_s = sum(each.stall_s / m for each, m in pairs)
    rate: Numbers = np.sum([each.rate_per_s * m for each, m in pairs], axis=0)
    low, high = _bounds(load, pairs, stall_s, max_overhead)
    with np.errstate(divide="ignore", invalid="ignore"):
        ideal = np.sqrt(2.0 * stall_s * load.taken / (rate * load.base)) / step_s
    below = np.clip(
        np.floor(np.nan_to_num(ideal, nan=1.0, posinf=_LONGEST_STEPS)), low, max(high, low)
    )
    above = np.clip(below + 1.0, low, max(high, low))

    def time_s(steps: Numbers) -> Numbers:
        length_s = steps * step_s
        training = load.base + stall_s / length_s
        found: Numbers = load.duration_s * training * (load.taken + 0.5 * rate * length_s)
        return found

    first = np.minimum(np.where(time_s(above) < time_s(below), above, below), _LONGEST_STEPS)
    return Priced(
        np.multiply.outer(np.asarray(multiples), first).astype(np.int64),
        load.base - 1.0 + stall_s / (first * step_s),
        np.where(low <= high, time_s(first), np.inf),
    )


def _without_saves(load: Load, max_overhead: float) -> Priced:
    overhead = load.base - 1.0
    time_s = load.duration_s * load.base * load.taken
    return Priced(
        np.zeros((0, *load.taken.shape), dtype=np.int64),
        np.full_like(load.taken, overhead),
        np.where(overhead <= max_overhead, time_s, np.inf),
    )


def _bounds(
    load: Load, pairs: Sequence[tuple[Saves, int]], stall_s: float, max_overhead: float
) -> tuple[float, float]:
    """Shortest and longest first interval in steps; the shortest is longer where none is."""
    step_s = load.step_time_s
    longest = max(np.floor(load.duration_s / step_s), 1.0)
    high = max(np.floor(longest / pairs[-1][1]), 1.0) if len(pairs) > 1 else longest
    low = max(np.ceil(each.shortest_steps / m) for each, m in pairs)
    left = max_overhead - (load.base - 1.0)
    if left < 0.0:
        return 1.0, 0.0
    if np.isfinite(left) and stall_s > 0.0:
        low = max(low, float(shortest_within(stall_s, np.asarray(step_s), left)))
    fixed = {each.fixed_steps / m for each, m in pairs if each.fixed_steps is not None}
    if not fixed:
        return float(low), float(high)
    steps = fixed.pop()
    possible = not fixed and steps == int(steps) and low <= steps <= high
    return (float(steps), float(steps)) if possible else (1.0, 0.0)


def _better(one: Priced, other: Priced) -> Priced:
    wins = other.time_s < one.time_s
    return Priced(
        np.where(wins, other.interval_steps, one.interval_steps),
        np.where(wins, other.overhead, one.overhead),
        np.where(wins, other.time_s, one.time_s),
    )
