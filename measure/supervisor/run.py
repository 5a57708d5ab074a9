"""One run, from the first process to the last: starts the ranks, watches them, brings training
back, ends them.

A recovery's phases have their places: who is lost `detect`, who goes on `elect`, whether they
stand at one state `check`; what is written down of it `lineage`. Nothing here waits without a
deadline of its own. Whatever happens, no process, port, file descriptor or shared memory of the
run is left.
"""

import os
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from measure.faults.kinds import FaultKind
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector, JobSpec
from measure.nodes.remote import BrokenOffError, Nodes, check_place, host_and_port, nodes_of_run
from measure.rank.event_log import read_log
from measure.rank.heartbeat import HeartbeatReader, create
from measure.state import segment_names
from measure.supervisor import detect, lineage
from measure.supervisor.check import Proof, differences
from measure.supervisor.crew import Crew
from measure.supervisor.detect import Limits
from measure.supervisor.elect import Election, Traits, elect, why_none
from measure.supervisor.grow import Pause, next_pause
from measure.supervisor.observed import Ending, Observed, RankView, Recovery
from measure.supervisor.ranks import RankProcess, RankStarter
from measure.supervisor.store import LOOPBACK, StoreProcess, hosted_store

_TRAIN_DELAY_S = 0.02
"""From the order to train to the common instant: every rank has heard it by then."""
_TICK_S = 0.05
_GRACE_S = 2.0
_NODES_WITHIN_S = 60.0
"""So soon the agents of all nodes have come."""
_MOST_REPLACEMENTS = 8
"""So many recoveries a run; then it stops, with what it has."""
_FREE_WITHIN_S = 1.0
"""So soon after the supervisor told it a survivor has left its collective; some sends in gloo are
not woken when their sockets are shut."""
_MOST_WITHOUT_PROGRESS = 5
"""So many recoveries from losses, one after the other, between which no new step was made."""
_STOOD_STILL_S = 3.0
"""A supervisor that did not look for so long has seen nothing of the run, and its ranks may have
stood still as well: no limit is shorter, so that it might take that for a rank's silence."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A recovery on its way."""

    lost: tuple[int, ...]
    lost_at: float
    idle_at: float
    ordered_at: float
    way: str
    reached: int
    """How many steps were complete on the rank that had most."""


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
        anew = job.world_size * len(job.schedule.events) if traits.way is Way.RESTART else 0
        self._slots = job.world_size + job.spares + _MOST_REPLACEMENTS + anew
        self._generation = -1
        self._training = False
        self._lost_at: float | None = None
        self._growing = self._forced = False
        self._pause: Pause | None = None
        self._pending: Pending | None = None
        self._struck: set[int] = set()
        self._armed: dict[int, float] = {}
        self._reached, self._without_progress = -1, 0
        self._slots_of: list[int] = []
        self._train_at, self._first_step = 0.0, 0
        self._equivalent = True
        self._nodes: Nodes | None = None
        self._store: StoreProcess | None = None
        self._homes: dict[int, int] = {}

    def run(self, starter: RankStarter) -> Observed:
        """The run; returns what was seen of it."""
        create(self._folder / "heartbeats", self._slots)
        self._beats = HeartbeatReader(self._folder / "heartbeats", self._slots)
        segment_names.sweep()
        segment_names.claim(self._job.run_key())
        folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)  # whatever it is called later
        self._on_phase("starting")
        try:
            with ExitStack() as stack:
                launch = self._launcher(stack, starter)
                self._crew = Crew(self._seen, launch, self._slots)
                try:
                    self._crew.start(self._job.spares)
                    self._watch()
                finally:
                    self._end()
        except BrokenOffError:
            self._seen.ending, self._seen.ended_at = Ending.INTERRUPTED, time.monotonic()
        finally:
            segment_names.remove(self._job.run_key())
            self._beats.close()
            with suppress(FileNotFoundError):
                os.unlink("heartbeats", dir_fd=folder)
            os.close(folder)
        return self._seen

    def _launcher(self, stack: ExitStack, starter: RankStarter) -> Callable[..., RankProcess]:
        """What starts the process of a slot: from the fork server here, or on its node."""
        job = self._job
        if job.nodes == 1:
            port = self._host_store(stack, starter, LOOPBACK)
            return partial(starter.start, job.to_json(), folder=self._folder, store_port=port)
        check_place()
        host, _ = host_and_port()
        port = self._host_store(stack, starter, host)
        patience_s = max(_NODES_WITHIN_S, self._limits.start_s)
        reached = nodes_of_run(job, self._folder, self._slots, port, patience_s, self._interrupted)
        self._nodes = stack.enter_context(reached)
        self._seen.nodes = self._nodes.views
        self._seen.began_at = time.monotonic()
        return self._start_on_node

    def _host_store(self, stack: ExitStack, starter: RankStarter, host: str) -> int:
        """The port of the run's store: one of this process, or, where a fault is to end it, of a
        process of its own."""
        events = self._job.schedule.events
        if all(event.kind is not FaultKind.STORE_LOSS for event in events):
            return stack.enter_context(hosted_store(host))
        self._store = stack.enter_context(StoreProcess(starter, host))
        return self._store.port

    def _start_on_node(self, rank: int) -> RankProcess:
        assert self._nodes is not None
        started = self._nodes.start(rank)
        self._seen.ranks[rank].node = self._nodes.node_of[rank]
        return started

    def _watch(self) -> None:
        self._looked_at = time.monotonic()
        while self._seen.ending is None:
            for view, message in self._crew.heard(_TICK_S):
                self._hear(view, message)
            self._look()
            self._note_standstill()

    def _note_standstill(self) -> None:
        """Clocks go on while a scheduler suspends a job: what such a run looks like afterwards is
        no evidence, whatever its ending would be."""
        now = time.monotonic()
        stood_s, self._looked_at = now - self._looked_at, now
        if stood_s > _STOOD_STILL_S:
            self._seen.ending = Ending.INTERRUPTED
            self._seen.why_stopped = f"the supervisor stood still for {stood_s:.1f} s"

    def _hear(self, view: RankView, message: dict[str, Any] | None) -> None:
        if message is None:
            self._died(view)
            return
        said, now = message["said"], time.monotonic()
        if said == "ready":
            view.ready = True
        elif said == "built":
            view.built, view.restored_step = True, message["step"]
            view.proof, view.source = message["proof"], message["source"]
            view.global_batch = message["global_batch"]
        elif said == "infeasible":
            self._cannot(view, message["why"])
        elif said == "struck":
            self._survived(message["ordinal"], now)
        elif said == "finished":
            view.finished_at = now
        elif said == "stopped":
            view.stopped_at, view.how, view.error = now, message["how"], message["error"]
            view.stuck = message["stuck"]
            if self._growing and self._lost_at is None:
                self._lost_at = now  # until now all trained
            elif view.stuck and self._lost_at is None:
                self._lost_at = now  # it does not come out of the group before: nobody can go on
                self._crew.tell_all("lost", rank=view.plays, generation=self._generation)

    def _cannot(self, view: RankView, why: str) -> None:
        """At first the cell cannot work here; once it has trained, something got in its way."""
        if self._seen.training_at is None:
            view.infeasible = why
        else:
            view.stopped_at, view.how, view.error = time.monotonic(), "infeasible", why

    def _died(self, view: RankView) -> None:
        view.died_at = time.monotonic()
        if not view.member or (view.given_up and not self._had_struck(view)):
            return
        if view.plays is not None:
            # A rank stands for its host: what was in that host's memory is gone with it.
            self._forget(view, view.plays)
        if view.given_up:
            self._arm_what_follows(view)
            return
        self._growing = False
        if self._lost_at is None:
            self._lost_at = view.died_at
            self._on_phase("detecting")
        self._arm_what_follows(view)
        if self._traits.way is Way.RESTART:
            self._start_anew()
        elif self._job.detector is Detector.SUPERVISOR:
            self._crew.tell_all("lost", rank=view.plays, generation=self._generation)
        if self._traits.grows and self._traits.way is Way.SMALLER:
            self._crew.launch_another()

    def _forget(self, view: RankView, holder: int) -> None:
        self._homes.pop(holder, None)
        if self._nodes is None:
            segment_names.remove(self._job.run_key(), holder=holder)
        else:
            self._nodes.forget(view.rank, holder)

    def _stay_near(self, views: list[RankView]) -> None:
        """These are only replaced, and their memory stays on their nodes: so do their places."""
        for view in views:
            if self._nodes is not None and view.node is not None and view.plays is not None:
                self._homes[view.plays] = view.node
                self._nodes.want_next_on(view.node)

    def _near_memory(self) -> dict[int, int]:
        """The node of each place that has memory without a process, on nodes that are there."""
        lost = {node.node for node in self._seen.nodes if node.lost}
        return {place: node for place, node in self._homes.items() if node not in lost}

    def _had_struck(self, view: RankView) -> bool:
        """Whether a process that was given up was dying of its own fault already, which must not
        strike its successor again: its log says so."""
        planned = self._job.schedule.events
        events = read_log(self._folder / f"rank-{view.rank}.jsonl")
        struck = (planned[event["ordinal"]] for event in events if event["event"] == "fault")
        return any(event.ends_its_rank for event in struck)

    def _survived(self, ordinal: int, now: float) -> None:
        """A rank was struck by what it survives: that must not strike again, and is all that is to
        be done, but where it struck what is here."""
        self._has_struck([ordinal], now)
        kind = self._job.schedule.events[ordinal].kind
        if self._store is not None and kind is FaultKind.STORE_LOSS:
            self._store.kill()

    def _arm_what_follows(self, view: RankView) -> None:
        events = self._job.schedule.events
        struck = [n for n, e in enumerate(events) if e.rank == view.plays and e.ends_its_rank]
        self._has_struck(struck, view.died_at or 0.0)

    def _has_struck(self, ordinals: list[int], at: float) -> None:
        """These faults strike nobody any more; with the first one others get their time."""
        self._struck.update(ordinals)
        if 0 not in ordinals or self._armed:
            return
        for ordinal, event in enumerate(self._job.schedule.events):
            if event.after_s is not None:
                self._armed[ordinal] = at + event.after_s
                self._crew.tell_all("arm", ordinal=ordinal, at=self._armed[ordinal])

    def _replace_store(self) -> None:
        """The store has died, and another takes its place, empty: the group is formed anew, as
        after a loss. Who goes on by itself, or is brought back by nothing, needs none meanwhile."""
        assert self._store is not None
        if self._traits.way is not None and not self._traits.continues:
            self._break_off()
        self._store.start()

    def _break_off(self) -> None:
        """Nobody is lost, and still the training is to be brought back."""
        self._growing = False
        if self._lost_at is None:
            self._lost_at = time.monotonic()
            self._on_phase("detecting")
        if self._traits.way is Way.RESTART:
            self._start_anew()
        else:
            self._crew.tell_all("regroup", generation=self._generation, step=None)

    def _start_anew(self) -> None:
        """Ends every process of the group, and starts as many new ones."""
        self._stay_near(self._living())
        self._crew.give_up_on(self._living())
        self._fill_up()

    def _fill_up(self) -> None:
        """Starts processes until all places are taken, or will be."""
        coming = [v for v in self._seen.ranks if not v.member and v.died_at is None]
        for _ in range(self._job.world_size - len(self._living()) - len(coming)):
            self._crew.launch_another()

    def _look(self) -> None:
        """Takes the next step that is due: form, train, recover, grow, or end."""
        if self._store is not None and self._store.is_gone():
            self._replace_store()
        living = self._living()
        if self._formation_failed(living):
            self._lost_at = time.monotonic()
        if self._generation < 0 and self._lost_at is None and self._all_ready():
            self._form(living)
        elif not self._training and living and self._generation >= 0 and self._all_built(living):
            if not self._prove_one_state(living):
                self._seen.ending = Ending.REFUSED
                return
            self._train(living)
        elif self._can_recover(living):
            self._recover(living)
        elif stuck := self._stuck(living):
            self._replace(stuck)
        elif self._does_not_pause(living):
            self._crew.tell_all("regroup", generation=self._generation, step=None)
            self._forced = True
        elif self._can_grow(living) and (pause := self._next_pause()) is not None:
            self._crew.tell_all("regroup", generation=self._generation, step=pause.step)
            self._growing, self._forced, self._pause = True, False, pause
        if self._seen.ending is None:
            self._seen.ending = self._ending(time.monotonic())

    def _formation_failed(self, living: list[RankView]) -> bool:
        """Whether a recovery broke off though nobody was lost in it, as when a rank came too late:
        then it begins again, as after a loss."""
        forming = self._generation > 0 and not self._training and self._lost_at is None
        return (
            forming
            and self._traits.way is not None
            and any(view.stopped_at is not None for view in living)
            and all(self._waits(view) for view in living)
        )

    def _living(self) -> list[RankView]:
        return [v for v in self._seen.members if v.died_at is None and not v.given_up]

    def _all_ready(self) -> bool:
        return all(view.ready for view in self._seen.members)

    def _prove_one_state(self, living: list[RankView]) -> bool:
        proofs = [Proof(v.group_rank or 0, v.restored_step, v.proof) for v in living]
        self._seen.refused += differences(proofs)
        return not self._seen.refused

    def _all_built(self, living: list[RankView]) -> bool:
        complete = len(living) == self._size
        return complete and all(view.built and view.stopped_at is None for view in living)

    def _form(self, members: list[RankView]) -> None:
        """Orders these into the next generation; the order of their places gives their ranks."""
        self._generation += 1
        self._training, self._size = False, len(members)
        self._slots_of = [view.rank for view in members]
        events = self._job.schedule.events
        pending = [ordinal for ordinal in range(len(events)) if ordinal not in self._struck]
        in_order = sorted(members, key=lambda v: v.plays or 0)
        several = {} if self._nodes is None else {"nodes": [view.node for view in in_order]}
        for rank, view in enumerate(in_order):
            view.built, view.stopped_at, view.silent_since = False, None, None
            view.stuck = False
            view.group_rank = rank
            self._crew.tell(
                view,
                "form",
                generation=self._generation,
                rank=rank,
                place=view.plays,
                world_size=self._size,
                pending=pending,
                armed=self._armed,
                training_at=self._seen.training_at,
                **several,
            )

    def _train(self, living: list[RankView]) -> None:
        """Every rank has restored, and they prove one state: training goes on, once it is written
        down what it goes on from."""
        self._write_lineage(living)
        self._looked_at = time.monotonic()  # that took as long as the disk takes
        at = time.monotonic() + _TRAIN_DELAY_S
        for view in living:
            self._crew.tell(view, "train", at=at)
        self._training, self._lost_at = True, None
        self._train_at, self._first_step = at, living[0].restored_step
        if self._seen.training_at is None:
            self._seen.training_at = at
        if self._pending is not None:
            self._seen.recoveries.append(self._completed(self._pending, living[0], at))
            self._pending = None
        self._on_phase("training")

    def _completed(self, pending: Pending, first: RankView, train_at: float) -> Recovery:
        return Recovery(
            lost=pending.lost,
            lost_at=pending.lost_at,
            idle_at=pending.idle_at,
            ordered_at=pending.ordered_at,
            train_at=train_at,
            generation=self._generation,
            step=first.restored_step,
            way=pending.way,
            source=first.source,
            world_size=self._size,
        )

    def _write_lineage(self, living: list[RankView]) -> None:
        first, pending = living[0], self._pending
        whole = self._size == self._job.world_size and (pending is None or bool(first.source))
        self._equivalent = self._equivalent and whole
        members = [
            {"slot": v.rank, "place": v.plays or 0, "rank": v.group_rank or 0} for v in living
        ]
        generation = lineage.Generation(
            self._generation,
            pending.way if pending else "",
            self._size,
            members,
            first.global_batch,
            first.restored_step,
            first.source,
            max(0, pending.reached - first.restored_step) if pending else 0,
            self._equivalent,
        )
        self._seen.lineage.append(lineage.write(self._folder, generation))

    def _can_recover(self, living: list[RankView]) -> bool:
        """Somebody is lost, the mechanism recovers, and every survivor waits for orders."""
        if not self._is_recovering():
            return False
        never_formed = self._generation < 0 and all(view.ready for view in living)
        return never_formed or all(self._waits(view) for view in living)

    def _is_recovering(self) -> bool:
        """Somebody is lost, and training is to be brought back."""
        recovers = self._traits.way is not None and not self._traits.continues
        return self._lost_at is not None and recovers and self._may_recover_again()

    def _may_recover_again(self) -> bool:
        answered = [found for found in self._seen.recoveries if found.way != "grown"]
        return len(answered) < _MOST_REPLACEMENTS

    def _why_stopped(self, living: list[RankView]) -> str:
        if self._traits.way is not None and not self._may_recover_again():
            return f"training had been brought back {_MOST_REPLACEMENTS} times"
        done = [str(view.plays) for view in living if view.finished_at is not None]
        if self._traits.way is not None and done:
            return f"ranks {', '.join(done)} had made their last step, and left"
        return why_none(self._seen.ranks, living, self._job.world_size, self._traits)

    def _waits(self, view: RankView) -> bool:
        """Whether a rank waits for orders: it noticed a loss, or is ready to train."""
        stopped = view.stopped_at is not None and not view.stuck
        return stopped or (view.built and not self._training)

    def _stuck(self, living: list[RankView]) -> list[RankView]:
        """Survivors that do not come free of a group or its formation: they said so, or have had
        their time: more of it in a save or a load, which ends by itself. Where they go on with what
        they have, one of them may be the only one that has the state, or is missed for good: the
        group's own timeout sets it free. But a group that grows again, from others that came free
        and have the state too, does not wait for that."""
        if self._lost_at is None or self._seen.training_at is None or not self._is_recovering():
            return []
        now, lost_at, beats = time.monotonic(), self._lost_at, self._beats.read()
        others = self._traits.grows and any(self._waits(view) for view in living)

        def is_spared(view: RankView) -> bool:
            has_all = view.plays == self._traits.coordinator
            return self._survivors_go_on() and (has_all or not others)

        def is_late(view: RankView) -> bool:
            return now > self._free_by(lost_at, beats[view.rank].storage_at)

        return [
            view
            for view in living
            if (is_late(view) and (view.active or view.stuck) and not self._waits(view))
            or (view.stuck and not is_spared(view))
        ]

    def _free_by(self, lost_at: float, storage_at: float) -> float:
        """When a survivor of a loss at `lost_at` that was in storage last at `storage_at` has had
        its time to come free; even a disk is waited for no longer than the group's timeout."""
        by_itself = lost_at + self._job.group_timeout_s + _FREE_WITHIN_S
        if self._survivors_go_on():
            return by_itself
        told = self._job.detector is Detector.SUPERVISOR
        limit_s = _FREE_WITHIN_S if told else self._limits.after_loss_s
        return min(max(lost_at, storage_at) + limit_s, max(lost_at + limit_s, by_itself))

    def _replace(self, stuck: list[RankView]) -> None:
        """Ends who cannot be set free; a new process is to take the place of each."""
        stuck = [view for view in stuck if not view.given_up]
        self._stay_near(stuck)
        self._crew.give_up_on(stuck)
        for _ in stuck:
            self._crew.launch_another()

    def _somebody_is_waited_for(self, living: list[RankView]) -> bool:
        """Whether a process that was started to replace another is not up yet, or a survivor that
        is to go on has not come free."""
        coming = any(
            not view.member and not view.ready and view.died_at is None for view in self._seen.ranks
        )
        return self._is_recovering() and (coming or any(view.stuck for view in living))

    def _can_grow(self, living: list[RankView]) -> bool:
        """Whether the group is smaller than it was, and all who are to come back are up."""
        waits = self._training and self._lost_at is None and not self._growing
        if not (self._traits.grows and waits):
            return False
        if len(living) == self._job.world_size or not all(view.active for view in living):
            return False
        ready = [v for v in self._seen.ranks if not v.member and v.ready and v.died_at is None]
        missing = self._job.world_size - len(living)
        return self._may_recover_again() and len(ready) >= missing

    def _next_pause(self) -> Pause | None:
        found = self._beats.read()
        beats = [found[slot] for slot in self._slots_of]
        return next_pause(beats, self._first_step, self._train_at, self._job.steps)

    def _does_not_pause(self, living: list[RankView]) -> bool:
        """Whether some have stopped for the group to grow, and others have not, who may be waiting
        for them: a rank had begun that step already."""
        if not self._growing or self._forced or self._lost_at is None or self._pause is None:
            return False
        late = time.monotonic() > self._lost_at + max(_FREE_WITHIN_S, 2.0 * self._pause.step_s)
        return late and not all(self._waits(view) for view in living)

    def _recover(self, living: list[RankView]) -> None:
        """Chooses who goes on and who replaces, and orders the next generation."""
        idle_at = time.monotonic()
        self._on_phase("recovering")
        size, growing = self._job.world_size, self._growing
        plan = elect(self._seen.ranks, living, size, self._traits, growing, self._near_memory())
        if plan is None:
            # Nobody waits to replace the lost, but processes may be started for them.
            if self._traits.grows and not self._survivors_go_on():
                self._fill_up()
            return
        broken_off = self._pending.reached if self._pending else 0
        reached = max(self._steps_reached(), broken_off)
        if self._is_without_progress():
            self._seen.ending = Ending.NO_PROGRESS
            return
        self._take_in(plan)
        lost = tuple(view.rank for view in self._seen.members if view.died_at is not None)
        begun = [self._lost_at or idle_at, *([self._pending.lost_at] if self._pending else [])]
        lost_at, self._lost_at = min(begun), None
        self._growing = False
        self._form(self._living())
        self._pending = Pending(lost, lost_at, idle_at, time.monotonic(), plan.way, reached)

    def _survivors_go_on(self) -> bool:
        """Whether survivors go on as a smaller group, from what they have."""
        return self._traits.way is Way.SMALLER and self._traits.shrinks

    def _steps_reached(self) -> int:
        """How many steps somebody had complete in the generation that is over."""
        beats = self._beats.read()
        since = [beats[slot] for slot in self._slots_of if beats[slot].step_at > self._train_at]
        return max([self._first_step, *(beat.steps for beat in since)])

    def _is_without_progress(self) -> bool:
        """Notes how far training had come; whether it has failed too often at the same step."""
        reached = max(beat.steps for beat in self._beats.read())
        if reached > self._reached:
            self._without_progress = 0
        elif not self._growing:
            self._without_progress += 1
        self._reached = max(self._reached, reached)
        return self._without_progress >= _MOST_WITHOUT_PROGRESS

    def _take_in(self, plan: Election) -> None:
        for view, place in plan.joining:
            view.member, view.plays = True, place
            self._homes.pop(place, None)

    def _ending(self, now: float) -> Ending | None:
        seen, living = self._seen, self._living()
        if self._interrupted():
            return Ending.INTERRUPTED
        if any(view.infeasible for view in living):
            return Ending.INFEASIBLE
        if not any(view.active for view in living) and not self._somebody_is_waited_for(living):
            stopped = any(view.finished_at is None for view in living) or not living
            if stopped:
                seen.why_stopped = self._why_stopped(living)
            return Ending.ALL_STOPPED if stopped else Ending.ALL_FINISHED
        if seen.training_at is None:
            recovers = self._is_recovering()
            return detect.before_training(
                seen, self._limits, self._job.detector, self._lost_at, now, recovers
            )
        if now > seen.training_at + self._limits.deadline_s:
            return Ending.DEADLINE
        return self._ending_of_the_quiet(now, living)

    def _ending_of_the_quiet(self, now: float, living: list[RankView]) -> Ending | None:
        """Ends a run in which nothing moves any more: somebody hangs, or a loss goes unnoticed."""
        detect.note_silence(living, self._beats, now)
        ordered_at = self._pending.ordered_at if self._pending else 0.0
        since = max(self._seen.training_at or 0.0, self._lost_at or 0.0, ordered_at)
        quiet_s = detect.quiet_s(living, self._beats, since, now)
        active = [view for view in living if view.active]
        if active and len(active) < len(living) and all(view.silent_since for view in active):
            return Ending.HUNG  # the others are done with it, and it will not speak again
        if self._lost_at is not None and not self._traits.continues:
            # Who is to be brought back may have to wait for a process that is being started.
            brought_back = self._is_recovering() and self._seen.training_at is not None
            limit_s = self._limits.quiet_s if brought_back else self._limits.after_loss_s
            return Ending.DEADLINE if quiet_s > limit_s else None
        if quiet_s > self._limits.quiet_s:
            return Ending.HUNG
        return None

    def _end(self) -> None:
        self._on_phase("ending")
        self._seen.ended_at = time.monotonic()
        if self._seen.ending is None:  # an error of ours is on its way up
            self._seen.ending = Ending.INTERRUPTED
        self._crew.end(_GRACE_S)
