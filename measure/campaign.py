"""A campaign: the cells of one command, run one after the other, each with its record."""

import json
import os
import secrets
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any

from measure.architectures import registry as architectures
from measure.errors import HarnessError, LostNodeError, ShapeError, UsageError
from measure.folder_lock import only_one
from measure.interfaces.capabilities import ArchitectureEntry, Capability
from measure.job_spec import JobSpec
from measure.mechanisms import registry as mechanisms
from measure.nodes.remote import check_place, is_local
from measure.profiles import Profile, profile_named
from measure.rank.event_log import boot_id, read_log
from measure.results.environment import environment, host_memory_bytes, storage_of
from measure.results.rank_log import Clock, sorted_out
from measure.results.run_record import FILE_NAME, Surroundings, run_record, utc, write_record
from measure.results.verdict import Run, unplanned_loss_of_a_node
from measure.run_folder import RunFolder
from measure.supervisor.detect import limits_of
from measure.supervisor.elect import Traits
from measure.supervisor.observed import Ending
from measure.supervisor.ranks import RankStarter
from measure.supervisor.run import Supervisor
from measure.workloads import catalogue as workloads

_LEAST_FREE_BYTES = 64_000_000

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)

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

    def to_json(self) -> dict[str, Any]:
        """The cell as a JSON object, which `from_json` reads: all that a later harness needs."""
        return {
            "run_id": self.job.run_id,
            "architecture": self.job.architecture,
            "mechanism": self.job.mechanism,
            "trace": self.job.schedule.name,
            "seed": self.job.seed,
            "batch_per_rank": self.batch_per_rank,
            "job": json.loads(self.job.to_json()),
        }

    @staticmethod
    def from_json(found: dict[str, Any]) -> "Cell":
        """The cell that `to_json` gave; its run id and seed are the outer ones, so that a cell can
        be run under another seed."""
        told = {**found["job"], "run_id": found["run_id"], "seed": found["seed"]}
        job = JobSpec.from_json(json.dumps(told))
        return Cell(job, profile_named(job.profile), int(found["batch_per_rank"]))


def _now() -> str:
    return utc(datetime.now(UTC))


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything that one command is to run; no cells where they are handed out one by one."""

    campaign: str
    command: str
    cluster: str
    folder: Path
    cells: Sequence[Cell]
    seed: int = 0
    """The first seed of its cells."""
    order_seed: int | None = None
    """What shuffled the cells; None: they are in the order in which they were asked for."""
    created_at: str = field(default_factory=_now)
    """UTC, to the second."""


def new_campaign_id() -> str:
    """A name that no other campaign has: when it began, and eight random digits."""
    return f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}"


def check_folder(folder: Path, *, is_new: bool = True) -> None:
    """Makes the folder; UsageError if it cannot hold records. `is_new`: there are no runs yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(folder).free
        probe = folder / f".probe-{secrets.token_hex(4)}"
        probe.touch()
        probe.unlink()
        if is_new and any(entry.is_dir() for entry in folder.iterdir()):
            raise UsageError(f"{folder}: there are runs of this name already")
    except OSError as error:
        raise UsageError(f"{folder}: cannot write run records here: {error.strerror}") from error
    if free < _LEAST_FREE_BYTES:
        raise UsageError(
            f"{folder}: {free / 1e6:.0f} MB free, and run records need"
            f" {_LEAST_FREE_BYTES / 1e6:.0f} MB: name another folder with --folder"
        )


def put_aside(folder: Path) -> Path | None:
    """Gives what a killed run left there another name, and returns it: evidence stays, but
    nothing of it is trusted. None if nothing is there."""
    if not folder.exists():
        return None
    number = 1
    while (aside := folder.with_name(f"{folder.name}.aside-{number}")).exists():
        number += 1
    folder.rename(aside)
    return aside


def has_result(folder: Path) -> bool:
    """Whether the run of this folder came to its end: it has a record, and was not interrupted."""
    try:
        record = json.loads((folder / FILE_NAME).read_text(encoding="utf-8"))
        reasons: list[str] = record["validity_reasons"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return Ending.INTERRUPTED.value not in reasons


class Campaign:
    """Runs a plan; `emit` hears of every event (see measure/cli.py for their form)."""

    def __init__(self, plan: Plan, emit: Emit, *, has_listener: bool = False) -> None:
        self._plan, self._tell = plan, emit
        self._starter = RankStarter()
        self._stop_asked = False
        self._run_folder: RunFolder | None = None
        self._listener = os.getppid() if has_listener else None

    def run(self) -> bool:
        """Runs every cell; False when it was interrupted, after the current run was ended."""
        plan, finished = self._plan, 0
        check_folder(plan.folder / plan.campaign)
        _check_nodes(plan.cells)
        self._emit("plan", self.planned())
        with signals_noted(self._ask_to_stop):
            for number, cell in enumerate(plan.cells, start=1):
                if self._is_over():
                    break
                self._run_cell(number, len(plan.cells), cell)
                finished = number
        self._emit("end", {"finished": finished})
        return not self._is_over()

    def serve(self, lines: Iterable[str]) -> bool:
        """Runs the cells that it is handed, one a line of JSON, until there are no more lines:
        {"run": 1, "of": 40, "cell": {...}}, the cell as the plan had it.

        Says the plan first where it has cells, `ready` where it has none. What goes wrong in a cell
        by our own fault is that cell's result (`run-failed`); a disk that refuses is everybody's.
        """
        plan, finished = self._plan, 0
        folder = plan.folder / plan.campaign
        check_folder(folder, is_new=bool(plan.cells))
        _check_nodes(plan.cells)
        with ExitStack() as stack:
            stack.enter_context(only_one(folder))
            # From here on: between two cells a signal must not end what nobody has ended in order.
            stack.enter_context(signals_noted(self._ask_to_stop))
            self._emit(*(("plan", self.planned()) if plan.cells else ("ready", {})))
            for line in lines:
                if self._is_over():
                    break
                handed = json.loads(line)
                cell = Cell.from_json(handed["cell"])
                self._run_or_fail(int(handed["run"]), int(handed["of"]), cell)
                finished += 1
        self._emit("end", {"finished": finished})
        return not self._is_over()

    def run_task(self, handed: Sequence[Mapping[str, Any]]) -> bool:
        """Runs the cells of one task of a scheduler, one after the other; False when it was told to
        stop, after the current run was ended.

        A cell whose run came to its end before is left: a task that is requeued begins again. Other
        tasks run beside this one, so nothing of the campaign's folder is locked.
        """
        plan, finished = self._plan, 0
        check_folder(plan.folder / plan.campaign, is_new=False)
        with signals_noted(self._ask_to_stop, the_last_too=True) as signals:
            for each in handed:
                cell = Cell.from_json(each["cell"])
                if self._is_over():
                    break
                if has_result(plan.folder / cell.job.run_id):
                    continue
                self._run_or_fail(int(each["run"]), int(each["of"]), cell)
                finished += 1
            # What stopped it, for whoever asks why its last cell has no result.
            self._emit("end", {"finished": finished, "signal": signals.heard})
        return not self._is_over()

    def planned(self) -> dict[str, Any]:
        """What the event `plan` says: the plan, with all that is the same for its runs, as they
        would have it here. Its cluster is that of the run on most nodes."""
        plan = self._plan
        around = self._surroundings(
            max((cell.job for cell in plan.cells), key=lambda job: job.nodes)
        )
        return {
            "runs": len(plan.cells),
            "cluster": plan.cluster,
            "campaign": plan.campaign,
            "folder": str(plan.folder / plan.campaign),
            "order_seed": plan.order_seed,
            "surroundings": {
                "campaign": dict(around.campaign),
                "cluster": dict(around.cluster),
                "environment": dict(around.environment),
            },
            "cells": [cell.to_json() for cell in plan.cells],
        }

    def _run_or_fail(self, number: int, of: int, cell: Cell) -> None:
        try:
            try:
                self._run_cell(number, of, cell)
            except LostNodeError:
                if self._is_over():
                    raise
                # Once more: if the node is really gone, its agent will not come.
                self._run_cell(number, of, cell)
        except (HarnessError, UsageError):
            raise
        except Exception as error:
            traceback.print_exc(file=sys.stderr)
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            self._emit("run-failed", {"run": number, "reason": reason})

    def _emit(self, event: str, fields: dict[str, Any]) -> None:
        """Says what happened. Where nobody hears it any more, the campaign ends in order: an
        error here would leave ranks behind. Of a run that is another process's now, nothing."""
        if self._run_folder is not None and self._run_folder.is_taken:
            return
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

    def _run_cell(self, number: int, of: int, cell: Cell) -> None:
        job = cell.job
        self._emit(
            "run-started",
            {
                "run": number,
                "of": of,
                "architecture": job.architecture,
                "mechanism": job.mechanism,
                "trace": job.schedule.name,
                "seed": job.seed,
            },
        )
        folder = self._plan.folder / job.run_id
        try:
            put_aside(folder)
            folder.mkdir(parents=True)
            self._run_folder = RunFolder(folder)
            try:
                record = self._measured(number, cell, folder)
            finally:
                self._run_folder.require_own()
            path = write_record(record, folder)
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

    def _measured(self, number: int, cell: Cell, folder: Path) -> dict[str, Any]:
        job = cell.job
        entry = architectures.entry_named(job.architecture)
        started_at = datetime.now(UTC)
        supervisor = Supervisor(
            job,
            limits_of(job, cell.profile),
            folder,
            on_phase=lambda phase: self._emit("phase", {"run": number, "phase": phase}),
            interrupted=self._is_over_or_taken,
            traits=_traits(job, entry),
        )
        # Both clocks at one instant: logs of other hosts are set against it.
        wall_ahead = time.time() - time.monotonic()
        seen = supervisor.run(self._starter)
        began = Clock(seen.began_at, seen.began_at + wall_ahead, boot_id())
        logs = [
            sorted_out(rank, read_log(folder / f"rank-{rank}.jsonl"), began, seen.shift_of(rank))
            for rank in range(len(seen.ranks))
        ]
        built = (log.first("built") for log in logs)
        optimizer = next((e["optimizer"] for e in built if e and e["optimizer"]), "")
        run = Run(job, entry, seen, logs)
        _require_nodes(run)
        around = self._surroundings(job)
        return run_record(run, around, cell.as_record(optimizer), started_at)

    def _is_over_or_taken(self) -> bool:
        assert self._run_folder is not None
        return self._is_over() or self._run_folder.look()

    def _surroundings(self, job: JobSpec) -> Surroundings:
        plan = self._plan
        found = environment()
        return Surroundings(
            campaign={
                "campaign": plan.campaign,
                "command": plan.command,
                "seed": plan.seed,
                "created_at": plan.created_at,
            },
            cluster=cluster_here(
                plan.cluster,
                "advisor measure",
                job.world_size,
                job.device,
                plan.folder,
                # Nodes that are parts of this host are one machine.
                nodes=1 if is_local() else job.nodes,
            ),
            environment=found,
        )


def _check_nodes(cells: Sequence[Cell]) -> None:
    """UsageError if some are on several nodes, which could not come here: said before anything
    runs, as it would stop every one of them."""
    if any(cell.job.nodes > 1 for cell in cells):
        check_place()


def _require_nodes(run: Run) -> None:
    """LostNodeError where a host was lost without a fault of the schedule: that shows nothing of
    the mechanism, and whoever lends the hosts decides what becomes of the job. On nodes that are
    parts of this host it is the run's own doing."""
    lost = unplanned_loss_of_a_node(run)
    if lost and not is_local() and run.seen.ending is not Ending.INTERRUPTED:
        raise LostNodeError(f"{run.job.run_id}: {lost}")


def cluster_here(
    name: str, command: str, ranks: int, device: str, folder: Path, *, nodes: int = 1
) -> dict[str, Any]:
    """This machine as the hardware of a record, with others like it where the ranks were on several
    `nodes`; `folder` lies on its storage."""
    found = environment()
    machines = "one machine" if nodes == 1 else f"each of {nodes} machines"
    return {
        "cluster": name,
        "description": f"Measured by {command}: {ranks} ranks on"
        f" {found['cores']} cores of {machines} ({found['cpu']})",
        "nodes": nodes,
        "ranks_per_node": -(-ranks // nodes),
        "device": _device_name(device),
        "device_memory_bytes": _device_memory_bytes(device),
        "host_memory_bytes": host_memory_bytes(),
        "interconnect": "loopback" if nodes == 1 else "network",
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
    """Ctrl-C, SIGTERM, SIGUSR1 and a closed terminal call `note`; the second is not held back.

    With `the_last_too` every one is: a scheduler sends SIGTERM several times, and kills whom it is
    tired of by itself.
    """

    def __init__(self, note: Callable[[], None], *, the_last_too: bool = False) -> None:
        self._note, self._the_last_too = note, the_last_too
        self.heard: str | None = None
        """The name of the first one."""

    def __enter__(self) -> "signals_noted":
        heeded = [n for n in _SIGNALS if signal.getsignal(n) is not signal.SIG_IGN]  # nohup
        self._before = {number: signal.signal(number, self._heard) for number in heeded}
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _heard(self, number: int, _frame: FrameType | None) -> None:
        self.heard = self.heard or signal.Signals(number).name
        self._note()
        if not self._the_last_too:
            self.__exit__()


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
