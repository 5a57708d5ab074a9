"""A survivor that gloo does not set free holds nobody up for longer than it has to."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent
from measure.rank.event_log import read_log
from tests.fork_server import own_fork_server
from tests.measure.harness import nothing_left, request, under_faults

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

VICTIM, HELD = 2, 1
_PLAN = "FAILBENCH_TEST_HELD"
"""Of tests/measure/held.py, which only the fork server may import."""


@pytest.fixture(scope="module")
def plan_file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where ranks look for who is held; their fork server is this module's own."""
    path = tmp_path_factory.mktemp("held") / "held.json"
    with own_fork_server("tests.measure.held", _PLAN, path) as plan:
        yield plan


@pytest.fixture(autouse=True)
def _clean(plan_file: Path) -> Iterator[None]:
    with nothing_left():
        yield


def ran(
    folder: Path,
    plan_file: Path,
    held_s: float,
    mechanism: str,
    architecture: str = "a2",
    place: int = HELD,
    steps: int = 40,
    late_s: float = 0.0,
    write_s: float = 0.0,
    fault: FaultEvent = FaultEvent(VICTIM, step=15),  # noqa: B008 - frozen
) -> dict[str, Any]:
    plan = {"place": place, "held_s": held_s, "late_s": late_s, "write_s": write_s}
    plan_file.write_text(json.dumps(plan), encoding="utf-8")
    asked = request(architecture, mechanism=mechanism, steps=steps, group_timeout_s=8.0)
    found = under_faults(folder, asked, fault)
    record: dict[str, Any] = json.loads(Path(found["record"]).read_text(encoding="utf-8"))
    assert record["validity"] == "valid", record["validity_reasons"]
    return record


def ways(record: dict[str, Any]) -> list[str]:
    return [each["way"] for each in record["recoveries"]]


def members(record: dict[str, Any]) -> set[int]:
    """The processes of the last generation."""
    return {member["slot"] for member in record["lineage"][-1]["members"]}


def test_without_a_mechanism_the_job_has_halted_and_does_not_hang(
    tmp_path: Path, plan_file: Path
) -> None:
    record = ran(tmp_path, plan_file, 60.0, "ft9")
    assert record["outcome"] == "halted"
    (fault,) = record["faults"]
    assert not fault["censored"]
    assert {each["rank"] for each in fault["detections"]} == {0, HELD, 3}


@pytest.mark.parametrize(("mechanism", "architecture"), [("ft1", "a2"), ("ft2", "a5")])
def test_another_process_takes_its_place(
    tmp_path: Path, plan_file: Path, mechanism: str, architecture: str
) -> None:
    record = ran(tmp_path, plan_file, 60.0, mechanism, architecture)
    assert record["outcome"] == "recovered"
    assert ways(record) == ["spare"]
    assert not members(record) & {VICTIM, HELD}
    assert record["lineage"][-1]["world_size"] == 4


def test_a_group_that_grows_again_goes_on_without_it(tmp_path: Path, plan_file: Path) -> None:
    record = ran(tmp_path, plan_file, 60.0, "ft8")
    assert record["outcome"] == "recovered"
    assert ways(record)[0] == "smaller"
    assert HELD not in members(record)


def test_a_group_that_stays_smaller_waits_for_it(tmp_path: Path, plan_file: Path) -> None:
    """It is missed for good otherwise."""
    record = ran(tmp_path, plan_file, 3.0, "ft7")
    assert record["outcome"] == "recovered"
    assert ways(record) == ["smaller"]
    assert members(record) == {0, 1, 3}


def test_the_only_one_that_has_the_optimizer_is_waited_for(tmp_path: Path, plan_file: Path) -> None:
    record = ran(tmp_path, plan_file, 3.0, "ft8", "a1-sync", place=0)
    assert record["outcome"] == "recovered"
    assert 0 in members(record)
    assert record["recoveries"][0]["lost_steps"] <= 1


@pytest.mark.parametrize("mechanism", ["ft1", "ft3"])
def test_a_slow_file_system_is_waited_for(tmp_path: Path, plan_file: Path, mechanism: str) -> None:
    """A peer is lost while this rank sleeps in its write of the save after step 10, longer than
    anybody is given to come free of a group: with FT1 its training thread, with FT3 another one,
    which the training thread then waits for."""
    lost = FaultEvent(VICTIM, step=9, lead_s=0.1)
    record = ran(tmp_path, plan_file, 0.0, mechanism, steps=150, write_s=3.0, fault=lost)
    (log,) = tmp_path.rglob(f"rank-{HELD}.jsonl")
    events = read_log(log)
    (wrote,) = (e["t"] for e in events if e["event"] == "slow-write")
    told = next(e["t"] for e in events if e["event"] == "told")
    assert told < wrote
    assert [e["stuck"] for e in events if e["event"] == "stopped"] == [False]
    assert (ways(record), members(record)) == (["spare"], {0, HELD, 3, 4})
    assert record["outcome"] in ("recovered", "restarted-from-zero")


def test_a_group_grows_between_two_steps(tmp_path: Path, plan_file: Path) -> None:
    """The process that comes back is up only once the smaller group trains."""
    record = ran(tmp_path, plan_file, 0.0, "ft8", place=-1, steps=800, late_s=1.0)
    assert record["outcome"] == "recovered"
    assert ways(record) == ["smaller", "grown"]
    grown = record["recoveries"][1]
    assert (grown["lost_steps"], grown["world_size"], grown["faults"]) == (0, 4, [])
    logs = sorted(tmp_path.rglob("rank-*.jsonl"))
    pauses = [e for log in logs for e in read_log(log) if e.get("how") == "regroup"]
    assert {pause["error"] for pause in pauses} == {f"PausedError: before step {grown['step']}"}
    assert len(pauses) == 3
    (fault,) = record["faults"]
    assert {each["how"] for each in fault["detections"]} <= {"connection closed", "supervisor"}
