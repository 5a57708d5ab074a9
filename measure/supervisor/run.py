"""One run, from the first process to the last: starts the ranks, watches them, ends them.

Nothing here waits without a deadline of its own, since a watchdog inside the ranks may never
fire. Whatever happens, no process, port or file descriptor of the run is left.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from measure.job_spec import Detector, JobSpec
from measure.profiles import Profile
from measure.rank.control import hear, say
from measure.rank.heartbeat import HeartbeatReader, create
from measure.supervisor import ranks as processes
from measure.supervisor.observed import Ending, Observed, RankView
from measure.supervisor.ranks import RankProcess, RankStarter
from measure.supervisor.store import hosted_store

_TRAIN_DELAY_S = 0.02
"""From the order to train to the common instant: every rank has heard it by then."""
_TICK_S = 0.05
_GRACE_S = 2.0
_SILENT_S = 3.0
"""A rank whose heartbeat (every 0.1 s) is older has been stopped."""
_TIMEOUT_MARGIN_S = 3.0
_TOLD_S = 0.2
"""Long enough for every rank to write down that it was told."""


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the parts of a run may take, seconds."""

    start_s: float
    quiet_s: float
    """Longest time without a step of any active rank, where nobody is dead."""
    after_loss_s: float
    """Longest time from a loss until every survivor noticed."""
    deadline_s: float
    """Longest training."""


def limits_of(job: JobSpec, profile: Profile) -> Limits:
    """The limits of one run; a timeout of the group always comes before ours."""
    after_loss_s = job.group_timeout_s + _TIMEOUT_MARGIN_S
    if job.detector is Detector.SUPERVISOR:
        after_loss_s = _TIMEOUT_MARGIN_S
    last_fault_s = sum(e.time_s or e.after_s or 0.0 for e in job.schedule.events)
    return Limits(
        start_s=profile.start_limit_s,
        quiet_s=max(profile.step_limit_s, job.group_timeout_s + _TIMEOUT_MARGIN_S),
        after_loss_s=after_loss_s,
        deadline_s=last_fault_s + after_loss_s + job.steps * profile.step_limit_s,
    )


class Supervisor:
    """Watches one run. `on_phase` hears of starting, training, detecting and ending."""

    def __init__(
        self,
        job: JobSpec,
        limits: Limits,
        folder: Path,
        on_phase: Callable[[str], None],
        interrupted: Callable[[], bool],
        continues: bool,
    ) -> None:
        self._job, self._limits, self._folder = job, limits, folder
        self._on_phase, self._interrupted = on_phase, interrupted
        self._continues = continues
        self._seen = Observed(time.monotonic(), job.world_size)
        self._open: dict[Any, RankView] = {}
        self._started: list[RankProcess] = []
        self._lost_at: float | None = None
        self._forming = False

    def run(self, starter: RankStarter) -> Observed:
        """The run; returns what was seen of it."""
        create(self._folder / "heartbeats", self._job.world_size)
        self._beats = HeartbeatReader(self._folder / "heartbeats", self._job.world_size)
        self._on_phase("starting")
        try:
            with hosted_store() as port:
                try:
                    self._start(starter, port)
                    self._watch()
                finally:
                    self._end()
        finally:
            self._beats.close()
            (self._folder / "heartbeats").unlink(missing_ok=True)
        return self._seen

    def _start(self, starter: RankStarter, port: int) -> None:
        text = self._job.to_json()
        for rank in range(self._job.world_size):
            started = starter.start(text, rank, self._folder, port)
            self._started.append(started)
            self._open[started.pipe] = self._seen.ranks[rank]

    def _watch(self) -> None:
        while self._seen.ending is None:
            for pipe in wait(list(self._open), _TICK_S):
                self._hear(pipe)
            self._look()

    def _hear(self, pipe: Any) -> None:
        view = self._open[pipe]
        try:
            message = hear(pipe)
        except (EOFError, OSError):
            del self._open[pipe]
            self._died(view)
            return
        said, now = message["said"], time.monotonic()
        if said == "ready":
            view.ready = True
        elif said == "built":
            view.built = True
        elif said == "finished":
            view.finished_at = now
        elif said == "stopped":
            view.stopped_at, view.how, view.error = now, message["how"], message["error"]

    def _died(self, view: RankView) -> None:
        view.died_at = time.monotonic()
        if self._lost_at is None:
            self._lost_at = view.died_at
            self._on_phase("detecting")
        self._arm_what_follows(view)
        if self._job.detector is Detector.SUPERVISOR:
            for pipe in self._open:
                say(pipe, "lost", rank=view.rank)

    def _arm_what_follows(self, view: RankView) -> None:
        events = self._job.schedule.events
        if not events or view.rank != events[0].rank:
            return
        for ordinal, event in enumerate(events):
            if event.after_s is not None:
                for pipe in self._open:
                    say(pipe, "arm", ordinal=ordinal, at=(view.died_at or 0.0) + event.after_s)

    def _look(self) -> None:
        """Begins the training when all are built; ends the run when its end has come."""
        seen, now = self._seen, time.monotonic()
        if not self._forming and all(view.ready for view in seen.ranks):
            self._forming = True
            for pipe in self._open:
                say(pipe, "form")
        if seen.training_at is None and all(view.built for view in seen.ranks):
            seen.training_at = now + _TRAIN_DELAY_S
            for pipe in self._open:
                say(pipe, "train", at=seen.training_at)
            self._on_phase("training")
        seen.ending = self._ending(now)

    def _ending(self, now: float) -> Ending | None:
        seen = self._seen
        living = [view for view in seen.ranks if view.died_at is None]
        if self._interrupted():
            return Ending.INTERRUPTED
        if not any(view.active for view in living):
            stopped = any(view.finished_at is None for view in living) or not living
            return Ending.ALL_STOPPED if stopped else Ending.ALL_FINISHED
        if seen.training_at is None:
            return self._ending_before_training(now)
        if now > seen.training_at + self._limits.deadline_s:
            return Ending.DEADLINE
        return self._ending_of_the_quiet(now, living)

    def _ending_before_training(self, now: float) -> Ending | None:
        if self._lost_at is not None:
            # Nobody can be set free from a formation: that the survivors were told is enough.
            told = self._job.detector is Detector.SUPERVISOR
            wait_s = _TOLD_S if told else self._limits.after_loss_s
            if now > self._lost_at + wait_s:
                return Ending.NEVER_STARTED
        elif any(view.stopped_at for view in self._seen.ranks):
            return Ending.NEVER_STARTED
        if now > self._seen.began_at + self._limits.start_s:
            return Ending.NEVER_STARTED
        return None

    def _ending_of_the_quiet(self, now: float, living: list[RankView]) -> Ending | None:
        """Ends a run in which nothing moves any more: somebody hangs, or a loss goes unnoticed."""
        beats = self._beats.read()
        moved = max([self._seen.training_at or 0.0, *(beat.step_at for beat in beats)])
        moved = max([moved, *(v.stopped_at or 0.0 for v in living), self._lost_at or 0.0])
        for view in living:
            silent = now - beats[view.rank].beat_at > _SILENT_S and view.active
            view.silent_since = beats[view.rank].beat_at if silent else None
        quiet = now - moved
        active = [view for view in living if view.active]
        if len(active) < len(living) and all(view.silent_since for view in active):
            return Ending.HUNG  # the others are done with it, and it will not speak again
        if self._lost_at is not None and not self._continues:
            return Ending.DEADLINE if quiet > self._limits.after_loss_s else None
        if quiet > self._limits.quiet_s:
            return Ending.HUNG
        return None

    def _end(self) -> None:
        """Ends every rank: those that can exit by themselves, the others by SIGKILL."""
        self._on_phase("ending")
        self._seen.ended_at = time.monotonic()
        if self._seen.ending is None:  # an error of ours is on its way up
            self._seen.ending = Ending.INTERRUPTED
        can_exit = [
            started
            for started in self._started
            if not self._seen.ranks[started.rank].active or self._seen.ranks[started.rank].died_at
        ]
        for started in can_exit:
            say(started.pipe, "end")
        blocked = [started for started in self._started if started not in can_exit]
        killed = processes.end(blocked, 0.0) | processes.end(can_exit, _GRACE_S)
        for started in self._started:
            view = self._seen.ranks[started.rank]
            view.exit_code = started.process.exitcode
            view.killed_by_supervisor = started.rank in killed
            started.process.close()
