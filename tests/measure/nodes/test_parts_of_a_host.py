"""Nodes that are parts of this host, each with an agent of its own: killed as a whole, with what
their memory held."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, FaultKind
from measure.interfaces.capabilities import Way
from measure.nodes.command import AT
from measure.state import segment_names
from tests.measure.harness import MARK, nothing_left, planned_on_nodes, run, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

STEPS, WORLD, NODES, VICTIM = 40, 4, 2, 2
CRASH = FaultEvent(VICTIM, FaultKind.NODE_CRASH, step=25)


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    mark = f"nodes-{os.getpid()}-{time.monotonic_ns()}"
    monkeypatch.setenv(MARK, mark)
    monkeypatch.delenv(AT, raising=False)
    with nothing_left():
        yield
    assert wait_until_gone(mark) == []


def ran(folder: Path, *events: FaultEvent, **asked: Any) -> dict[str, Any]:
    """`run-finished` of one run of ring all-reduce on two nodes."""
    usual = {"steps": STEPS, "world_size": WORLD}
    plan = planned_on_nodes(folder, "a2", NODES, *events, **{**usual, **asked})
    (finished,) = run(plan)
    key = plan.cells[0].job.run_key()
    assert not list(segment_names.FOLDER.glob(f"failbench-{key}-*"))
    return finished


@pytest.mark.parametrize("mechanism", ["ft1", "ft2"])
def test_a_lost_node_takes_its_memory_and_the_other_one_has_the_copies(
    tmp_path: Path, mechanism: str
) -> None:
    struck = ran(tmp_path, CRASH, mechanism=mechanism)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    found = struck["found"]
    (recovery,) = found["recoveries"]
    assert (recovery["step"], recovery["way"]) == (20, "spare")
    nodes = found["nodes"]
    assert (nodes["failure_domain"], [m["lost"] for m in nodes["members"]]) == (
        "node",
        [None, "node-crash"],
    )
    ends = {rank["rank"]: rank["end"] for rank in found["ranks"]}
    assert [ends[rank] for rank in (2, 3)] == ["killed"] * 2
    assert nodes["node_losses_survived"] == (None if mechanism == "ft1" else 1)


def test_after_it_all_are_on_one_node_and_copies_stay_in_the_ring(tmp_path: Path) -> None:
    events = (CRASH, FaultEvent(1, after_s=1.0))
    struck = ran(tmp_path, *events, mechanism="ft2", steps=400)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    assert len(struck["found"]["recoveries"]) == 2
    assert [fault["fired"] for fault in struck["found"]["faults"]] == [True, True]


@pytest.mark.parametrize("mechanism", ["ft1", "ft2"])
def test_all_processes_can_be_started_anew_near_the_memory_that_is_left(
    tmp_path: Path, mechanism: str
) -> None:
    struck = ran(tmp_path, CRASH, mechanism=mechanism, way=Way.RESTART)
    assert (struck["outcome"], struck["reasons"]) == ("recovered", [])
    assert struck["found"]["recoveries"][0]["way"] == "restart"


def test_the_loss_of_all_nodes_ends_the_run_and_no_more(tmp_path: Path) -> None:
    """Processes that are to be started anew have no place any more."""
    killing = killed_once_it_trains(tmp_path, node=0, slot=2 * WORLD - 1)
    struck = ran(tmp_path, CRASH, mechanism="ft1", way=Way.RESTART, steps=2000)
    killing.join()
    found = struck["found"]
    assert [member["lost"] for member in found["nodes"]["members"]] == ["node-crash"] * 2
    assert any(why.startswith("node 0") and "unplanned" in why for why in struck["reasons"])
    assert "halted: no rank was left" in found["notes"]


def test_without_a_fault_nothing_is_lost(tmp_path: Path) -> None:
    finished = ran(tmp_path, mechanism="ft2")
    assert (finished["outcome"], finished["reasons"]) == ("completed", [])
    nodes = finished["found"]["nodes"]
    assert nodes["failure_domain"] is None
    assert [member["ranks"] for member in nodes["members"]] == [[0, 1], [2, 3]]
    assert all(member["interface"] == "lo" for member in nodes["members"])
    assert all(member["replica_bytes_sent"] > 0 for member in nodes["members"])


def test_an_agent_that_somebody_kills_makes_the_run_no_evidence(tmp_path: Path) -> None:
    killing = killed_once_it_trains(tmp_path, node=1, slot=3)
    finished = ran(tmp_path, mechanism="ft9", steps=2000)
    killing.join()
    assert finished["validity"] == "invalid"
    assert any("was lost unplanned: node-crash" in why for why in finished["reasons"])


def killed_once_it_trains(folder: Path, node: int, slot: int) -> threading.Thread:
    """A thread that kills the agent of a node as soon as the process of this slot trains."""

    def kill() -> None:
        deadline = time.monotonic() + 90.0
        while time.monotonic() < deadline:
            for log in folder.glob(f"*/*/rank-{slot}.jsonl"):
                if '"event":"step"' in log.read_text(encoding="utf-8"):
                    os.kill(_agent_of(node), signal.SIGKILL)
                    return
            time.sleep(0.02)

    killing = threading.Thread(target=kill, daemon=True)
    killing.start()
    return killing


def _agent_of(node: int) -> int:
    """The pid of the child of this process that is a node's agent."""
    for entry in Path("/proc/self/task").glob("*/children"):
        for pid in entry.read_text(encoding="ascii").split():
            said = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if b"measure.nodes" in said and said[said.index(b"--node") + 1] == str(node).encode():
                return int(pid)
    raise AssertionError(f"no agent of node {node}")
