"""Which generations are kept: recent ones densely, older ones sparsely (seed 004)."""

from collections.abc import Collection
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Retention:
    """The newest `recent` generations are kept, and the oldest of all. One in between goes when
    the two beside it are close without it: when the older of them has at most `ratio` times the
    age (steps behind the newest) of the younger.

    So the gaps grow with age, about two generations are left for each factor of `ratio`, and a
    corruption that was not noticed at once can be rolled back past. Gaps only shrink as a run
    goes on, in relation to their age: pruning after every save keeps the same guarantee.

    `ratio` 0 keeps none of the older ones.
    """

    recent: int = 3
    ratio: int = 4

    def __post_init__(self) -> None:
        if self.recent < 1 or self.ratio < 0 or self.ratio == 1:
            raise ValueError("recent must be 1 or more, ratio 0, 2 or more")

    def kept(self, steps: Collection[int], proved: Collection[int] = ()) -> set[int]:
        """The steps to keep of those there are. Beside them, for each of the `proved` numbers of
        steps (at which a monitor proved the state good) the newest that is not beyond it: while
        later ones are unproved, that is where a rollback goes. Pure."""
        behind = ([step for step in steps if step <= good] for good in proved)
        return self._by_age(steps) | {max(found) for found in behind if found}

    def _by_age(self, steps: Collection[int]) -> set[int]:
        newest_first = sorted(set(steps), reverse=True)
        kept, older = newest_first[: self.recent], newest_first[self.recent :]
        if not self.ratio or not older:
            return set(kept)
        newest = newest_first[0]
        for step, next_older in pairwise(older):
            if newest - next_older > self.ratio * (newest - kept[-1]):
                kept.append(step)
        return {*kept, older[-1]}
