"""Real runs: each ends with the right outcome, and with nothing left behind."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.job_spec import Detector
from tests.measure.harness import nothing_left, planned, record, request, run

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

CRASH = Schedule("crash", (FaultEvent(2, step=8),))


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def fault(found: dict[str, Any]) -> dict[str, Any]:
    (only,) = found["faults"]
    result: dict[str, Any] = only
    return result


def test_a_run_without_a_fault_completes(tmp_path: Path) -> None:
    found = record(tmp_path, request("a2"))
    assert (found["outcome"], found["validity"]) == ("completed", "valid")
    assert found["steps_completed"] == 20
    assert [rank["end"] for rank in found["ranks"]] == ["finished"] * 4
    assert found["before"]["ranks"] == 4
    assert found["before"]["steps"] >= 15
    assert found["state_bytes"] > 0
    assert found["cell"]["optimizer"] == "SGD"
    assert found["loss"]["last"] < found["loss"]["first"]


@pytest.mark.parametrize("detector", list(Detector))
def test_a_crash_halts_a_ring(tmp_path: Path, detector: Detector) -> None:
    found = record(tmp_path, request("a2", detector=detector, group_timeout_s=3.0), CRASH)
    struck = fault(found)
    assert (found["outcome"], struck["outcome"]) == ("halted", "halted")
    assert (struck["fired"], struck["step"], struck["censored"]) == (True, 8, False)
    assert {d["rank"] for d in struck["detections"]} == {0, 1, 3}
    assert found["ranks"][2]["end"] == "killed"
    assert found["ranks"][2]["exit_code"] == -9
    assert found["after"] is None
    assert found["aggregate_slowdown_fraction"] == 1.0
    assert found["phases"] == [{"fault": 0, "phase": "detect", "duration_s": struck["detected_s"]}]


def test_by_the_timeout_alone_those_far_away_wait_for_it(tmp_path: Path) -> None:
    asked = request("a2", world_size=6, detector=Detector.GROUP_TIMEOUT, group_timeout_s=2.0)
    after = {d["rank"]: d["after_s"] for d in fault(record(tmp_path, asked, CRASH))["detections"]}
    assert after[5] >= 1.9  # rank 5 is no neighbour of rank 2
    assert min(after.values()) < after[5]  # the neighbours' connections were closed


@pytest.mark.parametrize("architecture", ["a1-async", "a6"])
def test_a_crash_leaves_a_graceful_architecture_going(tmp_path: Path, architecture: str) -> None:
    found = record(tmp_path, request(architecture, steps=30), CRASH)
    assert found["outcome"] == "graceful"
    assert fault(found)["outcome"] == "degraded"
    assert found["steps_completed"] == 30
    assert found["after"]["ranks"] == found["before"]["ranks"] - 1


def test_a_lost_server_is_a_lost_coordinator(tmp_path: Path) -> None:
    found = record(tmp_path, request("a1-async"), Schedule("s", (FaultEvent(0, step=8),)))
    assert (found["outcome"], fault(found)["outcome"]) == ("halted", "coordinator_lost")


def test_a_hang_is_told_from_a_crash_and_its_time_is_censored(tmp_path: Path) -> None:
    hang = Schedule("hang", (FaultEvent(2, FaultKind.HANG, step=8),))
    found = record(tmp_path, request("a2", group_timeout_s=3.0), hang)
    struck = fault(found)
    assert (found["outcome"], found["validity"]) == ("hang", "valid")
    assert struck["censored"]
    assert struck["detected_s"] >= 3.0  # so long was waited in vain for the supervisor's notice
    assert found["phases"] == []
    assert found["ranks"][2]["end"] == "hung"
    where = ["in step 8", "in step 8", "before step 8", "in step 8"]
    assert [rank["where"] for rank in found["ranks"]] == where


def test_a_rank_that_raises_is_told_from_one_that_was_killed(tmp_path: Path) -> None:
    raising = Schedule("raise", (FaultEvent(2, FaultKind.EXCEPTION, step=8),))
    found = record(tmp_path, request("a2"), raising)
    assert (found["outcome"], found["validity"]) == ("halted", "valid")
    assert found["ranks"][2]["end"] == "raised"
    assert found["ranks"][2]["exit_code"] == 1
    assert "InjectedError" in found["ranks"][2]["error"]


@pytest.mark.parametrize("phase", list(StartPhase))
@pytest.mark.parametrize("architecture", ["a2", "a6"])
def test_a_fault_before_training_ends_the_run(
    tmp_path: Path, architecture: str, phase: StartPhase
) -> None:
    early = Schedule("early", (FaultEvent(2, phase=phase),))
    found = record(tmp_path, request(architecture), early)
    assert found["validity"] == "valid"
    assert found["outcome"] in ("halted", "graceful")
    assert fault(found)["fired"]
    assert found["before"] is None


def test_a_fault_that_never_fires_makes_the_run_invalid(tmp_path: Path) -> None:
    late = Schedule("late", (FaultEvent(2, step=500),))
    found = record(tmp_path, request("a2"), late)
    assert (found["outcome"], found["validity"]) == ("invalid", "invalid")
    assert found["validity_reasons"] == ["fault 0 (crash of rank 2, step 500) did not fire"]
    assert fault(found)["outcome"] == "not_fired"


def test_faults_that_were_due_after_the_halt_are_said(tmp_path: Path) -> None:
    cascade = Schedule("c", (FaultEvent(2, step=8), FaultEvent(3, after_s=60.0)), 60.0)
    found = record(tmp_path, request("a2"), cascade)
    assert found["validity"] == "valid"
    assert found["notes"] == ["fault 1 was due after the job had ended"]


def test_cascading_faults_strike_one_after_the_other(tmp_path: Path) -> None:
    cascade = Schedule("c", (FaultEvent(2, step=8), FaultEvent(4, after_s=0.2)), 0.2)
    found = record(tmp_path, request("a6", world_size=6, steps=120), cascade)
    first, second = found["faults"]
    assert (first["fired"], second["fired"]) == (True, True)
    assert second["at_s"] - first["at_s"] >= 0.2
    assert found["outcome"] == "graceful"


def test_a_warning_comes_its_lead_ahead_of_the_fault(tmp_path: Path) -> None:
    announced = Schedule("w", (FaultEvent(2, step=8, lead_s=0.3),))
    plan = planned(tmp_path, request("a2", steps=2000), announced)
    (finished,) = run(plan)
    struck = fault(finished["found"])
    assert struck["lead_s"] == 0.3
    log = (Path(finished["record"]).parent / "rank-0.jsonl").read_text(encoding="utf-8")
    assert '"warning"' in log
    assert struck["step"] > 8  # it trained on between the warning and the fault


def test_two_runs_of_one_seed_have_equal_losses(tmp_path: Path) -> None:
    first, second = (record(tmp_path, request("a5")) for _ in range(2))
    assert first["series"]["loss"] == second["series"]["loss"]


def test_another_seed_has_other_losses(tmp_path: Path) -> None:
    one, other = run(planned(tmp_path, request("a5", seeds=2)))
    assert one["found"]["series"]["loss"] != other["found"]["series"]["loss"]
    assert one["found"]["run_id"] != other["found"]["run_id"]


def test_nobody_is_left_to_notice_a_fault_after_the_halt(tmp_path: Path) -> None:
    cascade = Schedule("c", (FaultEvent(2, step=8), FaultEvent(3, after_s=0.3)), 0.3)
    asked = request("a2", world_size=8, detector=Detector.GROUP_TIMEOUT, group_timeout_s=3.0)
    first, second = record(tmp_path, asked, cascade)["faults"]
    assert (first["fired"], second["fired"]) == (True, True)
    assert first["detected_s"] > 0.0
    # The first one's neighbours had stopped by then; the others come with their timeout.
    assert all(detection["after_s"] > 0.0 for detection in second["detections"])


def test_a_fault_at_the_last_step_leaves_nothing_to_measure_after_it(tmp_path: Path) -> None:
    last = Schedule("last", (FaultEvent(2, step=19),))
    found = record(tmp_path, request("a1-async"), last)
    assert found["outcome"] == "graceful"
    # A rank may still have made a step after it; that training went on is no slowdown of 100 %.
    assert found["aggregate_slowdown_fraction"] != 1.0
