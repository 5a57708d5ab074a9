"""`stragglers`: which rank keeps the others waiting.

A synchronous step takes equally long on all ranks: who is slow does not show in it. What a rank
needs for itself is the processor time of its training thread within the step, in which no waiting
is, and all the time before the step, in which nobody is waited for. Every N steps the ranks compare
the medians of the last N steps (scores.py). Training goes on.
"""

import statistics
import time

from measure.monitors.periodic import PeriodicMonitor
from measure.monitors.scores import Standing


class StragglerMonitor(PeriodicMonitor):
    """Names ranks whose own part of a step takes longer than it did, against the others'."""

    name = "stragglers"

    def begin(self) -> None:
        """See PeriodicMonitor."""
        self._own_s: list[float] = []
        self._standing = Standing()

    def look_before(self, step: int, own_s: float) -> None:
        """Starts the clock of this step."""
        self._before_s, self._processor_s = own_s, time.thread_time()

    def look_after(self, step: int, seconds: float, loss: float | None) -> None:
        """What this step took this rank itself."""
        self._own_s.append(self._before_s + time.thread_time() - self._processor_s)

    def check(self, done: int) -> None:
        """All ranks compare; one tells of it."""
        reports = self.all_reports(done, {"own_s": statistics.median(self._own_s)})
        self._own_s.clear()
        for slow in self._standing.take([report["own_s"] for report in reports]):
            if self.rank == 0:
                why = (
                    f"rank {slow.rank} needs {slow.score:.2f} times as long for its own part of a"
                    f" step as it did, {slow.threshold:.2f} is the limit"
                )
                self.report(self.suspicion(done, (slow.rank,), why, "straggler", "report"))
        self.proved(done)
