"""A rank process, from its birth to its end. Preloaded into the fork server: it imports torch."""

import ctypes
import os
import resource
import signal
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from multiprocessing.connection import Connection
from pathlib import Path

import torch
import torch.distributed as dist

from measure.architectures import registry as architectures
from measure.faults.injector import InjectedError, Injector
from measure.faults.schedule import StartPhase
from measure.interfaces.capabilities import Capability
from measure.job_spec import JobSpec
from measure.mechanisms import registry as mechanisms
from measure.rank import exit_codes
from measure.rank.context import RankContext
from measure.rank.control import Inbox, say
from measure.rank.event_log import EventLog
from measure.rank.groups import ProcessGroups, stay_on_loopback
from measure.rank.heartbeat import Heartbeat
from measure.rank.training_loop import TrainingLoop
from measure.workloads import catalogue as workloads

_LONGEST_TRACEBACK = 4000


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank lives: its run's folder and the port of its run's store on this host."""

    folder: Path
    store_port: int

    def log_path(self, rank: int) -> Path:
        """The rank's event log."""
        return self.folder / f"rank-{rank}.jsonl"

    def output_path(self, rank: int) -> Path:
        """What the rank and its libraries print."""
        return self.folder / f"rank-{rank}.out"

    @property
    def heartbeats(self) -> Path:
        """The file of all heartbeats."""
        return self.folder / "heartbeats"


def run_rank(job_json: str, rank: int, folder: str, store_port: int, pipe: Connection) -> None:
    """The whole life of one rank; never returns. Its exit code says how it ended: 0 by order of
    the supervisor, 1 when its training code raised."""
    job, place = JobSpec.from_json(job_json), Place(Path(folder), store_port)
    _settle(place.output_path(rank))
    log = EventLog(place.log_path(rank), rank)
    code = 0
    try:
        _Rank(job, rank, place, pipe, log).live()
    except BaseException as error:
        code = exit_codes.RAISED
        said = traceback.format_exc()[-_LONGEST_TRACEBACK:]
        with suppress(OSError):  # a full disk may be what it raised for
            log.write("raised", error=said, injected=isinstance(error, InjectedError))
    # Destructors of groups whose peers are gone may block: the kernel cleans up better.
    os._exit(code)


class _Rank:
    def __init__(
        self, job: JobSpec, rank: int, place: Place, pipe: Connection, log: EventLog
    ) -> None:
        self.job, self.rank, self.pipe, self.log = job, rank, pipe, log
        self.heartbeat = Heartbeat(place.heartbeats, rank)
        self.injector = Injector(job.schedule, rank, log)
        self.groups: ProcessGroups | None = None
        self.training = False
        self.entry = architectures.entry_named(job.architecture)
        self.continues = Capability.CONTINUES_AFTER_LOSS in self.entry.capabilities
        self.inbox = Inbox(
            pipe, self._told_of_loss, self.injector.arm, lambda: os._exit(exit_codes.ORPHANED)
        )
        self.place = place

    def live(self) -> None:
        """Start, train, wait for the end; a lost peer is reported, an own fault raised."""
        try:
            loop = self._start()
            began = self.inbox.wait_for_train()
            time.sleep(max(0.0, began - time.monotonic()))
            self.training = True
            self.log.write("training")
            self.injector.training_started(began)
            loop.run(0, self.job.steps)
        except InjectedError:
            raise
        except Exception as error:
            self._stopped(error)
        else:
            self.log.write("finished", peak_memory_bytes=_peak_memory_bytes(self.job.device))
            say(self.pipe, "finished")
        self.inbox.wait_for_end()

    def _start(self) -> TrainingLoop:
        self.injector.at_phase(StartPhase.STARTING)
        workload = workloads.build(self.job.workload, self.job.profile, self.job.seed)
        architecture = architectures.load(self.entry)(self._context(), workload)
        self.log.write("ready")
        say(self.pipe, "ready")
        self.inbox.wait_for_form()
        self.injector.at_phase(StartPhase.FORMING_GROUPS)
        architecture.build()
        mechanism = mechanisms.load(self.job.mechanism)()
        mechanism.attach(architecture)
        optimizer = architecture.state().optimizer
        self.log.write(
            "built",
            groups_s=self.groups.formation_s if self.groups else 0.0,
            optimizer=type(optimizer).__name__ if optimizer else "",
        )
        say(self.pipe, "built")
        return TrainingLoop(
            architecture,
            mechanism,
            self.injector,
            self.log,
            self.heartbeat,
            self.inbox.lost,
            self._dropped,
        )

    def _context(self) -> RankContext:
        job = self.job
        stay_on_loopback()
        torch.manual_seed(job.seed)
        store = dist.TCPStore(
            "127.0.0.1",
            self.place.store_port,
            is_master=False,
            wait_for_workers=False,
            timeout=timedelta(seconds=job.group_timeout_s),
        )
        self.groups = ProcessGroups(
            store, self.rank, job.world_size, job.backend, job.group_timeout_s, job.round_limit_s
        )
        return RankContext(
            rank=self.rank,
            world_size=job.world_size,
            seed=job.seed,
            device=_device(job.device, self.rank),
            backend=job.backend,
            round_limit_s=job.round_limit_s,
            groups=self.groups,
        )

    def _told_of_loss(self, rank: int) -> None:
        self.log.write("told", rank=rank)
        if self.groups is not None and not self.continues:
            self.groups.leave()

    def _dropped(self, peer: int, how: str) -> None:
        self.log.write("dropped", rank=peer, how=how)
        say(self.pipe, "dropped", rank=peer, how=how)

    def _stopped(self, error: Exception) -> None:
        how = "supervisor" if self.inbox.told_of_loss else _how_noticed(error)
        said = f"{type(error).__name__}: {_first_line(str(error))}"
        self.log.write(
            "stopped", how=how, error=said, peak_memory_bytes=_peak_memory_bytes(self.job.device)
        )
        say(self.pipe, "stopped", how=how, error=said)
        # The groups stay open until the end: closing them would tell the neighbours, who have to
        # notice by themselves.
        self._kept = error


def _settle(output: Path) -> None:
    """Makes this process a rank: it dies with its parent, and leaves signals to the supervisor."""
    pr_set_pdeathsig = 1
    ctypes.CDLL(None, use_errno=True).prctl(pr_set_pdeathsig, signal.SIGKILL)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
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
