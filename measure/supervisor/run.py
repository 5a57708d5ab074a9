"""One run, from the first process to the last: starts the ranks, watches them, brings training
back, ends them.

A recovery's phases have their places: who is lost `detect`, who does not come free `stuck`, who
goes on `elect`, whether they stand at one state `check`; what is written down of it `lineage`. What
follows from a suspicion is asked and decided in `inquiry`. Nothing here waits without a deadline of
its own. Whatever happens, no process, port, file descriptor or shared memory of the run is left.
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
from measure.interfaces.monitor import Suspicion
from measure.job_spec import Detector, JobSpec
from measure.nodes.remote import BrokenOffError, Nodes, check_place, host_and_port, nodes_of_run
from measure.rank.event_log import read_log
from measure.rank.heartbeat import HeartbeatReader, create
from measure.state import segment_names
from measure.supervisor import detect
from measure.supervisor.check import Proof, differences
from measure.supervisor.crew import Crew
from measure.supervisor.detect import Limits
from measure.supervisor.elect import Election, Traits, elect, why_none
from measure.supervisor.grow import Pause, next_pause
from measure.supervisor.homes import Homes
from measure.supervisor.inquiry import Inquiries
from measure.supervisor.lineage import Lineage
from measure.supervisor.observed import Ending, Observed, RankView, Recovery
from measure.supervisor.progress import Progress
from measure.supervisor.ranks import RankProcess, RankStarter
from measure.supervisor.store import LOOPBACK, StoreProcess, hosted_store
from measure.supervisor.stuck import FREE_WITHIN_S, Patience
from measure.supervisor.suspicion import suspicion_of

_TRAIN_DELAY_S = 0.02
"""From the order to train to the common instant: every rank has heard it by then."""
_TICK_S = 0.05
_GRACE_S = 2.0
_NODES_WITHIN_S = 60.0
"""So soon the agents of all nodes have come."""
_MOST_REPLACEMENTS = 8
"""So many recoveries a run; then it stops, with what it has."""
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
        most = max(len(job.schedule.events), _MOST_REPLACEMENTS)
        anew = job.world_size * most if traits.way is Way.RESTART else 0
        self._slots = job.world_size + job.spares + _MOST_REPLACEMENTS + anew
        self._generation = -1
        self._training = False
        self._lost_at: float | None = None
        self._growing = self._forced = False
        self._pause: Pause | None = None
        self._pending: Pending | None = None
        self._struck: set[int] = set()
        self._armed: dict[int, float] = {}
        self._progress = Progress()
        self._slots_of: list[int] = []
        self._train_at, self._first_step = 0.0, 0
        self._lineage = Lineage(folder, job.world_size)
        self._nodes: Nodes | None = None
        self._store: StoreProcess | None = None
        self._homes = Homes(job.run_key(), self._seen)
        self._inquiries = Inquiries(folder, job.run_id, self._seen)

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
        self._seen.nodes, self._homes.nodes = self._nodes.views, self._nodes
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
        elif said == "suspect":
            self._suspected(suspicion_of(message))
        elif said == "kept":
            self._inquiries.answered(view, message)
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

    def _suspected(self, found: Suspicion) -> None:
        """A monitor's word. Unless it is only a report, all come out of their groups at once: who
        did not notice by itself must not train on."""
        now, members = time.monotonic(), [self._seen.ranks[slot] for slot in self._slots_of]
        by_rank = {view.group_rank or 0: view for view in members}
        if not self._inquiries.suspect(found, self._generation, by_rank, now):
            return
        self._growing = False
        if self._lost_at is None:
            self._lost_at = now
            self._on_phase("detecting")
        self._crew.tell_all("regroup", generation=self._generation, step=None)

    def _cannot(self, view: RankView, why: str) -> None:
        """At first the cell cannot work here; once it has trained, something got in its way."""
        if self._seen.training_at is None:
            view.infeasible = why
        else:
            view.stopped_at, view.how, view.error = time.monotonic(), "infeasible", why

    def _died(self, view: RankView) -> None:
        view.died_at = time.monotonic()
        if view.quarantined and view.plays is not None:
            self._homes.forget(view, view.plays)
            return
        if not view.member or (view.given_up and not self._had_struck(view)):
            return
        if view.plays is not None:
            # A rank stands for its host: what was in that host's memory is gone with it.
            self._homes.forget(view, view.plays)
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
        self._homes.stay_near(self._living())
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
        if self._inquiries.open is not None and all(self._rests(view) for view in living):
            self._investigate(living)
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
            view.finished_at = None
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
                not_after=self._inquiries.not_after,
                **several,
            )

    def _train(self, living: list[RankView]) -> None:
        """Every rank has restored, and they prove one state: training goes on, once it is written
        down what it goes on from."""
        pending = self._pending
        line = self._lineage.goes_on(
            self._generation,
            living,
            pending.way if pending else "",
            pending.reached if pending else 0,
            self._inquiries.why,
            self._inquiries.quarantined,
        )
        self._seen.lineage.append(line)
        self._looked_at = time.monotonic()  # that took as long as the disk takes
        at = time.monotonic() + _TRAIN_DELAY_S
        for view in living:
            self._crew.tell(view, "train", at=at)
        self._training, self._lost_at = True, None
        self._train_at, self._first_step = at, living[0].restored_step
        if self._seen.training_at is None:
            self._seen.training_at = at
        if pending is not None:
            self._seen.recoveries.append(self._completed(pending, living[0], at))
            self._pending = None
            self._inquiries.resumed(living[0].restored_step)
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
            why=self._inquiries.why,
        )

    def _can_recover(self, living: list[RankView]) -> bool:
        """Somebody is lost, the mechanism recovers, and every survivor waits for orders."""
        if not self._is_recovering() or self._inquiries.open is not None or self._is_leaving():
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
        if self._inquiries.why_halted:
            return self._inquiries.why_halted
        if self._traits.way is not None and not self._may_recover_again():
            return f"training had been brought back {_MOST_REPLACEMENTS} times"
        done = [str(view.plays) for view in living if view.finished_at is not None]
        if self._traits.way is not None and done:
            return f"ranks {', '.join(done)} had made their last step, and left"
        return why_none(self._seen.ranks, living, self._job.world_size, self._traits)

    def _waits(self, view: RankView) -> bool:
        """Whether a rank waits for orders: it noticed a loss, or is ready to train, or is done, and
        all go back behind that."""
        stopped = view.stopped_at is not None and not view.stuck
        goes_back = view.finished_at is not None and self._inquiries.goes_back
        return stopped or goes_back or (view.built and not self._training)

    def _rests(self, view: RankView) -> bool:
        """Whether a rank makes no step any more, for whatever reason."""
        return view.stuck or view.finished_at is not None or self._waits(view)

    def _investigate(self, living: list[RankView]) -> None:
        """All have come to rest for a suspicion: has them add to the evidence, then decides."""
        if not self._inquiries.is_asking():
            self._inquiries.ask(self._crew, [view for view in living if not view.stuck])
        elif not self._inquiries.is_waiting(self._limits.quiet_s):
            for silent in self._inquiries.conclude(self._is_recovering()):
                silent.stuck = True
            self._looked_at = time.monotonic()  # that took as long as the disk takes
            if self._inquiries.goes_back:
                self._quarantine([self._seen.ranks[slot] for slot in self._inquiries.quarantined])
                if self._traits.way is Way.RESTART:
                    self._start_anew()

    def _quarantine(self, suspects: list[RankView]) -> None:
        """Others take the places of these, on other nodes where there are any; what they have in
        memory is not used any more."""
        if not suspects:
            return
        for view in suspects:
            view.quarantined = True
            self._homes.shun(view)
        self._crew.give_up_on(suspects)
        if not self._traits.grows and self._traits.way is Way.SMALLER:
            return
        for _ in suspects if self._nodes is not None else ():
            self._crew.launch_another()  # spares may be on the node that is left
        self._fill_up()

    def _stuck(self, living: list[RankView]) -> list[RankView]:
        """Survivors that do not come free; see measure.supervisor.stuck."""
        if self._lost_at is None or self._seen.training_at is None or not self._is_recovering():
            return []
        patience = Patience(self._job, self._limits, self._traits, self._survivors_go_on())
        now = time.monotonic()
        return patience.stuck(living, self._beats.read(), self._waits, self._lost_at, now)

    def _replace(self, stuck: list[RankView]) -> None:
        """Ends who cannot be set free; a new process is to take the place of each."""
        stuck = [view for view in stuck if not view.given_up]
        self._homes.stay_near(stuck)
        self._crew.give_up_on(stuck)
        for _ in stuck:
            self._crew.launch_another()

    def _somebody_is_waited_for(self, living: list[RankView]) -> bool:
        """Whether a process that was started to replace another is not up yet, or one that is
        replaced is not gone yet, or a survivor that is to go on has not come free."""
        coming = any(
            not view.member and not view.ready and view.died_at is None for view in self._seen.ranks
        )
        stuck = any(view.stuck for view in living)
        return self._is_recovering() and (coming or stuck or self._is_leaving())

    def _is_leaving(self) -> bool:
        """Whether a process that was quarantined is not gone yet: its memory would be another's."""
        return any(view.quarantined and view.died_at is None for view in self._seen.ranks)

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
        late = time.monotonic() > self._lost_at + max(FREE_WITHIN_S, 2.0 * self._pause.step_s)
        return late and not all(self._waits(view) for view in living)

    def _recover(self, living: list[RankView]) -> None:
        """Chooses who goes on and who replaces, and orders the next generation."""
        idle_at = time.monotonic()
        self._on_phase("recovering")
        size, growing = self._job.world_size, self._growing
        near, avoid = self._homes.near_memory(), self._homes.to_leave()
        plan = elect(self._seen.ranks, living, size, self._traits, growing, near, avoid)
        if plan is None:
            # Nobody waits to replace the lost, but processes may be started for them.
            if self._traits.grows and not self._survivors_go_on():
                self._fill_up()
            return
        broken_off = self._pending.reached if self._pending else 0
        reached = max(self._steps_reached(), broken_off)
        if self._progress.note(self._beats.read(), not growing) >= _MOST_WITHOUT_PROGRESS:
            self._seen.ending = Ending.NO_PROGRESS
            return
        self._take_in(plan)
        lost = self._lost()
        begun = [self._lost_at or idle_at, *([self._pending.lost_at] if self._pending else [])]
        lost_at, self._lost_at = min(begun), None
        self._growing = False
        self._form(self._living())
        self._pending = Pending(lost, lost_at, idle_at, time.monotonic(), plan.way, reached)

    def _lost(self) -> tuple[int, ...]:
        """The slots that were lost so far; where all go back for a suspicion, those that were lost
        meanwhile."""
        dead = [v for v in self._seen.members if v.died_at is not None and not v.quarantined]
        if self._inquiries.decision is not None:
            before = {slot for found in self._seen.recoveries for slot in found.lost}
            dead = [v for v in dead if not v.given_up and v.rank not in before]
        return tuple(view.rank for view in dead)

    def _survivors_go_on(self) -> bool:
        """Whether survivors go on as a smaller group, from what they have."""
        return self._traits.way is Way.SMALLER and self._traits.shrinks

    def _steps_reached(self) -> int:
        """How many steps somebody had complete in the generation that is over."""
        beats = self._beats.read()
        since = [beats[slot] for slot in self._slots_of if beats[slot].step_at > self._train_at]
        return max([self._first_step, *(beat.steps for beat in since)])

    def _take_in(self, plan: Election) -> None:
        for view, place in plan.joining:
            view.member, view.plays = True, place
            self._homes.taken(place)

    def _ending(self, now: float) -> Ending | None:
        seen, living = self._seen, self._living()
        if self._interrupted():
            return Ending.INTERRUPTED
        if any(view.infeasible for view in living):
            return Ending.INFEASIBLE
        if self._inquiries.is_asking():
            return None
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
        asked_at = self._inquiries.concluded_at
        since = max(self._seen.training_at or 0.0, self._lost_at or 0.0, ordered_at, asked_at)
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
        if self._inquiries.open is not None:
            self._inquiries.conclude(recovers=False)
        if self._seen.ending is None:  # an error of ours is on its way up
            self._seen.ending = Ending.INTERRUPTED
        self._crew.end(_GRACE_S)
