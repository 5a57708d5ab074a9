"""Whole runs of the harness under monitors: what stands in their records."""

import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, record, request

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def by_name(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {each["monitor"]: each for each in found["monitoring"]}


def test_a_healthy_run_says_what_each_monitor_took_and_that_none_was_wrong(tmp_path: Path) -> None:
    asked = request("a2", mechanism="ft1", monitors=("digest:5,values:10,stragglers:4",), steps=40)
    found = record(tmp_path, asked)
    assert (found["outcome"], found["validity"]) == ("completed", "valid")
    monitors = by_name(found)
    checks = {name: each["checks"] for name, each in monitors.items()}
    assert checks == {"digest": 8, "values": 4, "stragglers": 10}
    for each in monitors.values():
        assert (each["suspicions"], each["false_alarms"]) == ([], 0)
        assert 0.0 <= each["waited_s_per_step"] <= each["s_per_step"]
        assert each["overhead_fraction"] > 0.0


def test_a_run_without_monitors_says_nothing_of_them(tmp_path: Path) -> None:
    found = record(tmp_path, request("a5", world_size=2))
    assert "monitoring" not in found
    assert {rank["where"] for rank in found["ranks"]} == {""}


@pytest.mark.soak
def test_a_rank_that_is_held_up_from_outside_is_named(tmp_path: Path) -> None:
    """Its process is stopped for 60 ms, again and again, once the group is learned."""
    asked = request("a2", monitors=("stragglers:5",), steps=150)
    holding = threading.Thread(target=_hold_up, args=(tmp_path, 2, 50), daemon=True)
    holding.start()
    found = record(tmp_path, asked)
    holding.join(10.0)
    suspicions = by_name(found)["stragglers"]["suspicions"]
    assert found["outcome"] == "completed"
    assert [each["ranks"] for each in suspicions] == [[2]]
    assert suspicions[0]["step"] > 50
    assert suspicions[0]["fault"] is None  # no fault of the schedule did it


def _hold_up(folder: Path, rank: int, first: int) -> None:
    """From step `first` on, as long as the process lives."""
    pid = None
    while True:
        logs = [read_log(path) for path in folder.glob(f"*/*/rank-{rank}.jsonl")]
        events = logs[0] if logs else []
        if pid is None and any(e["event"] == "step" and e["step"] >= first for e in events):
            pid = next(e["pid"] for e in events if e["event"] == "clock")
        if any(event["event"] == "finished" for event in events):
            return
        if pid is not None:
            try:
                os.kill(pid, signal.SIGSTOP)
                time.sleep(0.06)
                os.kill(pid, signal.SIGCONT)
            except ProcessLookupError:
                return
        time.sleep(0.005)
