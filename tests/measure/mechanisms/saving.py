"""What ranks do in the tests of mechanisms that save to storage."""

import errno
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch.distributed as dist

from measure.errors import InfeasibleError
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.mechanisms.asynchronous_disk import FOLDER
from measure.mechanisms.periodic_disk import FOLDER as PERIODIC
from measure.mechanisms.registry import load
from measure.rank.groups import ProcessGroups
from measure.state import host_memory
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState, RunFacts, capture
from measure.state.digest import digests
from measure.state.errors import PeerFailedError
from tests.measure.state.os_calls import set_on_os

FACTS = RunFacts("a test", {"torch": "2"})
FOLDERS = {"ft1": PERIODIC, "ft3": FOLDER}
PATIENT_S = 20.0


Proof = tuple[str, ...]


def proof(state: RankState) -> Proof:
    """Digests of a state, without the buffers: one rank's serve all where the model is one."""
    found = digests(state)
    return found.parameters, found.optimizer, found.rng, found.position


@dataclass
class Kept:
    """A log in memory."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def write(self, event: str, **fields: Any) -> float:
        """See measure.interfaces.mechanism.Log."""
        self.events.append({"event": event, **fields})
        return time.monotonic()

    def of(self, step: int) -> list[str]:
        """The events of one step."""
        return [found["event"] for found in self.events if found.get("step") == step]

    def wait_for(self, step: int) -> None:
        """Returns once something is said of the step; AssertionError past the deadline."""
        deadline = time.monotonic() + PATIENT_S
        while not self.of(step):
            assert time.monotonic() < deadline, (step, self.events)
            time.sleep(0.002)


@dataclass(frozen=True)
class Came:
    """What a rank's log has, its state's digest at each due step, and how long it took."""

    events: list[dict[str, Any]]
    digests: dict[int, Proof]
    seconds: float = 0.0

    def events_by_step(self) -> dict[int, list[str]]:
        """The names of the events of each step."""
        found: dict[int, list[str]] = {}
        for event in self.events:
            found.setdefault(event["step"], []).append(event["event"])
        return found

    def why(self, step: int) -> str:
        """Why a step was not saved."""
        return next(str(e["why"]) for e in self.events if e["step"] == step and "why" in e)


class Saving:
    """A rank that trains with a mechanism."""

    def __init__(
        self,
        architecture: Architecture,
        mechanism: str,
        folder: str,
        interval_steps: int = 2,
        **changes: Any,
    ) -> None:
        self.architecture, self.log = architecture, Kept()
        self.mechanism: Mechanism = load(mechanism)
        self.lost = threading.Event()
        groups = architecture.context.groups
        assert isinstance(groups, ProcessGroups)
        usual: dict[str, Any] = {
            "folder": Path(folder),
            "run_key": "0" * 12,
            "store": groups.store,
            "new_store": groups.new_store,
            "generation": 0,
            "timeout_s": PATIENT_S,
            "interval_steps": interval_steps,
            "replicas": 0,
            "one_writer": False,
            "goes_on_alone": False,
            "somebody_lost": self.lost.is_set,
            "facts": FACTS,
            "log": self.log,
        }
        self.surroundings = Surroundings(**{**usual, **changes})
        self.mechanism.attach(architecture, self.surroundings)
        self.done, self.digests = 0, dict[int, Proof]()

    def step(self, waits: bool = False) -> None:
        """One step; `waits` until it is known what became of its save, if one is due."""
        self.architecture.step()
        self.done += 1
        due = self.done % self.surroundings.interval_steps == 0
        if due:
            self.digests[self.done] = proof(capture(self.architecture, self.done, FACTS))
        self.mechanism.after_step(self.done - 1)
        if due and waits:
            self.log.wait_for(self.done)

    def came(self, seconds: float = 0.0) -> Came:
        """What is to be sent to the test."""
        return Came(self.log.events, self.digests, seconds)


def slow_writes(seconds: float, when: Callable[[], bool] = lambda: True) -> None:
    """Every write of a large piece to a file takes so long, in this process."""
    write = os.write

    def slow(descriptor: int, data: Any) -> int:
        if len(data) >= 1000 and when():
            time.sleep(seconds)
        return write(descriptor, data)

    set_on_os("write", slow)


class Broken:
    """A function of `os` that fails for files of checkpoints while `on` is set."""

    def __init__(self, call: str, number: int = errno.EIO) -> None:
        self.on = False
        original = getattr(os, call)

        def failing(*arguments: Any, **named: Any) -> Any:
            if self.on and (call != "open" or str(arguments[0]).endswith(".tmp")):
                raise OSError(number, os.strerror(number))
            return original(*arguments, **named)

        set_on_os(call, failing)


def saves(
    architecture: Architecture, mechanism: str, folder: str, steps: int, one_writer: bool
) -> Came:
    """Trains on while each save is slow, and waits for it before the next is due."""
    slow_writes(0.01)
    rank = Saving(architecture, mechanism, folder, interval_steps=3, one_writer=one_writer)
    for _ in range(steps):
        if rank.done > 2 and rank.done % 3 == 2:
            rank.log.wait_for(rank.done - 2)
        rank.step()
    rank.mechanism.detach()
    return rank.came()


def saves_too_often(architecture: Architecture, folder: str, steps: int) -> Came:
    """Each save takes as long as several steps, and one is due after each."""
    slow_writes(0.1)
    rank = Saving(architecture, "ft3", folder, interval_steps=1)
    for _ in range(steps):
        rank.step()
        time.sleep(0.01)
    rank.mechanism.detach()
    return rank.came()


def one_is_busy(architecture: Architecture, folder: str) -> Came:
    """Rank 0's thread is still pruning when the next save is due, the others' are idle."""
    rank = Saving(architecture, "ft3", folder)
    prune, free = Checkpoints.prune, threading.Event()
    if architecture.context.rank == 0:

        def slow(self: Checkpoints, *arguments: Any) -> Any:
            free.wait(PATIENT_S)
            return prune(self, *arguments)

        setattr(Checkpoints, "prune", slow)  # noqa: B010 - for this process
    rank.step()
    rank.step()
    if architecture.context.rank != 0:
        rank.log.wait_for(2)
    rank.step()  # in which the others wait for rank 0, and it for them
    time.sleep(0.2)
    begin = time.monotonic()
    rank.step()
    rank.log.wait_for(4)
    took_s = time.monotonic() - begin
    free.set()
    rank.log.wait_for(2)
    time.sleep(0.2)
    rank.step()
    rank.step(waits=True)
    rank.mechanism.detach()
    return rank.came(took_s)


def one_fails(architecture: Architecture, folder: str, call: str) -> tuple[Came, list[str]]:
    """The last rank's call fails during the second save; the third one is well again. Also what
    this rank has left of the second one."""
    broken = Broken(call)
    is_last = architecture.context.rank == architecture.context.world_size - 1
    rank = Saving(architecture, "ft3", folder)
    left: list[str] = []
    for _ in range(6):
        broken.on = is_last and rank.done in (2, 3)
        rank.step(waits=True)
        if rank.done == 4:
            mine = f"{FOLDER}/step-00000004/rank-{architecture.context.rank:05d}-*"
            left = [path.name for path in Path(folder).glob(mine)]
    rank.mechanism.detach()
    return rank.came(), left


def detaches(architecture: Architecture, folder: str, lost: bool) -> tuple[Came, list[int], bool]:
    """Ends a generation with a save in flight, and saves again in the next one."""
    slow = threading.Event()
    slow_writes(0.05, slow.is_set)
    rank = Saving(architecture, "ft3", folder)
    rank.step()
    rank.step(waits=True)
    slow.set()
    rank.step()
    rank.step()
    if lost:
        rank.lost.set()
    begin = time.monotonic()
    rank.mechanism.detach()
    took_s = time.monotonic() - begin
    here = [g.step for g in Checkpoints(Path(folder) / FOLDER).generations()]
    threads = [t.name for t in threading.enumerate() if t.name == "background saves"]
    assert not threads, threads
    slow.clear()
    rank.lost.clear()
    again = rank.surroundings
    rank.mechanism.attach(architecture, _next_generation(again))
    rank.step()
    rank.step(waits=True)
    rank.mechanism.detach()
    return rank.came(took_s), here, rank.log.of(6) == ["saved"]


def commits_late(architecture: Architecture, folder: str) -> tuple[Came, list[int]]:
    """Somebody is lost while rank 0 is about to publish the manifest: all shards are there."""
    publish, publishing = Checkpoints.publish, threading.Event()

    def slow(self: Checkpoints, *arguments: Any) -> Any:
        publishing.set()
        time.sleep(0.5)
        return publish(self, *arguments)

    setattr(Checkpoints, "publish", slow)  # noqa: B010 - for this process
    rank = Saving(architecture, "ft3", folder)
    rank.step()
    rank.step()
    if architecture.context.rank == 0:
        publishing.wait(PATIENT_S)
    rank.step()  # rank 0 makes it only then
    rank.lost.set()
    rank.mechanism.detach()
    here = [g.step for g in Checkpoints(Path(folder) / FOLDER).generations()]
    return rank.came(), here


def hangs(architecture: Architecture, folder: str) -> tuple[Came, bool, list[int]]:
    """A write to the disk hangs while the generation ends, and goes on in the next one; also
    whether that one has buffers of its own, and which generations there are at the end."""
    hanging, stuck, free, fsync = (*(threading.Event() for _ in range(3)), os.fsync)
    hanging.set()
    rank = Saving(architecture, "ft3", folder, timeout_s=0.5)

    def slow(descriptor: int) -> None:
        if threading.current_thread().name == "background saves" and hanging.is_set():
            stuck.set()
            free.wait(PATIENT_S)
        fsync(descriptor)

    set_on_os("fsync", slow)
    rank.step()
    rank.step()
    stuck.wait(PATIENT_S)
    rank.architecture.step()  # all ranks' threads are stuck
    before: Any = rank.mechanism
    buffers = before._buffers
    rank.lost.set()
    begin = time.monotonic()
    rank.mechanism.detach()
    took_s = time.monotonic() - begin
    hanging.clear()
    rank.lost.clear()
    patient = replace(_next_generation(rank.surroundings), timeout_s=PATIENT_S)
    rank.mechanism.attach(architecture, patient)
    rank.step()
    own = before._buffers is not buffers
    free.set()
    rank.step(waits=True)
    rank.mechanism.detach()
    steps = [g.step for g in Checkpoints(Path(folder) / FOLDER).generations()]
    return rank.came(took_s), own, steps


def _next_generation(at: Surroundings) -> Surroundings:
    def new_store() -> dist.Store:
        return dist.PrefixStore("next", at.new_store())

    return replace(at, generation=at.generation + 1, store=new_store(), new_store=new_store)


def loses_a_peer(architecture: Architecture, folder: str) -> Came:
    """The last rank dies as it writes its second shard; the others end the generation."""
    rank = Saving(architecture, "ft3", folder)
    is_last = architecture.context.rank == architecture.context.world_size - 1
    dying = threading.Event()
    rank.step()
    rank.step(waits=True)
    if is_last:
        write = os.write
        set_on_os("write", lambda fd, data: os._exit(1) if dying.is_set() else write(fd, data))
        dying.set()
    rank.step()
    rank.step()
    time.sleep(0.3)
    rank.lost.set()
    begin = time.monotonic()
    rank.mechanism.detach()
    return rank.came(time.monotonic() - begin)


def memory_growth(architecture: Architecture, mechanism: str, folder: str, saves: int) -> float:
    """Bytes by which this process grew with each of so many saves, after the first ones."""
    rank = Saving(architecture, mechanism, folder, interval_steps=1)
    architecture.step()
    before = 0
    for number in range(10 + saves):
        if number == 10:
            before = _resident_bytes()
        rank.mechanism.after_step(number)
        rank.log.wait_for(number + 1)
        _wait_until_idle(rank.mechanism)
    assert all(event["event"] == "saved" for event in rank.log.events), rank.log.events
    size_bytes = rank.log.events[0]["bytes"]
    assert size_bytes > 4_000_000, "one copy that is kept would show"
    growth = (_resident_bytes() - before) / saves
    rank.mechanism.detach()
    return growth


def _wait_until_idle(mechanism: Any) -> None:
    if hasattr(mechanism, "_saves"):
        mechanism._saves.wait(PATIENT_S)


def _resident_bytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def cannot_attach(architecture: Architecture, mechanism: str, folder: str, lacking: str) -> str:
    """What `attach` says where a resource is short."""
    if lacking == "storage":
        set_on_os("statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
    else:
        setattr(host_memory, "available_bytes", lambda: 4096)  # noqa: B010 - for this process
    try:
        Saving(architecture, mechanism, folder)
    except InfeasibleError as error:
        return str(error)
    return ""


def disk_fills(
    architecture: Architecture, mechanism: str, folder: str, asked_first: bool
) -> tuple[Came, list[str]]:
    """The disk is full at the second save, and has room again for the third; also what is in the
    second one's folder after it. `asked_first`: the question for space before the write says so;
    otherwise the write itself has to."""
    rank = Saving(architecture, mechanism, folder)
    if not asked_first:
        plenty = SimpleNamespace(f_bavail=1 << 40, f_frsize=1)
        set_on_os("statvfs", lambda path: plenty)
    left: list[str] = []
    for _ in range(6):
        if rank.done == 3:
            _fill(Path(folder) / f"ballast-{architecture.context.rank}")
        try:
            rank.step(waits=True)
        except PeerFailedError as error:
            rank.log.write("raised", step=rank.done, why=str(error))
        if rank.done == 4:
            made = Path(folder) / FOLDERS[mechanism] / "step-00000004"
            left = sorted(p.name for p in made.iterdir()) if made.is_dir() else []
            architecture.step()  # all have failed before any makes room
            (Path(folder) / f"ballast-{architecture.context.rank}").unlink()
    rank.mechanism.detach()
    return rank.came(), left


def _fill(ballast: Path) -> None:
    descriptor = os.open(ballast, os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):  # that the disk is full, which is what is wanted
        while True:
            os.write(descriptor, bytes(4096))
    os.close(descriptor)
