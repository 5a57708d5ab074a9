"""A rank process, from its birth to its end. Preloaded into the fork server: it imports torch."""

import json
import os
import resource
import signal
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import torch

from measure.architectures import registry as architectures
from measure.errors import InfeasibleError
from measure.faults.acts.act import Scene
from measure.faults.injector import InjectedError, Injector
from measure.faults.kinds import FaultKind, RecoveryPhase, StartPhase
from measure.interfaces.architecture import Architecture
from measure.interfaces.capabilities import ArchitectureEntry, Capability
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.monitor import SuspectError, Suspicion
from measure.job_spec import JobSpec
from measure.mechanisms import registry as mechanisms
from measure.monitors import registry as monitors
from measure.monitors.watch import Watch
from measure.nodes.strike import strike
from measure.rank import evidence, exit_codes, restoring
from measure.rank.context import RankContext
from measure.rank.control import Inbox, say
from measure.rank.event_log import EventLog
from measure.rank.groups import (
    LOOPBACK_ADDRESS,
    ProcessGroups,
    StorePlace,
    stay_on_loopback,
)
from measure.rank.heartbeat import Heartbeat, Where
from measure.rank.parent import die_with_parent
from measure.rank.scheduling import take_turns
from measure.rank.stillness import Stillness
from measure.rank.training_loop import PausedError, TrainingLoop
from measure.state import segment_names
from measure.state.contract import RunFacts
from measure.workloads import catalogue as workloads
from measure.workloads.seeding import seed_generators

_LONGEST_TRACEBACK = 4000
_FREED_AGAIN_S = 0.02


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank lives: its run's folder and store, and which node of several, if there are."""

    folder: Path
    store_port: int
    store_host: str = LOOPBACK_ADDRESS
    node: int | None = None
    """None: all ranks are on one."""
    agent: int = 0
    """The pid of the node's agent."""
    beats: str = ""
    """The file of the node's heartbeats; empty: in the folder."""
    interface: str = ""
    """Carries the training; empty: the loopback, as `recovery_interface`."""
    recovery_interface: str = ""
    """Carries what ranks send each other to save and to restore."""

    def log_path(self, rank: int) -> Path:
        """The rank's event log."""
        return self.folder / f"rank-{rank}.jsonl"

    def output_path(self, rank: int) -> Path:
        """What the rank and its libraries print."""
        return self.folder / f"rank-{rank}.out"

    @property
    def heartbeats(self) -> Path:
        """The file of all heartbeats."""
        return Path(self.beats) if self.beats else self.folder / "heartbeats"


def run_rank(job_json: str, rank: int, folder: str, store_port: int, pipe: Connection) -> None:
    """The whole life of one rank; never returns. Its exit code says how it ended: 0 by order of
    the supervisor, 1 when its training code raised."""
    live_at(job_json, rank, Place(Path(folder), store_port), pipe)


def place_of(text: str) -> Place:
    """The place that an agent gave as JSON: its fields by name."""
    told = json.loads(text)
    return Place(**{**told, "folder": Path(told["folder"])})


def live_at(job_json: str, rank: int, place: Place, pipe: Connection) -> None:
    """As `run_rank`, at a place."""
    # Who puts the folder aside, to make the run anew under its name, takes along what is written by
    # names that begin here.
    os.chdir(place.folder)
    place = replace(place, folder=Path())
    settle(place.output_path(rank))
    log = EventLog(place.log_path(rank), rank)
    code = 0
    try:
        job = JobSpec.from_json(job_json)
        _Rank(job, rank, place, pipe, log).live()
    except BaseException as error:
        code = exit_codes.RAISED
        said = traceback.format_exc()[-_LONGEST_TRACEBACK:]
        with suppress(OSError):  # a full disk may be what it raised for
            log.write("raised", error=said, injected=isinstance(error, InjectedError))
    # Destructors of groups whose peers are gone may block: the kernel cleans up better.
    os._exit(code)


class _Rank:
    """A process that takes part in one generation of the training after the other.

    `slot` is which process it is. As which rank it trains, the supervisor's order says, and whose
    `place` it takes: a spare that of a dead process, a survivor keeps its own, though its rank in
    a smaller group may be another.
    """

    def __init__(
        self, job: JobSpec, slot: int, place: Place, pipe: Connection, log: EventLog
    ) -> None:
        self.job, self.place, self.pipe, self.log = job, place, pipe, log
        self.heartbeat = Heartbeat(place.heartbeats, slot)
        self.injector = Injector(job.schedule, slot, log, self._strike_node, self._struck)
        self.groups: ProcessGroups | None = None
        self.loop: TrainingLoop | None = None
        self.freeing: _Freeing | None = None
        self.mechanism: Mechanism = mechanisms.load(job.mechanism)
        self.attached = False
        self.watch = Watch(monitors.load(job.monitors), self._suspects)
        self.entry = architectures.entry_named(job.architecture)
        self.continues = job.goes_on_alone(self.entry)
        self.inbox = Inbox(
            pipe, self._told_of_loss, self.injector.arm, lambda: os._exit(exit_codes.ORPHANED)
        )

    def live(self) -> None:
        """Comes up, then serves every generation that it is ordered into, until the end."""
        self.injector.at_phase(StartPhase.STARTING)
        stay_on_loopback(self.place.interface)
        self.workload = workloads.build(self.job.workload, self.job.profile, self.job.seed)
        self.log.write("ready")
        say(self.pipe, "ready")
        while (order := self.inbox.next_order())["said"] != "end":
            if order["said"] == "keep":
                self._keep(Path(order["folder"]) if order["folder"] else None)
                continue
            try:
                self._leave()
                self._serve(order)
            except InjectedError:
                raise
            except InfeasibleError as error:
                self.log.write("infeasible", why=str(error))
                say(self.pipe, "infeasible", why=str(error))
            except Exception as error:
                self._stopped(error)

    def _serve(self, order: dict[str, Any]) -> None:
        """One generation: forms its groups, builds, restores, trains to the end."""
        first = self._join(order)
        train = self.inbox.next_order()
        if train["said"] != "train":  # another rank was lost meanwhile: this generation is over
            self.inbox.put_back(train)
            return
        time.sleep(max(0.0, train["at"] - time.monotonic()))
        self.log.write("training", generation=order["generation"], step=first)
        if order["generation"] == 0:
            self.injector.training_started(train["at"])
        assert self.loop is not None
        self.loop.run(first, self.job.steps)
        self._detach()  # now, while peers are still there: a save may be on its way
        self.log.write("finished", peak_memory_bytes=_peak_memory_bytes(self.job.device))
        say(self.pipe, "finished")

    def _join(self, order: dict[str, Any]) -> int:
        """Becomes a rank of a generation; returns the step that it is to train next."""
        generation = order["generation"]
        armed = {int(ordinal): at for ordinal, at in order["armed"].items()}
        self.injector.take(order["place"], order["pending"], armed)
        self.injector.at_phase(StartPhase.FORMING_GROUPS)
        if order["training_at"] is not None:
            self.injector.training_started(order["training_at"])
        context = self._context(order)
        architecture = architectures.load(self.entry)(context, self.workload)
        architecture.build()
        seed_generators(self.job.seed, context.rank)
        groups_s = self.groups.formation_s if self.groups else 0.0
        self.log.write("formed", generation=generation, groups_s=groups_s)
        surroundings = self._surroundings(order)
        self.loop = TrainingLoop(
            architecture,
            self.mechanism,
            self.injector,
            self.log,
            self.heartbeat,
            self.inbox.lost,
            self._dropped,
            self.job.alternation(),
            lambda: self.inbox.pause_at,
            self.watch,
        )
        self.attached = True
        self.mechanism.attach(architecture, surroundings)
        shared_bytes = segment_names.held_bytes(surroundings.run_key, context.rank, self.place.node)
        self.log.write("attached", generation=generation, shared_bytes=shared_bytes)
        scene = Scene(architecture, self.place.folder, self.job.run_key(), self.place.node)
        self.injector.attach(scene)
        if generation:
            self.injector.at_phase(RecoveryPhase.RESTORING)
        not_after = order.get("not_after")
        step, source, proof = self._restored(architecture, surroundings, not_after)
        self.log.write("restored", generation=generation, step=step, source=source)
        limit_s = self.job.round_limit_s if self.continues else self.job.group_timeout_s
        store = surroundings.store
        self.watch.attach(architecture, store, generation, limit_s, self.log, self.continues)
        optimizer = architecture.state().optimizer
        self.log.write(
            "built", groups_s=groups_s, optimizer=type(optimizer).__name__ if optimizer else ""
        )
        batch = architecture.state().loader.global_batch
        say(self.pipe, "built", step=step, proof=proof, source=source, global_batch=batch)
        if generation:
            self.injector.at_phase(RecoveryPhase.CHECKING)
        return step

    def _restored(
        self, architecture: Architecture, at: Surroundings, not_after: int | None
    ) -> tuple[int, str, dict[str, str]]:
        """(the step to train next, of which tier it was restored, what proves it): the newest
        state that all can prove, of at most `not_after` steps; step 0 at first, and where there is
        none."""
        if not at.generation:
            return 0, "", {}
        context = architecture.context
        group = restoring.Group(at.store, context.rank, context.world_size, at.timeout_s)
        tiers = self.mechanism.tiers()
        found = restoring.newest(tiers, group, self.log, not_after)
        step = restoring.go_on_from(found, architecture, tiers, self.log)
        promised = found.digest if found else ""
        proof = restoring.proof(architecture, step, at.facts, at.one_writer, promised)
        return step, found.tier if found else "", proof

    def _surroundings(self, order: dict[str, Any]) -> Surroundings:
        job = self.job
        assert self.groups is not None
        groups = self.groups
        return Surroundings(
            folder=self.place.folder,
            run_key=job.run_key(),
            store=groups.store,
            new_store=groups.new_store,
            generation=order["generation"],
            timeout_s=job.group_timeout_s,
            interval_steps=job.interval_steps or job.steps + 1,
            replicas=job.replicas,
            one_writer=_one_writer(self.entry),
            goes_on_alone=self.continues,
            somebody_lost=lambda: self.inbox.told_of_loss,
            facts=self._facts(),
            log=self.log,
            nodes=tuple(order.get("nodes", ())),
            node=self.place.node,
            kept=job.kept,
        )

    def _context(self, order: dict[str, Any]) -> RankContext:
        job, rank = self.job, order["rank"]
        self.inbox.new_generation(order["generation"])
        torch.manual_seed(job.seed)
        at = StorePlace(self.place.store_host, self.place.store_port, order["generation"])
        self.groups = ProcessGroups(
            at,
            rank,
            order["world_size"],
            job.backend,
            job.group_timeout_s,
            job.round_limit_s,
            self.place.recovery_interface,
        )
        if order["generation"] and self.inbox.told_of_loss:
            raise RuntimeError("a peer was lost before the groups were formed")
        return RankContext(
            rank=rank,
            world_size=order["world_size"],
            seed=job.seed,
            device=_device(job.device, rank),
            backend=job.backend,
            round_limit_s=job.round_limit_s,
            groups=self.groups,
        )

    def _strike_node(self, kind: FaultKind) -> None:
        place = self.place
        assert place.node is not None, "a fault of a node, and there is one only"
        interfaces = (place.interface, place.recovery_interface)
        strike(kind, self.job.run_key(), place.node, place.agent, interfaces)

    def _struck(self, ordinal: int) -> None:
        say(self.pipe, "struck", ordinal=ordinal)

    def _leave(self) -> None:
        """Lets go of the generation that is over, before the next one."""
        if self.groups is None:
            return
        self._is_free()
        # A group's destructor waits for what is still under way in it.
        freeing = _Freeing(self.groups, self._stuck)
        try:
            self._detach()
            self.loop = None
            self.injector.detach()
            self.groups.close()
        finally:
            freeing.end()
        self.log.write("left")

    def _told_of_loss(self, rank: int | None) -> None:
        self.log.write("told", rank=rank)
        if self.groups is not None and not self.continues and self.freeing is None:
            self.freeing = _Freeing(self.groups, self._stuck)

    def _detach(self) -> None:
        self.watch.detach()
        self.heartbeat.at(Where.ELSEWHERE, 0)
        if self.attached:
            self.attached = False
            self.mechanism.detach()

    def _is_free(self) -> None:
        """The training thread is in no group any more."""
        if self.freeing is not None:
            self.freeing.end()
            self.freeing = None

    def _dropped(self, peer: int, how: str) -> None:
        self.log.write("dropped", rank=peer, how=how)
        say(self.pipe, "dropped", rank=peer, how=how)

    def _suspects(self, suspicion: Suspicion) -> None:
        found = suspicion.as_json()
        self.log.write("suspect", **found)
        say(self.pipe, "suspect", **found)

    def _stopped(self, error: Exception) -> None:
        """Reports a lost peer, or what a monitor found. The groups stay open until the next order:
        closing them would tell the neighbours, who have to notice by themselves."""
        if not isinstance(error, PausedError):
            self.injector.at_phase(RecoveryPhase.NOTICING)
        how = "regroup" if isinstance(error, PausedError) else _how_noticed(error)
        if self.inbox.told_of_loss and how != "group timeout":
            how = "supervisor"
        if isinstance(error, SuspectError):
            how = "monitor"
            self._suspects(error.suspicion)
        said = f"{type(error).__name__}: {_first_line(str(error))}"
        # The traceback's frames hold the architecture, and so its groups, for ever.
        traceback.clear_frames(error.__traceback__)
        self._is_free()
        self._say_stopped(how, said, stuck=False)
        if how != "regroup":
            self.injector.at_phase(RecoveryPhase.ELECTING)

    def _keep(self, folder: Path | None) -> None:
        """Adds to the evidence of an incident what this rank has; into the folder, if there is one,
        its state."""
        self._is_free()
        told = {**evidence.NOTHING, "why": "it had built nothing"}
        if self.loop is not None:
            loop, replicated = self.loop, _one_writer(self.entry)
            told, state = evidence.kept(
                loop.architecture, loop.done, not loop.within_step, self._facts(), replicated
            )
            if folder is not None and state is not None:
                told |= evidence.saved(state, folder)
        say(self.pipe, "kept", **told)

    def _facts(self) -> RunFacts:
        return RunFacts(self.job.digest(), {"torch": torch.__version__})

    def _stuck(self) -> None:
        """Nothing will set the training thread free but the group's own timeout: somebody else has
        to take this rank's place."""
        if self.inbox.is_waiting:
            return
        said = "a group that has lost a peer does not set it free"
        self._say_stopped("supervisor", said, stuck=True)

    def _say_stopped(self, how: str, error: str, *, stuck: bool) -> None:
        told = {"how": how, "error": error, "stuck": stuck}
        peak_bytes = _peak_memory_bytes(self.job.device)
        where = self.heartbeat.where
        self.log.write("stopped", **told, peak_memory_bytes=peak_bytes, where=where)
        say(self.pipe, "stopped", **told)


class _Freeing:
    """Sets the training thread free, over and over until `end`: while groups are being formed,
    new connections appear. `on_stuck` hears once if that is of no use: of a send that begins as
    its connection breaks gloo loses track, and never ends it."""

    def __init__(self, groups: ProcessGroups, on_stuck: Callable[[], None]) -> None:
        self._groups, self._on_stuck, self._over = groups, on_stuck, threading.Event()
        groups.leave()
        self._thread = threading.Thread(target=self._repeat, name="freeing", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """It is free; nothing that is opened from now on is shut."""
        self._over.set()
        self._thread.join()

    def _repeat(self) -> None:
        stillness, is_known = Stillness(), False
        while not self._over.wait(_FREED_AGAIN_S):
            self._groups.leave()
            if not is_known and stillness.lasts():
                is_known = True
                self._on_stuck()


def _one_writer(entry: ArchitectureEntry) -> bool:
    """Gossip replicates approximately: without a group of all ranks each keeps its own model."""
    return {Capability.REPLICATED_STATE, Capability.FULL_RANK_GROUP} <= entry.capabilities


def settle(output: Path) -> None:
    """Makes this process a rank: it dies with its parent, and leaves signals to the supervisor."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    take_turns()
    torch.set_num_threads(1)
    with output.open("ab") as file:  # warnings of torch's C++ side have no other place
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


def _device(kind: str, rank: int) -> torch.device:
    if kind == "cpu":
        return torch.device("cpu")
    device = torch.device("cuda", rank % torch.cuda.device_count())
    torch.cuda.set_device(device)
    return device


def _how_noticed(error: Exception) -> str:
    said = str(error).lower()
    return "group timeout" if "timed out" in said or "timeout" in said else "connection closed"


def _first_line(text: str) -> str:
    lines = [line for line in text.strip().splitlines() if line.strip()]
    return (lines[-1] if text.startswith("Traceback") else lines[0])[:300] if lines else ""


def _peak_memory_bytes(device: str) -> int:
    if device == "cuda":
        return int(torch.cuda.max_memory_allocated())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
