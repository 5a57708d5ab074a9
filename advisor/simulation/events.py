"""What happens to a block of jobs: the next failure or false alarm of each, drawn at random."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from advisor.simulation.process import Process
from advisor.simulation.times import Seconds

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Events:
    """The next event of each job, `gap_s` after its last one.

    None where the process has nothing of the sort: `kind` is the place in `Process.kinds`,
    `is_saved` that the failure was announced in time for a save, `is_alarm` that it is no failure.
    """

    gap_s: Seconds
    kind: NDArray[np.intp] | None = None
    is_saved: Flags | None = None
    is_alarm: Flags | None = None


class Source(Protocol):
    """Where the events of a block come from."""

    def following(self) -> Events:
        """The next event of each job that still runs; the arrays are the caller's."""

    def repairs(self, count: int) -> Seconds:
        """How long `count` nodes are being repaired."""

    def keep(self, running: Flags) -> None:
        """Only these jobs of the last event go on."""


class RandomSource:
    """Draws the events of `count` jobs."""

    def __init__(self, process: Process, random: np.random.Generator, count: int) -> None:
        self._process = process
        self._random = random
        self._shares = np.cumsum([kind.share for kind in process.kinds])[:-1]
        self._more = np.zeros(count, dtype=np.int64) if process.bursts else None
        self._count = count
        alarms = process.warnings.false_alarms if process.warnings else None
        self._alarms = alarms
        self._to_failure_s = process.arrivals.left(random, count)
        self._to_alarm_s = alarms.left(random, count) if alarms else None

    def following(self) -> Events:
        gap_s, is_alarm = self._gaps()
        return Events(gap_s, self._kinds(), self._saved(), is_alarm)

    def repairs(self, count: int) -> Seconds:
        assert self._process.spares is not None
        return self._process.spares.repair.draw(self._random, count)

    def keep(self, running: Flags) -> None:
        self._count = int(np.count_nonzero(running))
        self._to_failure_s = self._to_failure_s[running]
        if self._to_alarm_s is not None:
            self._to_alarm_s = self._to_alarm_s[running]
        if self._more is not None:
            self._more = self._more[running]

    def _gaps(self) -> tuple[Seconds, Flags | None]:
        to_failure_s = self._to_failure_s
        if self._to_alarm_s is None or self._alarms is None:
            self._to_failure_s = self._next_failures()
            return to_failure_s, None
        is_alarm = self._to_alarm_s < to_failure_s
        gap_s = np.minimum(self._to_alarm_s, to_failure_s)
        before = self._more
        drawn = self._next_failures()
        if before is not None and self._more is not None:
            self._more = np.where(is_alarm, before, self._more)
        self._to_failure_s = np.where(is_alarm, to_failure_s - gap_s, drawn)
        later = self._alarms.draw(self._random, self._count)
        self._to_alarm_s = np.where(is_alarm, later, self._to_alarm_s - gap_s)
        return gap_s, is_alarm

    def _next_failures(self) -> Seconds:
        """Gaps after a failure: inside of a burst as long as more of it are to come."""
        gap_s = self._process.arrivals.draw(self._random, self._count)
        bursts = self._process.bursts
        if bursts is None or self._more is None:
            return gap_s
        # The failure that just came may begin a burst, if it is not part of one itself.
        is_inside = self._more > 0
        begins = ~is_inside & (self._random.random(self._count) < bursts.share)
        more = np.where(begins, bursts.more, np.maximum(self._more - 1, 0))
        self._more = more
        return np.where(more > 0, bursts.spacing.draw(self._random, self._count), gap_s)

    def _kinds(self) -> NDArray[np.intp] | None:
        if not self._shares.size:
            return None
        return np.searchsorted(self._shares, self._random.random(self._count), side="right")

    def _saved(self) -> Flags | None:
        warnings = self._process.warnings
        if warnings is None:
            return None
        is_announced = self._random.random(self._count) < warnings.coverage
        lead_s = warnings.lead.draw(self._random, self._count)
        return is_announced & (lead_s >= warnings.shortest_lead_s)
