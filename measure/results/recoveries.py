"""Which recovery answered which faults, and from when to when."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from measure.faults.schedule import FaultKind
from measure.results.phases import PhasedRecovery, phased
from measure.results.verdict import Fault, Run
from measure.supervisor.observed import Recovery


@dataclass(frozen=True, slots=True)
class Answered:
    """A recovery beside the faults that it answered; instants in seconds since the run began.

    It begins with the first of those faults. Where there is none (a group that grows again), it
    begins when the first rank paused for it, and there is nothing to notice; a fault that strikes
    meanwhile is part of it.
    """

    recovery: Recovery
    faults: tuple[Fault, ...]
    begin_s: float
    noticed_s: float
    train_s: float
    phased: PhasedRecovery | None
    """None if no step was complete everywhere before the next loss."""

    def as_json(self, lost_steps: int, lost_s: float) -> dict[str, Any]:
        """The recovery as it stands in the record; what it lost is counted elsewhere."""
        recovery = self.recovery
        return {
            "generation": recovery.generation,
            "way": recovery.way,
            "source": recovery.source,
            "step": recovery.step,
            "lost_steps": lost_steps,
            "lost_s": lost_s,
            "world_size": recovery.world_size,
            "faults": [fault.ordinal for fault in self.faults],
            "why": recovery.why,
            "total_s": self.phased.total_s if self.phased else None,
            "phases": [list(phase) for phase in self.phased.phases] if self.phased else [],
        }


def answered(run: Run, faults: Sequence[Fault]) -> list[Answered]:
    """Every recovery after which training was ordered to go on, in order."""
    found: list[Answered] = []
    before = frozenset[int]()
    for recovery in run.seen.recoveries:
        lost = frozenset(recovery.lost)
        ending = (fault for fault in faults if fault.fired and fault.event.ends_its_rank)
        mine = [fault for fault in ending if fault.slot in lost - before]
        if not mine and recovery.way != "grown":
            mine = _noticed_before(run.since_began(recovery.lost_at), faults, found)
        found.append(_answered(run, recovery, sorted(mine, key=lambda fault: fault.at_s)))
        before |= lost
    return found


def _noticed_before(
    lost_s: float, faults: Sequence[Fault], answers: Sequence[Answered]
) -> list[Fault]:
    """What ranks survived and somebody noticed, which a recovery from no loss answers, unless an
    earlier one did."""
    known = {fault.ordinal for answer in answers for fault in answer.faults}
    return [
        fault
        for fault in faults
        if fault.first_detected_s is not None
        and not fault.event.ends_its_rank
        and fault.event.kind is not FaultKind.STRAGGLER  # which training goes on with
        and fault.at_s <= lost_s
        and fault.ordinal not in known
    ]


def _answered(run: Run, recovery: Recovery, faults: Sequence[Fault]) -> Answered:
    lost_s = run.since_began(recovery.lost_at)
    begin_s = min(faults[0].at_s, lost_s) if faults else lost_s
    noticed_s = _noticed_s(faults[0], lost_s) if faults else lost_s
    steps = phased(recovery, begin_s, noticed_s, run.logs, run.seen.began_at)
    train_s = run.since_began(recovery.train_at)
    return Answered(recovery, tuple(faults), begin_s, noticed_s, train_s, steps)


def _noticed_s(fault: Fault, seen_s: float) -> float:
    """When the last of those who had to notice knew; where none of them lived to say so, when
    the supervisor saw the loss."""
    if not fault.detections:
        return max(fault.at_s, seen_s)
    return fault.at_s + max(detection.after_s for detection in fault.detections)
