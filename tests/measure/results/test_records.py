"""Records of real runs: what the mechanism cost, what a fault cost, and that it adds up."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.capabilities import Way
from tests.measure.harness import nothing_left, planned, request, run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

STEPS, VICTIM = 40, 2


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def record(
    folder: Path, architecture: str, *events: FaultEvent, way: Way | None = None, **changes: Any
) -> dict[str, Any]:
    """The record of one run; AssertionError unless it is evidence, and its times add up."""
    usual = {"mechanism": "ft1", "steps": STEPS, "group_timeout_s": 8.0}
    plan = planned(folder, request(architecture, **{**usual, **changes}))
    (cell,) = plan.cells
    job = cell.job
    if events:
        schedule = Schedule("test", events)
        spares = len(events) if way is Way.SPARE else 0
        job = replace(job, schedule=schedule, spares=spares, way=way or job.way)
    (finished,) = run(replace(plan, cells=[replace(cell, job=job)]))
    found: dict[str, Any] = finished["found"]
    assert found["validity_reasons"] == []
    parts = dict(found["times"])
    assert parts.pop("wall_s") == pytest.approx(sum(parts.values()), abs=1e-3, rel=1e-3)
    return found


def test_a_calm_run_knows_its_overhead_and_its_saves(tmp_path: Path) -> None:
    found = record(tmp_path, "a2", steps=60)
    (saves,) = found["saves"]
    assert (saves["path"], saves["count"], saves["failed"]) == ("storage", 3, 0)
    assert saves["foreground_s"]["n"] == 3
    assert saves["bytes_per_save"] > 0
    assert found["overhead"]["pairs"] == 3
    assert found["overhead"]["baseline_step_s"] > 0.0
    assert found["overhead"]["low"] <= found["overhead"]["fraction"] <= found["overhead"]["high"]
    assert found["times"]["save_s"] > 0.0
    assert (found["recoveries"], found["equivalent"], len(found["lineage"])) == ([], True, 1)


@pytest.mark.parametrize("way", [Way.SPARE, Way.RESTART])
def test_a_recovery_is_told_with_what_it_cost(tmp_path: Path, way: Way) -> None:
    found = record(tmp_path, "a2", FaultEvent(VICTIM, step=25), way=way)
    (recovery,) = found["recoveries"]
    assert (found["outcome"], recovery["way"]) == ("recovered", way.value)
    assert (recovery["faults"], recovery["step"], recovery["source"]) == ([0], 20, "storage")
    assert recovery["lost_steps"] == 5
    assert sum(seconds for _, seconds in recovery["phases"]) == pytest.approx(recovery["total_s"])
    times, detected_s = found["times"], found["faults"][0]["detected_s"]
    assert times["detect_s"] == pytest.approx(detected_s)
    assert times["lost_s"] == pytest.approx(recovery["lost_s"])
    assert dict(recovery["phases"])["detect"] == pytest.approx(detected_s)
    assert times["detect_s"] + times["recover_s"] < recovery["total_s"]  # the first step is work
    assert found["steps_completed"] == STEPS


def test_two_at_once_are_one_recovery_for_those_who_start_anew(tmp_path: Path) -> None:
    events = (FaultEvent(1, step=25), FaultEvent(VICTIM, step=25))
    found = record(tmp_path, "a5", *events, way=Way.RESTART)
    assert [fault["fired"] for fault in found["faults"]] == [True, True]
    assert found["recoveries"][0]["faults"][0] in (0, 1)
    assert sorted(n for recovery in found["recoveries"] for n in recovery["faults"]) == [0, 1]


def test_a_fault_during_the_recovery_is_not_counted_twice(tmp_path: Path) -> None:
    events = (FaultEvent(VICTIM, step=25), FaultEvent(1, after_s=0.04))
    found = record(tmp_path, "a4", *events, way=Way.SPARE, steps=60)
    assert found["steps_completed"] == 60
    assert sorted(n for recovery in found["recoveries"] for n in recovery["faults"]) == [0, 1]


def test_a_group_that_becomes_smaller_says_that_it_is_not_the_planned_training(
    tmp_path: Path,
) -> None:
    found = record(tmp_path, "a2", FaultEvent(VICTIM, step=25), mechanism="ft8", steps=200)
    first, *later = found["recoveries"]
    assert (first["faults"], first["source"]) == ([0], "survivors' memory")
    assert all(recovery["way"] == "grown" and not recovery["faults"] for recovery in later)
    sizes = [line["world_size"] for line in found["lineage"]]
    assert sizes[1:] == [recovery["world_size"] for recovery in found["recoveries"]]
    assert found["equivalent"] == (min(sizes) == 4)


def test_a_halted_run_says_what_it_waited_for_in_vain(tmp_path: Path) -> None:
    found = record(tmp_path, "a4", FaultEvent(VICTIM, step=25), mechanism="ft9")
    assert (found["outcome"], found["recoveries"]) == ("halted", [])
    assert found["times"]["detect_s"] == pytest.approx(found["faults"][0]["detected_s"])
    assert found["times"]["productive_s"] > 0.0


def test_a_training_that_goes_on_by_itself_spends_nothing_on_recovery(tmp_path: Path) -> None:
    found = record(tmp_path, "a6", FaultEvent(VICTIM, step=25), mechanism="ft9")
    spent = {part for part, seconds in found["times"].items() if seconds}
    assert found["outcome"] == "graceful"
    assert spent == {"productive_s", "wall_s"}
