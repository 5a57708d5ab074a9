"""Runs real cells for tests, and sees to it that nothing is left behind."""

import json
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from measure.campaign import Campaign, Plan
from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector
from measure.plan import Request, plan_of
from measure.rank.way_out import open_sockets
from measure.state import segment_names

MARK = "FAILBENCH_TEST_MARK"


def request(*architectures: str, **changes: Any) -> Request:
    """A small request: the smoke profile on four ranks, no fault."""
    for one, several in (("mechanism", "mechanisms"), ("trace", "traces")):
        if one in changes:
            changes[several] = [changes.pop(one)]
    usual: dict[str, Any] = {
        "architectures": architectures,
        "mechanisms": ["ft9"],
        "traces": ["none"],
        "profile": "smoke",
        "seeds": 1,
        "first_seed": 0,
        "world_size": 4,
        "group_timeout_s": None,
        "detector": Detector.SUPERVISOR,
        "workload": None,
        "device": "cpu",
        "steps": 20,
        "lead_s": None,
    }
    return Request(**{**usual, **changes})


def planned(folder: Path, asked: Request, schedule: Schedule | None = None) -> Plan:
    """The plan of a request; `schedule` takes the place of its trace."""
    plan = plan_of(asked, f"test-{uuid.uuid4().hex[:8]}", "test", folder, "test")
    if schedule is None:
        return plan
    cells = [replace(c, job=replace(c.job, schedule=schedule)) for c in plan.cells]
    return replace(plan, cells=cells)


def planned_on_nodes(
    folder: Path, architecture: str, nodes: int, *events: FaultEvent, **changes: Any
) -> Plan:
    """The plan of one run on several nodes, struck by these faults."""
    trace = folder / "faults.json"
    trace.write_text(json.dumps(Schedule("test", events).to_json()), encoding="utf-8")
    usual: dict[str, Any] = {"nodes": nodes, "group_timeout_s": 20.0}
    usual |= {"trace": str(trace) if events else "none"}
    return planned(folder, request(architecture, **{**usual, **changes}))


def run(plan: Plan) -> list[dict[str, Any]]:
    """Runs the plan; returns the events of `run-finished`, each with its record under `found`."""
    finished: list[dict[str, Any]] = []

    def emit(event: str, fields: dict[str, Any]) -> None:
        if event == "run-finished":
            text = Path(fields["record"]).read_text(encoding="utf-8")
            finished.append({**fields, "found": json.loads(text)})

    Campaign(plan, emit).run()
    return finished


def record(folder: Path, asked: Request, schedule: Schedule | None = None) -> dict[str, Any]:
    """The record of a request for one cell."""
    (finished,) = run(planned(folder, asked, schedule))
    found: dict[str, Any] = finished["found"]
    return found


def under_faults(folder: Path, asked: Request, *events: FaultEvent) -> dict[str, Any]:
    """`run-finished` of a request for one cell under these faults, with a spare for each where
    spares take the free places; nothing of it is left in shared memory."""
    plan = planned(folder, asked)
    (cell,) = plan.cells
    spares = len(events) if cell.job.way is Way.SPARE else 0
    job = replace(cell.job, schedule=Schedule("test", events), spares=spares)
    (finished,) = run(replace(plan, cells=[replace(cell, job=job)]))
    assert not list(segment_names.FOLDER.glob(f"failbench-{job.run_key()}-*"))
    return finished


def processes_with(mark: str) -> list[int]:
    """The processes, zombies left out, that carry this mark in their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if f"{MARK}={mark}".encode() in (entry / "environ").read_bytes():
                found.append(int(entry.name))
        except OSError:
            continue
    return found


def wait_until_gone(mark: str, deadline_s: float = 10.0) -> list[int]:
    """Those of the mark's processes that are still there at the deadline."""
    deadline = time.monotonic() + deadline_s
    while (left := processes_with(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def rank_processes() -> set[int]:
    """Children of this process's fork server: the ranks that are alive."""
    from multiprocessing import forkserver

    server = forkserver._forkserver._forkserver_pid  # type: ignore[attr-defined]
    if server is None:
        return set()
    children = Path(f"/proc/{server}/task/{server}/children").read_text(encoding="ascii")
    return {int(pid) for pid in children.split()}


def listening_ports() -> set[int]:
    """The TCP ports on which this process listens."""
    sockets = {
        str(Path(f"/proc/self/fd/{descriptor}").readlink())[8:-1] for descriptor in open_sockets()
    }
    ports = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text(encoding="ascii").splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and fields[9] in sockets:
                ports.add(int(fields[1].rsplit(":", 1)[1], 16))
    return ports


def shared_segments() -> set[str]:
    """Names in /dev/shm, without those of databases, browsers and runs of processes beside us."""
    foreign = ("PostgreSQL", ".org.chromium", ".com.google", "sem.")
    names = (entry.name for entry in Path("/dev/shm").iterdir())  # noqa: S108
    found = {name for name in names if not name.startswith(foreign)}
    claims = [name.split("-") for name in found if "-owner-" in name]
    others = {f"failbench-{c[1]}-" for c in claims if int(c[4]) != os.getpid()}
    return {name for name in found if not name.startswith(tuple(others))}


@contextmanager
def nothing_left() -> Iterator[None]:
    """AssertionError if a rank, a port, a descriptor or a shared-memory segment is left."""
    shared, ports = shared_segments(), listening_ports()
    descriptors = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    yield
    assert rank_processes() == set()
    assert listening_ports() - ports == set()
    assert shared_segments() - shared == set()
    # The first run starts the fork server, which has two descriptors of its own for good.
    assert len(os.listdir("/proc/self/fd")) <= descriptors + 4  # noqa: PTH208
