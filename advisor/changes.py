"""Where an answer changes along a line of values: a scan, then every step of it halved.

The answer is whatever `answer_at` says: a mechanism, or nobody. It needs no order and no shape, so
that limits count, which admit or exclude a candidate at a value, as well as times that cross.

What cannot be missed: an answer that holds at one of the scanned values at least, so one that
holds over more than the gap between two of them. Of several changes between two neighbours with
different answers at least one is found, and every change that is found is one.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

Answer = TypeVar("Answer")
Middle = Callable[[float, float], float | None]
"""A value between two others; None where they are as near as they can or need to be."""


@dataclass(frozen=True, slots=True)
class Change(Generic[Answer]):
    """`before` is the answer at `low`, `after` the one at `high`; nothing is known between."""

    low: float
    high: float
    before: Answer
    after: Answer


def changes_along(
    answer_at: Callable[[float], Answer],
    values: Sequence[float],
    middle: Middle,
    answers: Sequence[Answer] | None = None,
) -> tuple[Change[Answer], ...]:
    """Every change between neighbours of `values` (ascending) that differ, narrowed by `middle`.

    `answers` are those at the values, where they are known already.
    """
    known = [answer_at(value) for value in values] if answers is None else list(answers)
    return tuple(
        change
        for at in range(len(known) - 1)
        if known[at] != known[at + 1]
        for change in _within(
            answer_at, middle, Change(values[at], values[at + 1], known[at], known[at + 1])
        )
    )


def halved(tolerance: float) -> Middle:
    """Halves the ratio, down to a relative `tolerance`; values of 0 or more.

    Beside 0 the distance is halved instead, down to `tolerance` itself.
    """

    def middle(low: float, high: float) -> float | None:
        if low <= 0.0:
            return 0.5 * (low + high) if high - low > tolerance else None
        if high / low - 1.0 <= tolerance:
            return None
        found = float(np.sqrt(low) * np.sqrt(high))
        return found if low < found < high else None

    return middle


def halved_whole(low: float, high: float) -> float | None:
    """Halves the distance between whole numbers, down to 1."""
    return float((int(low) + int(high)) // 2) if high - low > 1 else None


def _within(
    answer_at: Callable[[float], Answer], middle: Middle, change: Change[Answer]
) -> Iterator[Change[Answer]]:
    """The changes from one end to the other: always the first that halving finds, then the rest."""
    low, end, before = change.low, change.high, change.before
    while before != change.after:
        high, after = end, change.after
        while (value := middle(low, high)) is not None:
            found = answer_at(value)
            if found == before:
                low = value
            else:
                high, after = value, found
        yield Change(low, high, before, after)
        low, before = high, after
