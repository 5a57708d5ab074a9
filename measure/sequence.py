"""In which order cells run, so that a machine that drifts favours nobody. Pure.

Shuffled, with baselines (runs with no mechanism) spread evenly among the others: what the machine
does meanwhile is then seen in them, and falls on every mechanism alike.
"""

import random
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")


def shuffled(items: Sequence[T], seed: int, is_baseline: Callable[[T], bool]) -> list[T]:
    """The items in an order that follows from the seed alone, baselines evenly among them."""
    random_ = random.Random(seed)  # noqa: S311 - an order, not a secret
    baselines = [item for item in items if is_baseline(item)]
    others = [item for item in items if not is_baseline(item)]
    random_.shuffle(baselines)
    random_.shuffle(others)
    placed = [*_places(others), *_places(baselines)]
    return [item for _, item in sorted(placed, key=lambda pair: pair[0])]


def _places(items: Sequence[T]) -> list[tuple[float, T]]:
    """Each item with its place, a fraction of the whole: the middle of its equal share."""
    return [((number + 0.5) / len(items), item) for number, item in enumerate(items)]
