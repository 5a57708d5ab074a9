"""`stragglers`: which rank keeps the others waiting.

A synchronous step takes equally long on all ranks: who is slow does not show in it. What a rank
needs for itself is the time of a step without what it waits for its peers, which the code that
communicates counts (measure.rank.peer_waits), by a clock that stands still while another rank has
its processor; the time before the step, in which it waits for nobody, belongs to it. Every N steps
the ranks compare the medians of the last N steps (scores.py). Training goes on.
"""

import statistics

from measure.monitors.periodic import PeriodicMonitor
from measure.monitors.scores import Standing
from measure.rank.peer_waits import clock, waited_s


class StragglerMonitor(PeriodicMonitor):
    """Names ranks whose own part of a step takes longer than it did, against the others'."""

    name = "stragglers"

    def begin(self) -> None:
        """See PeriodicMonitor."""
        self._own_s: list[float] = []
        self._steps_s: list[float] = []
        self._standing = Standing()

    def look_before(self, step: int, own_s: float) -> None:
        """Starts the clock of this step."""
        self._began_at, self._waited_before_s = clock() - own_s, waited_s()

    def look_after(self, step: int, seconds: float, loss: float | None) -> None:
        """What this step took this rank itself."""
        waits_s = waited_s() - self._waited_before_s
        self._own_s.append(clock() - self._began_at - waits_s)
        self._steps_s.append(seconds)

    def check(self, done: int) -> None:
        """All ranks compare; one tells of it."""
        times = {"own_s": self._own_s, "step_s": self._steps_s}
        mine = {name: statistics.median(each) for name, each in times.items()}
        self._own_s, self._steps_s = [], []
        reports = self.all_reports(done, mine)
        step_s = statistics.median(report["step_s"] for report in reports)
        for slow in self._standing.take([report["own_s"] for report in reports], step_s):
            if self.rank == 0:
                why = (
                    f"rank {slow.rank} needs {slow.score:.2f} times as long for its own part of a"
                    f" step as it did, {slow.threshold:.2f} is the limit"
                )
                self.report(self.suspicion(done, (slow.rank,), why, "straggler", "report"))
        self.proved(done)
