"""A campaign: the cells of one command, run one after the other, each with its record."""

import os
import secrets
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from measure.architectures import registry as architectures
from measure.errors import HarnessError, ShapeError, UsageError
from measure.interfaces.capabilities import ArchitectureEntry, Capability
from measure.job_spec import JobSpec
from measure.mechanisms import registry as mechanisms
from measure.profiles import Profile
from measure.rank.event_log import boot_id, read_log
from measure.results.environment import environment, host_memory_bytes, storage_of
from measure.results.rank_log import Clock, sorted_out
from measure.results.run_record import Surroundings, run_record, utc, write_record
from measure.results.verdict import Run
from measure.supervisor.detect import limits_of
from measure.supervisor.elect import Traits
from measure.supervisor.ranks import RankStarter
from measure.supervisor.run import Supervisor
from measure.workloads import catalogue as workloads

_LEAST_FREE_BYTES = 64_000_000

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

Emit = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Cell:
    """One run to make: its job, its profile, and its workload's facts for the record."""

    job: JobSpec
    profile: Profile
    batch_per_rank: int

    def as_record(self, optimizer: str) -> dict[str, Any]:
        """The cell in the words of the database."""
        job = self.job
        workload = job.workload if job.profile == "paper" else f"{job.workload}-{job.profile}"
        return {
            "architecture": job.architecture,
            "mechanism": job.mechanism,
            "trace": job.schedule.name,
            "profile": job.profile,
            "workload": workload,
            "workload_name": f"{job.workload}, {job.profile} profile",
            "optimizer": optimizer,
            "batch_per_rank": self.batch_per_rank,
            "seed": job.seed,
            "world_size": job.world_size,
            "steps": job.steps,
            "dropped_steps": job.dropped_steps,
            "group_timeout_s": job.group_timeout_s,
            "detector": job.detector.value,
            "round_limit_s": job.round_limit_s,
            "spacing_s": job.schedule.spacing_s,
            "interval_steps": job.interval_steps,
            "replicas": job.replicas,
            "way": job.way.value if job.way else None,
            "lead_s": job.lead_s,
            "device": job.device,
            "backend": job.backend,
        }


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one command is to run."""

    campaign: str
    command: str
    cluster: str
    folder: Path
    cells: Sequence[Cell]


def new_campaign_id() -> str:
    """A name that no other campaign has: when it began, and eight random digits."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def check_folder(folder: Path) -> None:
    """Makes the folder; UsageError if it cannot hold records."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
        if any(entry.is_dir() for entry in folder.iterdir()):
            raise UsageError(f"{folder}: there are runs of this name already")
    except OSError as error:
        raise UsageError(f"{folder}: cannot write run records here: {error.strerror}") from error
    if free < _LEAST_FREE_BYTES:
        raise UsageError(
            f"{folder}: {free / 1e6:.0f} MB free, and run records need"
            f" {_LEAST_FREE_BYTES / 1e6:.0f} MB: name another folder with --folder"
        )


class Campaign:
    """Runs a plan; `emit` hears of every event (see measure/cli.py for their form)."""

    def __init__(self, plan: Plan, emit: Emit, *, has_listener: bool = False) -> None:
        self._plan, self._tell = plan, emit
        self._starter = RankStarter()
        self._stop_asked = False
        self._listener = os.getppid() if has_listener else None

    def run(self) -> bool:
        """Runs every cell; False when it was interrupted, after the current run was ended."""
        plan, finished = self._plan, 0
        check_folder(plan.folder / plan.campaign)
        self._emit(
            "plan",
            {
                "runs": len(plan.cells),
                "cluster": plan.cluster,
                "campaign": plan.campaign,
                "folder": str(plan.folder / plan.campaign),
            },
        )
        around = self._surroundings()
        with signals_noted(self._ask_to_stop):
            for number, cell in enumerate(plan.cells, start=1):
                if self._is_over():
                    break
                self._run_cell(number, cell, around)
                finished = number
        self._emit("end", {"finished": finished})
        return not self._is_over()

    def _emit(self, event: str, fields: dict[str, Any]) -> None:
        """Says what happened. Where nobody hears it any more, the campaign ends in order: an
        error here would leave ranks behind."""
        try:
            self._tell(event, fields)
        except OSError:
            self._stop_asked = True

    def _ask_to_stop(self) -> None:
        self._stop_asked = True

    def _is_over(self) -> bool:
        """Somebody asked to stop, or whoever started this is gone: nobody would hear of it."""
        gone = self._listener is not None and os.getppid() != self._listener
        return self._stop_asked or gone

    def _run_cell(self, number: int, cell: Cell, around: Surroundings) -> None:
        job = cell.job
        self._emit(
            "run-started",
            {
                "run": number,
                "of": len(self._plan.cells),
                "architecture": job.architecture,
                "mechanism": job.mechanism,
                "trace": job.schedule.name,
                "seed": job.seed,
            },
        )
        folder = self._plan.folder / job.run_id
        try:
            folder.mkdir(parents=True)
            record, path = self._measured(number, cell, folder, around)
        except OSError as error:
            raise HarnessError(
                f"{folder}: the run could not be recorded: {error.strerror}"
            ) from error
        self._emit(
            "run-finished",
            {
                "run": number,
                "record": str(path),
                "outcome": record["outcome"],
                "validity": record["validity"],
                "reasons": record["validity_reasons"],
                "wall_s": record["wall_s"],
            },
        )

    def _measured(
        self, number: int, cell: Cell, folder: Path, around: Surroundings
    ) -> tuple[dict[str, Any], Path]:
        job = cell.job
        entry = architectures.entry_named(job.architecture)
        started_at = datetime.now(UTC)
        supervisor = Supervisor(
            job,
            limits_of(job, cell.profile),
            folder,
            on_phase=lambda phase: self._emit("phase", {"run": number, "phase": phase}),
            interrupted=self._is_over,
            traits=_traits(job, entry),
        )
        # Both clocks at one instant: logs of other hosts are set against it.
        wall_ahead = time.time() - time.monotonic()
        seen = supervisor.run(self._starter)
        began = Clock(seen.began_at, seen.began_at + wall_ahead, boot_id())
        logs = [
            sorted_out(rank, read_log(folder / f"rank-{rank}.jsonl"), began)
            for rank in range(len(seen.ranks))
        ]
        built = (log.first("built") for log in logs)
        optimizer = next((e["optimizer"] for e in built if e and e["optimizer"]), "")
        run = Run(job, entry, seen, logs)
        record = run_record(run, around, cell.as_record(optimizer), started_at)
        return record, write_record(record, folder)

    def _surroundings(self) -> Surroundings:
        plan, job = self._plan, self._plan.cells[0].job
        found = environment()
        return Surroundings(
            campaign={
                "campaign": plan.campaign,
                "command": plan.command,
                "seed": min(cell.job.seed for cell in plan.cells),
                "created_at": utc(datetime.now(UTC)),
            },
            cluster=cluster_here(
                plan.cluster, "advisor measure", job.world_size, job.device, plan.folder
            ),
            environment=found,
        )


def cluster_here(name: str, command: str, ranks: int, device: str, folder: Path) -> dict[str, Any]:
    """This machine as the hardware of a record; `folder` lies on its storage."""
    found = environment()
    return {
        "cluster": name,
        "description": f"Measured by {command}: {ranks} ranks on"
        f" {found['cores']} cores of one machine ({found['cpu']})",
        "nodes": 1,
        "ranks_per_node": ranks,
        "device": _device_name(device),
        "device_memory_bytes": _device_memory_bytes(device),
        "host_memory_bytes": host_memory_bytes(),
        "interconnect": "loopback",
        "storage": storage_of(folder),
    }


def _traits(job: JobSpec, entry: ArchitectureEntry) -> Traits:
    workload = workloads.build(job.workload, job.profile, job.seed)

    def fits(world_size: int) -> bool:
        try:
            architectures.load(entry).check_shape(world_size, workload)
        except ShapeError:
            return False
        return True

    return Traits(
        continues=job.goes_on_alone(entry),
        way=job.way,
        shrinks=Capability.REPLICATED_STATE in entry.capabilities,
        grows=mechanisms.entry_named(job.mechanism).grows,
        coordinator=entry.coordinator,
        fits=fits,
    )


class signals_noted:  # noqa: N801 - reads as a statement
    """Ctrl-C, SIGTERM and a closed terminal call `note` once; the second is not held back."""

    def __init__(self, note: Callable[[], None]) -> None:
        self._note = note

    def __enter__(self) -> None:
        heeded = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]  # nohup
        self._before = {number: signal.signal(number, self._heard) for number in heeded}

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, _number: int, _frame: FrameType | None) -> None:
        self._note()
        self.__exit__()


def with_seed(cell: Cell, campaign: str, seed: int) -> Cell:
    """The same cell with another seed, under its own run id."""
    job = cell.job
    trace = (job.schedule.name or "none").lower().replace(" ", "-")
    run_id = f"{campaign}/{job.architecture}-{job.mechanism}-{trace}-s{seed}"
    return replace(cell, job=replace(job, seed=seed, run_id=run_id))


def _device_name(device: str) -> str:
    if device == "cpu":
        found = environment()
        return f"{found['cores']} cores, {found['cpu']}"
    import torch

    return torch.cuda.get_device_name()


def _device_memory_bytes(device: str) -> int | None:
    if device == "cpu":
        return None
    import torch

    return int(torch.cuda.get_device_properties(0).total_memory)
