"""The training loop inside the harness: steps, hooks, one log line a step."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from measure.faults.injector import Injector
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism
from measure.monitors.watch import Watch
from measure.rank.event_log import EventLog
from measure.rank.heartbeat import Heartbeat, Where
from measure.rank.peer_waits import clock
from measure.rank.state_size import state_bytes


class PausedError(Exception):
    """All ranks stop here: the group is to be formed anew."""


@dataclass
class TrainingLoop:
    """One rank's loop. `lost` gives the peers that the supervisor reported; `on_dropped` hears
    of the peers that the architecture dropped by itself: (rank, how it noticed). `rests` says in
    which steps the mechanism is not called, where a baseline is measured beside it; `pause_at`
    before which step all stop, if they are to."""

    architecture: Architecture
    mechanism: Mechanism
    injector: Injector
    log: EventLog
    heartbeat: Heartbeat
    lost: Callable[[], list[int]]
    on_dropped: Callable[[int, str], None]
    rests: Callable[[int], bool] | None = None
    pause_at: Callable[[], int | None] = lambda: None
    watch: Watch = field(default_factory=Watch)
    done: int = 0
    """How many steps are complete."""
    within_step: bool = False
    """One more has begun."""
    _first: int = 0
    _dropped: set[int] = field(default_factory=set)

    def run(self, first: int, steps: int) -> None:
        """Trains steps `first` to `steps` - 1; whatever a step raises comes through. PausedError
        where all are to stop."""
        self._first = self.done = first
        for step in range(first, steps):
            pause = self.pause_at()
            if pause is not None and step >= pause:
                raise PausedError(f"before step {step}")
            self.one_step(step)
            if step == first:  # optimizers make their tensors in their first step
                self.log.write("state", bytes=state_bytes(self.architecture.state()))

    def one_step(self, step: int) -> None:
        """One step with everything that the harness does around it."""
        came = clock()
        self.heartbeat.at(Where.BEFORE, step)
        self.injector.before_step(step)
        own_s = clock() - came
        self._pass_on()
        begin = time.monotonic()
        self.watch.before_step(step, own_s)
        self.heartbeat.at(Where.IN, step)
        self.within_step = True
        result = self.architecture.step()
        self.done, self.within_step = step + 1, False
        step_s = time.monotonic() - begin
        self.injector.after_step(step_s)
        self.heartbeat.at(Where.AFTER, step)
        self.watch.after_step(step, step_s, result.loss)
        if step == self._first:
            self.mechanism.first_step_done(step)
        if self.rests is None or not self.rests(step):
            self.mechanism.after_step(step)
        self.log.step(step, begin, result.loss, result.samples)
        self.heartbeat.step_done(step + 1)
        self._report_dropped()

    def _pass_on(self) -> None:
        for event, due_at in self.injector.warnings():
            self.mechanism.on_warning(event, due_at)
        for rank in self.lost():
            self.architecture.peer_lost(rank)

    def _report_dropped(self) -> None:
        lost = self.architecture.lost_peers()
        if len(lost) == len(self._dropped):
            return
        for rank, how in lost.items():
            if rank not in self._dropped:
                self._dropped.add(rank)
                self.on_dropped(rank, how)
