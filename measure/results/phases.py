"""A recovery, phase by phase: milestones of all ranks on one clock, whose gaps add up.

detect: from the fault until the last survivor noticed (where all processes are started anew: until
the supervisor saw the death; where nobody was lost and the group grows: nothing). stop: until all
who go on wait for orders, processes that are started for it included. elect: until the next
generation was ordered. rebuild: until every rank had left its old groups and
formed the new ones. initialise: until the mechanism was attached everywhere. restore: until every
state was back. check: until the consistency gate let them go on. resume: until the first step
was complete on every rank.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from measure.results.rank_log import RankLog
from measure.supervisor.observed import Recovery

_RANK_MILESTONES = (("rebuild", "formed"), ("initialise", "attached"), ("restore", "restored"))


@dataclass(frozen=True, slots=True)
class Milestone:
    """The end of a phase, seconds since the run began."""

    phase: str
    at_s: float


@dataclass(frozen=True, slots=True)
class PhasedRecovery:
    """One recovery: `phases` gives (name, seconds), which add up to `total_s` from the fault to
    the first step that was complete everywhere."""

    fault_s: float
    milestones: tuple[Milestone, ...]

    @property
    def phases(self) -> list[tuple[str, float]]:
        """Each phase with its seconds, in order."""
        ends = [self.fault_s, *(milestone.at_s for milestone in self.milestones)]
        return [
            (milestone.phase, end - begin)
            for milestone, begin, end in zip(self.milestones, ends, ends[1:], strict=False)
        ]

    @property
    def resumed_s(self) -> float:
        """When the first step was complete everywhere."""
        return self.milestones[-1].at_s

    @property
    def total_s(self) -> float:
        """From the fault to there."""
        return self.resumed_s - self.fault_s


def phased(
    recovery: Recovery,
    fault_s: float,
    noticed_s: float,
    logs: Sequence[RankLog],
    began_at: float,
) -> PhasedRecovery | None:
    """The phases of a recovery; None if it did not reach the first step after it."""
    train_s = recovery.train_at - began_at
    first_ends = [end for log in logs if (end := _first_end(log, recovery.generation)) is not None]
    members = sum(1 for log in logs if log.first("training", generation=recovery.generation))
    if not first_ends or len(first_ends) < members:
        return None
    found = [
        Milestone("detect", noticed_s),
        Milestone("stop", recovery.idle_at - began_at),
        Milestone("elect", recovery.ordered_at - began_at),
        *(Milestone(phase, _last(logs, name, recovery)) for phase, name in _RANK_MILESTONES),
        Milestone("check", train_s),
        Milestone("resume", max(first_ends)),
    ]
    return PhasedRecovery(fault_s, tuple(_in_order(fault_s, found)))


def _last(logs: Sequence[RankLog], name: str, recovery: Recovery) -> float:
    """When the last rank of the generation reached a milestone."""
    found = (log.first(name, generation=recovery.generation) for log in logs)
    times: list[float] = [event["t"] for event in found if event is not None]
    return max(times)


def _first_end(log: RankLog, generation: int) -> float | None:
    """When a rank's first step in a generation ended; None if it trained none in it."""
    begun = [event for event in log.events if event["event"] == "training"]
    mine = next((n for n, event in enumerate(begun) if event["generation"] == generation), None)
    if mine is None:
        return None
    from_s = begun[mine]["t"]
    to_s = begun[mine + 1]["t"] if mine + 1 < len(begun) else float("inf")
    return next((step.end_s for step in log.steps if from_s <= step.end_s <= to_s), None)


def _in_order(begin_s: float, milestones: Iterable[Milestone]) -> Iterable[Milestone]:
    """The same, none before the one that precedes it: clocks of two hosts may disagree."""
    latest_s = begin_s
    for milestone in milestones:
        latest_s = max(latest_s, milestone.at_s)
        yield Milestone(milestone.phase, latest_s)
