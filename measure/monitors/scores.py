"""Which rank of a group needs longer than the others, from what each needs. Pure; stdlib only.

A rank's ratio is its own time over the median of the other ranks'. Ranks may have different work
(a server, a last pipeline stage): so the first windows teach what each rank's ratio is while it is
well, and how much the ratios scatter. A rank's score is its ratio over the learned one: 1.5 is a
rank that has become half as slow again.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

SKIPPED = 1
"""First windows that nothing is learned from: caches, lazy buffers, first buckets."""
LEARNED = 4
"""Windows that are learned from."""
LEAST_SHARE = 0.05
"""No rank is suspected that needs less more, than when it is well, than this share of a step: the
others hardly wait for it."""
DEVIATIONS = 5.0
"""Nor for less than so many standard deviations of the learned ratios; more where few ranks teach
little of how they scatter."""
IN_A_ROW = 2
"""Windows one after the other that make a suspicion."""
BESIDE = 0.5
"""Beside a slower rank nobody is suspected whose excess is below this share of that one's: who is
kept waiting finds cold caches, and runs when others do."""


@dataclass(frozen=True, slots=True)
class Straggler:
    """A rank that has become slow: its score, and above which it is one."""

    rank: int
    score: float
    threshold: float


def ratios(own_s: Sequence[float]) -> list[float]:
    """Each rank's own time (seconds, one a rank) over the median of the others'; 1 for a rank
    whose peers need no time at all, and for one alone."""
    found = []
    for rank, mine in enumerate(own_s):
        others = [each for other, each in enumerate(own_s) if other != rank]
        usual = statistics.median(others) if others else 0.0
        found.append(mine / usual if usual > 0.0 else 1.0)
    return found


class Standing:
    """The ranks of one group, window by window; every rank that takes the same times comes to the
    same conclusion."""

    def __init__(self) -> None:
        self._taken = 0
        self._learning: list[list[float]] = []
        self._usual: list[float] = []
        self._above: list[int] = []
        self.threshold = math.inf
        """The score above which a rank is slow; infinite while nothing is learned."""

    def take(self, own_s: Sequence[float], step_s: float) -> list[Straggler]:
        """Takes what each rank needed a step in this window (seconds, in rank order), and what a
        step took; the ranks that are stragglers as of now, each named once until it is well."""
        self._taken += 1
        found = ratios(own_s)
        if self._taken <= SKIPPED:
            return []
        if self._taken <= SKIPPED + LEARNED:
            self._learning.append(found)
            if self._taken == SKIPPED + LEARNED:
                self._learn()
            return []
        return self._judged(found, [LEAST_SHARE * step_s / mine if mine else 0.0 for mine in own_s])

    def _learn(self) -> None:
        """Usual ratios, and the deviation of a single window from them, pooled over all ranks."""
        by_rank = list(zip(*self._learning, strict=True))
        self._usual = [max(statistics.fmean(each), 1e-9) for each in by_rank]
        self._above = [0] * len(by_rank)
        pooled = statistics.fmean(
            statistics.variance(ratio / usual for ratio in each)
            for each, usual in zip(by_rank, self._usual, strict=True)
        )
        freedom = max(len(by_rank) - 1, 1) * (LEARNED - 1)
        deviations = DEVIATIONS * (1.0 + 2.0 / freedom)
        self.threshold = 1.0 + deviations * math.sqrt(pooled)

    def _judged(self, found: Sequence[float], shares: Sequence[float]) -> list[Straggler]:
        """`shares`: LEAST_SHARE of a step in what each rank needs now."""
        stragglers = []
        scores = [ratio / usual for ratio, usual in zip(found, self._usual, strict=True)]
        limit = max(self.threshold, 1.0 + BESIDE * (max(scores) - 1.0))
        for rank, (score, share) in enumerate(zip(scores, shares, strict=True)):
            is_slow = score > limit and 1.0 - 1.0 / score > share
            self._above[rank] = self._above[rank] + 1 if is_slow else 0
            if self._above[rank] == IN_A_ROW:
                stragglers.append(Straggler(rank, score, self.threshold))
        return stragglers
