"""One run, from the first process to the last: starts the ranks, watches them, ends them.

Nothing here waits without a deadline of its own, since a watchdog inside the ranks may never
fire. Whatever happens, no process, port or file descriptor of the run is left.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path
from typing import Any

from measure.job_spec import Detector, JobSpec
from measure.profiles import Profile
from measure.rank.control import hear, say
from measure.rank.heartbeat import HeartbeatReader, create
from measure.supervisor import ranks as processes
from measure.supervisor.elect import elect
from measure.supervisor.observed import Ending, Observed, RankView, Recovery
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


_MOST_REPLACEMENTS = 8
"""So many recoveries a run; then it stops, with what it has."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What the pair can do: set by its plug-ins, not by their names."""

    continues: bool
    """The architecture goes on by itself after a loss."""
    recovers: bool
    """The mechanism brings training back after a loss."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A recovery on its way."""

    lost: tuple[int, ...]
    idle_at: float
    ordered_at: float
    way: str

    def completed(self, train_at: float, generation: int, step: int) -> Recovery:
        """The recovery, once training goes on."""
        return Recovery(
            self.lost, self.idle_at, self.ordered_at, train_at, generation, step, self.way
        )


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
    """Watches one run. `on_phase` hears of starting, training, detecting, recovering, ending."""

    def __init__(
        self,
        job: JobSpec,
        limits: Limits,
        folder: Path,
        on_phase: Callable[[str], None],
        interrupted: Callable[[], bool],
        traits: Traits,
    ) -> None:
        self._job, self._limits, self._folder = job, limits, folder
        self._on_phase, self._interrupted, self._traits = on_phase, interrupted, traits
        self._seen = Observed(time.monotonic(), job.world_size)
        self._open: dict[Any, RankView] = {}
        self._started: list[RankProcess] = []
        self._slots = job.world_size + job.spares + _MOST_REPLACEMENTS
        self._generation = -1
        self._training = False
        self._lost_at: float | None = None
        self._pending: Pending | None = None

    def run(self, starter: RankStarter) -> Observed:
        """The run; returns what was seen of it."""
        create(self._folder / "heartbeats", self._slots)
        self._beats = HeartbeatReader(self._folder / "heartbeats", self._slots)
        self._on_phase("starting")
        try:
            with hosted_store() as port:
                self._launch = partial(
                    starter.start, self._job.to_json(), folder=self._folder, store_port=port
                )
                try:
                    self._start()
                    self._watch()
                finally:
                    self._end()
        finally:
            self._beats.close()
            (self._folder / "heartbeats").unlink(missing_ok=True)
        return self._seen

    def _start(self) -> None:
        for view in list(self._seen.ranks):
            self._launch_slot(view)
        for _ in range(self._job.spares):
            self._launch_slot(self._new_slot())

    def _new_slot(self) -> RankView:
        view = RankView(len(self._seen.ranks), member=False)
        self._seen.ranks.append(view)
        return view

    def _launch_slot(self, view: RankView) -> None:
        started = self._launch(rank=view.rank)
        self._started.append(started)
        self._open[started.pipe] = view

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
            view.built, view.restored_step = True, message["step"]
            view.proof = message["proof"]
        elif said == "finished":
            view.finished_at = now
        elif said == "stopped":
            view.stopped_at, view.how, view.error = now, message["how"], message["error"]

    def _died(self, view: RankView) -> None:
        view.died_at = time.monotonic()
        if not view.member:
            return
        if self._lost_at is None:
            self._lost_at = view.died_at
            self._on_phase("detecting")
        self._arm_what_follows(view)
        if self._job.detector is Detector.SUPERVISOR:
            self._tell_all("lost", rank=view.plays, generation=self._generation)

    def _arm_what_follows(self, view: RankView) -> None:
        events = self._job.schedule.events
        if not events or view.rank != events[0].rank:
            return
        for ordinal, event in enumerate(events):
            if event.after_s is not None:
                at = (view.died_at or 0.0) + event.after_s
                self._tell_all("arm", ordinal=ordinal, at=at)

    def _tell_all(self, message: str, **fields: Any) -> None:
        for pipe in self._open:
            say(pipe, message, **fields)

    def _look(self) -> None:
        """Takes the next step that is due: form, train, recover, or end."""
        living = self._living()
        if self._generation < 0 and all(view.ready for view in self._seen.members):
            self._form(living)
        elif not self._training and living and self._generation >= 0 and self._all_built(living):
            if self._prove_one_state(living):
                self._train(living)
            else:
                self._seen.ending = Ending.REFUSED
                return
        elif self._can_recover(living):
            self._recover(living)
        elif self._is_stuck():
            self._give_up_on([view for view in living if not self._waits(view)])
        self._seen.ending = self._ending(time.monotonic())

    def _living(self) -> list[RankView]:
        return [view for view in self._seen.members if view.died_at is None]

    def _prove_one_state(self, living: list[RankView]) -> bool:
        """The consistency gate: ranks that differ in what all must share do not go on."""
        first = living[0]
        odd = [
            v for v in living if (v.restored_step, v.proof) != (first.restored_step, first.proof)
        ]
        for view in odd:
            self._seen.refused.append(f"rank {view.plays} differs from rank {first.plays}")
        return not odd

    def _all_built(self, living: list[RankView]) -> bool:
        complete = {view.plays for view in living} == set(range(self._job.world_size))
        return complete and all(view.built and view.stopped_at is None for view in living)

    def _form(self, members: list[RankView]) -> None:
        """Orders these into the next generation, each as the rank that it plays."""
        self._generation += 1
        self._training = False
        for pipe, view in self._open.items():
            if view not in members:
                continue
            view.built, view.stopped_at, view.silent_since = False, None, None
            order = {"generation": self._generation, "rank": view.plays}
            say(pipe, "form", world_size=self._job.world_size, **order)

    def _train(self, living: list[RankView]) -> None:
        """Every rank has restored: if they prove one state, training goes on."""
        at = time.monotonic() + _TRAIN_DELAY_S
        for pipe, view in self._open.items():
            if view in living:
                say(pipe, "train", at=at)
        self._training, self._lost_at = True, None
        if self._pending is None:
            self._seen.training_at = at
        else:
            self._seen.recoveries.append(
                self._pending.completed(at, self._generation, living[0].restored_step)
            )
            self._pending = None
        self._on_phase("training")

    def _can_recover(self, living: list[RankView]) -> bool:
        """Somebody is lost, the mechanism recovers, and every survivor waits for orders."""
        if not self._is_recovering():
            return False
        never_formed = self._generation < 0 and all(view.ready for view in living)
        return never_formed or all(self._waits(view) for view in living)

    def _is_recovering(self) -> bool:
        """Somebody is lost, and training is to be brought back."""
        recovers = self._traits.recovers and not self._traits.continues
        return (
            self._lost_at is not None
            and recovers
            and len(self._seen.recoveries) < _MOST_REPLACEMENTS
        )

    def _waits(self, view: RankView) -> bool:
        """Whether a rank waits for orders: it noticed a loss, or is ready to train."""
        return view.stopped_at is not None or (view.built and not self._training)

    def _is_stuck(self) -> bool:
        """Whether a survivor of a formation has had its time to come free. In gloo it may wait,
        without a socket that could be shut, for a dead peer to connect."""
        lost_at = self._lost_at
        formed = self._generation > 0 and not self._training
        return (
            lost_at is not None
            and formed
            and self._is_recovering()
            and time.monotonic() > lost_at + self._limits.after_loss_s
        )

    def _give_up_on(self, stuck: list[RankView]) -> None:
        """Ends who cannot be set free; a new process is to take the place of each."""
        for view in stuck:
            if not view.given_up and len(self._seen.ranks) < self._slots:
                view.given_up = True
                next(s for s in self._started if s.rank == view.rank).process.kill()
                self._launch_slot(self._new_slot())

    def _replacement_is_coming(self) -> bool:
        """Whether a process that was started to replace another is not up yet."""
        return self._is_recovering() and any(
            not view.member and not view.ready and view.died_at is None for view in self._seen.ranks
        )

    def _recover(self, living: list[RankView]) -> None:
        """Chooses who goes on and who replaces, and orders the next generation."""
        idle_at = time.monotonic()
        self._on_phase("recovering")
        plan = elect(self._seen.ranks, living, self._job)
        if plan is None:
            return
        for view, plays in plan.replacements:
            view.member, view.plays = True, plays
        lost = tuple(view.rank for view in self._seen.members if view.died_at is not None)
        self._lost_at = None
        self._form(self._living())
        self._pending = Pending(lost, idle_at, time.monotonic(), plan.way)

    def _ending(self, now: float) -> Ending | None:
        seen, living = self._seen, self._living()
        if self._interrupted():
            return Ending.INTERRUPTED
        if not any(view.active for view in living) and not self._replacement_is_coming():
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
        if self._pending is not None:
            moved = max(moved, self._pending.ordered_at)
        for view in living:
            silent = now - beats[view.rank].beat_at > _SILENT_S and view.active
            view.silent_since = beats[view.rank].beat_at if silent else None
        quiet = now - moved
        active = [view for view in living if view.active]
        if active and len(active) < len(living) and all(view.silent_since for view in active):
            return Ending.HUNG  # the others are done with it, and it will not speak again
        if self._lost_at is not None and not self._traits.continues:
            # Who is stuck in a formation is given up first.
            limit_s = self._limits.after_loss_s if self._training else self._limits.quiet_s
            return Ending.DEADLINE if quiet > limit_s else None
        if quiet > self._limits.quiet_s:
            return Ending.HUNG
        return None

    def _end(self) -> None:
        """Ends every process: those that can exit by themselves, the others by SIGKILL."""
        self._on_phase("ending")
        self._seen.ended_at = time.monotonic()
        if self._seen.ending is None:  # an error of ours is on its way up
            self._seen.ending = Ending.INTERRUPTED
        can_exit = [s for s in self._started if self._can_exit(self._seen.ranks[s.rank])]
        for started in can_exit:
            say(started.pipe, "end")
        blocked = [started for started in self._started if started not in can_exit]
        killed = processes.end(blocked, 0.0) | processes.end(can_exit, _GRACE_S)
        for started in self._started:
            view = self._seen.ranks[started.rank]
            view.exit_code = started.process.exitcode
            view.killed_by_supervisor = view.given_up or started.rank in killed
            started.process.close()

    @staticmethod
    def _can_exit(view: RankView) -> bool:
        """It waits for orders, or is gone; the others may be blocked in a collective."""
        idle_spare = not view.member and view.ready
        return not view.active or idle_spare
