"""What a mechanism costs while nothing fails: steps with it against steps of the same run without.

Blocks of both alternate (measure.job_spec). Each block with the mechanism is compared with the
mean of the blocks without it on both sides, so that a machine which becomes faster or slower
during the run does not pass for a cost of the mechanism.
"""

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from measure.results.generations import Generation
from measure.results.rank_log import RankLog, Step
from measure.results.saves import grouped
from measure.results.statistics import ci95_half_width
from measure.results.verdict import Run


@dataclass(frozen=True, slots=True)
class Block:
    """Consecutive steps, all with the mechanism or all without (`rests`)."""

    rests: bool
    first: int
    steps: int
    step_s: float
    """Mean wall time of a step: from the beginning of one to that of the next."""


def overhead_of(run: Run, trained: Sequence[Generation]) -> dict[str, Any] | None:
    """The overhead as it stands in the record; None for a run whose blocks do not alternate, or
    which was too short for a block of each kind, side by side. `low` and `high` bound the 95 %
    interval of the mean over the pairs, where there are two."""
    rests = run.job.alternation()
    if rests is None or not trained:
        return None
    blocks = blocks_of(trained[0].reference, rests, run.job.steps, run.job.dropped_steps)
    pairs = _pairs(blocks)
    if not pairs:
        return None
    ratios = [working.step_s / baseline_s - 1.0 for working, baseline_s in pairs]
    fraction, half = statistics.fmean(ratios), ci95_half_width(ratios)
    baseline_step_s = statistics.fmean(block.step_s for block in blocks if block.rests)
    return {
        "fraction": fraction,
        "low": None if half is None else fraction - half,
        "high": None if half is None else fraction + half,
        "pairs": len(pairs),
        "baseline_step_s": baseline_step_s,
        "overlap_factor": _overlap_factor(
            run.logs, trained, [working for working, _ in pairs], fraction * baseline_step_s
        ),
    }


def blocks_of(
    log: RankLog, rests: Callable[[int], bool], steps: int, dropped_steps: int
) -> list[Block]:
    """The whole blocks that a rank made, without the first steps that are dropped."""
    made = {step.number: step for step in log.steps}
    planned = [(kind, list(numbers)) for kind, numbers in groupby(range(steps), rests)]
    longest = max(len(numbers) for _, numbers in planned)
    return [
        Block(kind, numbers[0], len(numbers), _mean_step_s(made, numbers))
        for kind, numbers in planned
        if len(numbers) == longest
        and numbers[0] >= dropped_steps
        and all(number in made for number in numbers)
    ]


def _mean_step_s(made: dict[int, Step], numbers: Sequence[int]) -> float:
    after = made.get(numbers[-1] + 1)
    end_s = after.begin_s if after else made[numbers[-1]].end_s
    return (end_s - made[numbers[0]].begin_s) / len(numbers)


def _pairs(blocks: Sequence[Block]) -> list[tuple[Block, float]]:
    """Each block with the mechanism, and the mean step time of its neighbours without."""
    found = []
    for block in blocks:
        beside = [other.step_s for other in blocks if other.rests and _touch(block, other)]
        if beside and not block.rests:
            found.append((block, statistics.fmean(beside)))
    return found


def _touch(block: Block, other: Block) -> bool:
    return block.first in (other.first + other.steps, other.first - block.steps)


def _overlap_factor(
    logs: Sequence[RankLog],
    trained: Sequence[Generation],
    working: Sequence[Block],
    lost_step_s: float,
) -> float | None:
    """How much of the time that training stood still for saves was really lost: what each step
    lost, over what the saves of those blocks took by their own clocks; None without any. It
    differs from 1 where ranks wait for each other anyway, or work goes on beside the save."""
    numbers = {n for block in working for n in range(block.first, block.first + block.steps)}
    after = {number + 1 for number in numbers}
    saves = (save for save in grouped(logs, trained, "saved") if save.step in after)
    foreground_s = sum(save.mean_s("s") or 0.0 for save in saves)
    return lost_step_s * len(numbers) / foreground_s if foreground_s > 0.0 else None
