"""Throughput, step time and loss over parts of a run (paper, section V-F)."""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measure.results.rank_log import RankLog, Step
from measure.results.statistics import summary

LARGEST_SERIES = 2000
_LOSS_STEPS = 20
"""The losses of so many steps are averaged into one figure: single ones are noisy."""


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a run in which ranks trained undisturbed."""

    from_s: float
    to_s: float
    steps: Mapping[int, tuple[Step, ...]]
    """Of each rank that trained on samples: its steps that lie wholly inside."""

    @property
    def ranks(self) -> int:
        """How many ranks trained."""
        return len(self.steps)

    @property
    def rate(self) -> float:
        """Samples per second and rank: the mean of the ranks' own rates."""
        return statistics.fmean(_rate(steps) for steps in self.steps.values())

    def as_json(self) -> dict[str, Any]:
        """The window as it stands in the record."""
        durations = [
            statistics.fmean(step.duration_s for step in steps)
            for steps in by_number(s for steps in self.steps.values() for s in steps).values()
        ]
        return {
            "from_s": self.from_s,
            "to_s": self.to_s,
            "ranks": self.ranks,
            "steps": len(durations),
            "step_s": summary(durations),
            "samples_per_s_per_rank": self.rate,
        }


def window(
    logs: Sequence[RankLog], from_s: float, to_s: float, first_step: int = 0
) -> Window | None:
    """The window of these ranks, from their first step in it; None where there is none."""
    found = {}
    for log in logs:
        inside = tuple(
            step
            for step in log.steps
            if step.number >= first_step
            and step.samples > 0
            and step.begin_s >= from_s
            and step.end_s <= to_s
        )
        if inside:
            found[log.rank] = inside
    if not found:
        return None
    return Window(min(steps[0].begin_s for steps in found.values()), to_s, found)


def aggregate_slowdown(before: Window | None, after: Window | None) -> float | None:
    """1 - T_post N_post / (T_pre N_pre); negative where throughput rose (paper, Table V)."""
    if before is None or after is None:
        return None
    return 1.0 - after.rate * after.ranks / (before.rate * before.ranks)


def mean_loss(logs: Sequence[RankLog], to_s: float) -> float | None:
    """The mean loss of the last steps that ended by `to_s`, over the ranks that score."""
    numbered = by_number(
        step for log in logs for step in log.steps if step.loss is not None and step.end_s <= to_s
    )
    last = [numbered[number] for number in sorted(numbered)[-_LOSS_STEPS:]]
    losses = [step.loss for steps in last for step in steps if step.loss is not None]
    return statistics.fmean(losses) if losses else None


def first_loss(logs: Sequence[RankLog]) -> float | None:
    """The mean loss of the first step."""
    losses = [s.loss for log in logs for s in log.steps if s.number == 0 and s.loss is not None]
    return statistics.fmean(losses) if losses else None


def series(logs: Sequence[RankLog]) -> dict[str, list[Any]]:
    """Step by step over the ranks that trained: equal lists, thinned out to LARGEST_SERIES."""
    numbered = by_number(step for log in logs for step in log.steps)
    numbers = sorted(numbered)
    numbers = numbers[:: max(1, -(-len(numbers) // LARGEST_SERIES))]
    columns: dict[str, list[Any]] = {
        "t_s": [], "step": [], "step_s": [], "loss": [], "samples_per_s": [],
    }  # fmt: skip
    for number in numbers:
        steps = numbered[number]
        losses = [step.loss for step in steps if step.loss is not None]
        duration_s = statistics.median(step.duration_s for step in steps)
        columns["t_s"].append(statistics.median(step.end_s for step in steps))
        columns["step"].append(number)
        columns["step_s"].append(duration_s)
        columns["loss"].append(statistics.fmean(losses) if losses else None)
        columns["samples_per_s"].append(sum(step.samples for step in steps) / duration_s)
    return columns


def by_number(steps: Iterable[Step]) -> dict[int, list[Step]]:
    """Steps of several ranks under their number."""
    found: dict[int, list[Step]] = {}
    for step in steps:
        found.setdefault(step.number, []).append(step)
    return found


def _rate(steps: Sequence[Step]) -> float:
    return sum(step.samples for step in steps) / (steps[-1].end_s - steps[0].begin_s)
