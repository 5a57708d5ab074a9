"""Real runs under every kind of fault: each ends, with the outcome that is stated for it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.kinds import FaultKind, Phase, RecoveryPhase, StartPhase
from measure.faults.schedule import FaultEvent
from measure.interfaces.capabilities import Way
from measure.job_spec import Detector
from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, request, under_faults

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

STEPS, STRUCK, VICTIM = 40, 1, 2
CRASH = FaultEvent(VICTIM, step=25)
PHASES: tuple[Phase, ...] = (StartPhase.FORMING_GROUPS, *RecoveryPhase)


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def ran(folder: Path, architecture: str, *events: FaultEvent, **changes: Any) -> dict[str, Any]:
    """The record of one run of four ranks that saves after steps 10, 20 and 30; it is evidence."""
    usual = {"mechanism": "ft1", "steps": STEPS, "group_timeout_s": 8.0}
    finished = under_faults(folder, request(architecture, **{**usual, **changes}), *events)
    found: dict[str, Any] = finished["found"]
    assert (found["validity"], found["validity_reasons"]) == ("valid", [])
    assert [fault["fired"] for fault in found["faults"]] == [True] * len(events)
    return {**found, "folder": Path(finished["record"]).parent}


def restored(found: dict[str, Any]) -> list[int]:
    """The steps from which recoveries went on."""
    return [recovery["step"] for recovery in found["recoveries"]]


SURVIVED = (
    FaultEvent(STRUCK, FaultKind.SLOW_STORAGE, step=2, params={"pause_s": 0.005}),
    FaultEvent(STRUCK, FaultKind.FLIP_GRADIENT, step=3, params={"bit": 3}),
    FaultEvent(STRUCK, FaultKind.FLIP_PARAMETER, step=5, params={"bit": 3}),
    FaultEvent(STRUCK, FaultKind.FLIP_BUFFER, step=7, params={"bit": 3}),
    FaultEvent(STRUCK, FaultKind.SKIPPED_UPDATE, step=9),
    FaultEvent(STRUCK, FaultKind.WRONG_RNG, step=11),
    FaultEvent(STRUCK, FaultKind.PARTIAL_RESTORE, step=14),
    FaultEvent(STRUCK, FaultKind.STRAGGLER, step=16, params={"factor": 1.5, "steps": 5}),
    FaultEvent(
        0, FaultKind.STRAGGLER, step=18, params={"factor": 3.0, "what": "network", "steps": 5}
    ),
)


def test_what_ranks_survive_goes_on_to_the_end_where_nobody_looks(tmp_path: Path) -> None:
    found = ran(tmp_path, "a2", *SURVIVED)
    assert (found["outcome"], found["steps_completed"]) == ("graceful", STEPS)
    assert [fault["outcome"] for fault in found["faults"]] == ["degraded"] * len(SURVIVED)
    assert [fault["step"] for fault in found["faults"]] == [event.step for event in SURVIVED]
    assert found["recoveries"] == []


def test_a_lost_store_is_replaced_and_the_group_formed_anew(tmp_path: Path) -> None:
    found = ran(tmp_path, "a2", FaultEvent(STRUCK, FaultKind.STORE_LOSS, step=25))
    assert (found["outcome"], found["faults"][0]["outcome"]) == ("recovered", "recovered")
    assert (restored(found), found["steps_completed"]) == ([20], STEPS)
    assert {d["rank"] for d in found["faults"][0]["detections"]} == {0, 1, 2, 3}
    ends = [rank["end"] for rank in found["ranks"]]
    assert ends.count("finished") == 4  # beside whom gloo did not set free, and was replaced


@pytest.mark.soak
def test_a_fault_strikes_once_though_its_step_is_made_again(tmp_path: Path) -> None:
    flip = FaultEvent(STRUCK, FaultKind.WRONG_RNG, step=22)
    found = ran(tmp_path, "a2", flip, CRASH)
    assert (found["outcome"], restored(found)) == ("recovered", [20])
    said = [e for e in read_log(found["folder"] / f"rank-{STRUCK}.jsonl") if e["event"] == "fault"]
    assert len(said) == 1


@pytest.mark.soak
@pytest.mark.parametrize(
    ("architecture", "mechanism", "changes", "outcome"),
    [
        ("a5", "ft2", {}, "recovered"),
        ("a2", "ft3", {"steps": 400}, "recovered"),
        ("a2", "ft1", {"way": Way.RESTART}, "recovered"),
        ("a2", "ft1", {"detector": Detector.GROUP_TIMEOUT}, "recovered"),
        ("a2", "ft8", {}, "recovered"),
        ("a2", "ft9", {}, "graceful"),
        ("a6", "ft1", {}, "graceful"),
        ("a1-async", "ft9", {}, "graceful"),
    ],
)
def test_a_lost_store_hangs_nobody(
    tmp_path: Path, architecture: str, mechanism: str, changes: dict[str, Any], outcome: str
) -> None:
    event = FaultEvent(STRUCK, FaultKind.STORE_LOSS, step=25)
    found = ran(tmp_path, architecture, event, mechanism=mechanism, **changes)
    steps = changes.get("steps", STEPS)
    assert (found["outcome"], found["steps_completed"]) == (outcome, steps)


@pytest.mark.soak
@pytest.mark.parametrize("mechanism", ["ft1", "ft2"])
@pytest.mark.parametrize("architecture", ["a1-sync", "a1-async"])
def test_a_lost_server_is_recovered_from(tmp_path: Path, architecture: str, mechanism: str) -> None:
    """A1 async is left to go on by itself unless somebody asks for a way; FT2 needs a group that
    it has not."""
    if (architecture, mechanism) == ("a1-async", "ft2"):
        return
    event = FaultEvent(0, FaultKind.COORDINATOR_LOSS, step=25)
    found = ran(tmp_path, architecture, event, mechanism=mechanism, way=Way.SPARE)
    assert (found["outcome"], found["faults"][0]["outcome"]) == ("recovered", "recovered")
    assert restored(found) == [20]


@pytest.mark.soak
@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize(
    ("architecture", "mechanism"), [("a2", "ft1"), ("a4", "ft1"), ("a5", "ft6")]
)
def test_a_second_fault_at_each_phase_of_a_recovery_is_recovered_from(
    tmp_path: Path, architecture: str, mechanism: str, phase: Phase
) -> None:
    found = ran(tmp_path, architecture, CRASH, FaultEvent(0, phase=phase), mechanism=mechanism)
    assert (found["outcome"], found["steps_completed"]) == ("recovered", STEPS)
    assert [fault["outcome"] for fault in found["faults"]] == ["recovered"] * 2
    assert restored(found)[-1] == 20


@pytest.mark.soak
@pytest.mark.parametrize(
    "kind", [FaultKind.CORRUPT_SHARD, FaultKind.MISSING_SHARD, FaultKind.CORRUPT_MANIFEST]
)
def test_a_generation_that_is_damaged_is_passed_over(tmp_path: Path, kind: FaultKind) -> None:
    damage = FaultEvent(STRUCK, kind, step=28)
    crash = FaultEvent(VICTIM, step=29)
    found = ran(tmp_path, "a4", damage, crash)
    assert _said(found, STRUCK)["generation"] == 20
    assert (found["outcome"], restored(found)) == ("recovered", [10])


def _said(found: dict[str, Any], slot: int) -> dict[str, Any]:
    """What a rank wrote of the first fault that struck it."""
    events = read_log(found["folder"] / f"rank-{slot}.jsonl")
    return next(event for event in events if event["event"] == "fault")


@pytest.mark.soak
def test_a_flipped_replica_is_fetched_from_who_has_it_whole(tmp_path: Path) -> None:
    flip = FaultEvent(STRUCK, FaultKind.FLIP_REPLICA, step=22)
    found = ran(tmp_path, "a5", flip, FaultEvent(3, step=25), mechanism="ft2")
    assert (found["outcome"], restored(found)) == ("recovered", [20])
    log = read_log(found["folder"] / f"rank-{STRUCK}.jsonl")
    fetched = [event["owner"] for event in log if event["event"] == "fetched"]
    assert _said(found, STRUCK)["owner"] in fetched


@pytest.mark.soak
def test_full_storage_halts_a_training_that_waits_for_its_saves(tmp_path: Path) -> None:
    found = ran(tmp_path, "a2", FaultEvent(STRUCK, FaultKind.FULL_STORAGE, step=12))
    assert (found["outcome"], found["faults"][0]["outcome"]) == ("halted", "halted")
    assert any("No space left" in rank["error"] for rank in found["ranks"])


@pytest.mark.soak
def test_full_storage_lets_a_training_go_on_that_saves_beside_it(tmp_path: Path) -> None:
    event = FaultEvent(STRUCK, FaultKind.FULL_STORAGE, step=12)
    found = ran(tmp_path, "a2", event, mechanism="ft3")
    assert (found["outcome"], found["steps_completed"]) == ("graceful", STEPS)
    log = read_log(found["folder"] / f"rank-{STRUCK}.jsonl")
    assert any("No space left" in e["why"] for e in log if e["event"] == "save-failed")


def announced(folder: Path, warning: str) -> dict[str, Any]:
    """A crash of the victim, announced by 0.4 s at step 5, or not in truth."""
    event = FaultEvent(VICTIM, step=5, lead_s=0.4, params={"warning": warning})
    return ran(folder, "a2", event, mechanism="ft4", steps=400)


@pytest.mark.soak
def test_a_lost_warning_costs_the_state(tmp_path: Path) -> None:
    found = announced(tmp_path, "lost")
    assert found["outcome"] == "restarted-from-zero"
    assert found["emergency"] == []


@pytest.mark.soak
def test_a_late_warning_is_answered_in_what_is_left_of_its_lead(tmp_path: Path) -> None:
    found = announced(tmp_path, "late")
    assert found["outcome"] in ("recovered", "restarted-from-zero")
    assert [each["lead_s"] for each in found["emergency"]] in ([], [pytest.approx(0.04)])


@pytest.mark.soak
def test_a_false_alarm_costs_a_save(tmp_path: Path) -> None:
    found = announced(tmp_path, "false")
    assert (found["outcome"], found["recoveries"]) == ("graceful", [])
    assert len(found["emergency"]) >= 1
