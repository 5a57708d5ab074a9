"""The schedule as one process sees it."""

import os
import time
from pathlib import Path
from typing import Any, cast

import pytest

from measure.faults.acts.act import Scene
from measure.faults.injector import InjectedError, Injector
from measure.faults.schedule import (
    FaultEvent,
    FaultKind,
    RecoveryPhase,
    Schedule,
    StartPhase,
)
from measure.interfaces.architecture import Architecture
from measure.rank.event_log import EventLog, read_log

DEADLINE_S = 10.0
EVENTS = (
    FaultEvent(1, FaultKind.EXCEPTION, step=3),
    FaultEvent(2, FaultKind.EXCEPTION, after_s=0.3, lead_s=0.2),
)


def made(folder: Path, place: int) -> Injector:
    return Injector(Schedule("test", EVENTS), place, EventLog(folder / "log.jsonl", place))


def test_a_fault_strikes_who_has_the_place(tmp_path: Path) -> None:
    injector = made(tmp_path, 4)
    injector.before_step(3)
    injector.take(1, [0, 1], {})
    with pytest.raises(InjectedError):
        injector.before_step(3)


def test_who_takes_a_place_is_not_struck_again(tmp_path: Path) -> None:
    injector = made(tmp_path, 4)
    injector.take(1, [1], {})
    injector.before_step(3)


def test_what_is_announced_comes_with_its_instant(tmp_path: Path) -> None:
    injector, due_at = made(tmp_path, 0), time.monotonic() + 1.0
    injector.take(0, [1], {1: due_at})
    injector.arm(1, due_at + 5.0)  # a second time says nothing new
    assert _warnings(injector) == [(EVENTS[1], due_at)]
    assert _warnings(injector) == []


def _warnings(injector: Injector) -> list[tuple[FaultEvent, float]]:
    """What is announced within a second."""
    end = time.monotonic() + 1.0
    while time.monotonic() < end:
        found = injector.warnings()
        if found:
            return found
        time.sleep(0.005)
    return []


def test_what_has_struck_meanwhile_is_no_warning(tmp_path: Path) -> None:
    """The rank was recovering, and asks only after the fault."""
    injector = made(tmp_path, 0)
    injector.arm(1, time.monotonic() + 0.2)
    time.sleep(0.3)
    assert injector.warnings() == []
    pending = made(tmp_path, 0)
    pending.arm(1, time.monotonic() + 5.0)
    pending.take(0, [], {})
    assert pending.warnings() == []


def test_time_counts_from_the_first_training(tmp_path: Path) -> None:
    events = (FaultEvent(1, FaultKind.EXCEPTION, time_s=0.0),)
    injector = Injector(Schedule("test", events), 4, EventLog(tmp_path / "log.jsonl", 4))
    injector.take(1, [0], {})
    injector.training_started(time.monotonic())
    end = time.monotonic() + DEADLINE_S
    while not injector._for_training_thread and time.monotonic() < end:
        time.sleep(0.01)
    assert _struck(tmp_path) == [], "nothing has happened to anybody yet"
    with pytest.raises(InjectedError):
        injector.before_step(0)
    assert _struck(tmp_path) == [0]


def _struck(folder: Path) -> list[int]:
    """The faults that the log has."""
    return [e["ordinal"] for e in read_log(folder / "log.jsonl") if e["event"] == "fault"]


def of_a_node(folder: Path, struck: list[FaultKind], fails: bool = False) -> Injector:
    def strike(kind: FaultKind) -> None:
        struck.append(kind)
        if fails:
            raise PermissionError("not permitted")

    events = (FaultEvent(2, FaultKind.PARTITION, step=3),)
    log = EventLog(folder / "log.jsonl", 2)
    return Injector(Schedule("test", events), 2, log, strike)


def test_a_fault_of_the_node_strikes_it_once_after_saying_so(tmp_path: Path) -> None:
    struck: list[FaultKind] = []
    injector = of_a_node(tmp_path, struck)
    injector.before_step(2)
    assert struck == []
    injector.before_step(3)
    injector.before_step(3)
    assert struck == [FaultKind.PARTITION]
    events = [event["event"] for event in read_log(tmp_path / "log.jsonl")]
    assert events == ["clock", "fault"]


def test_what_is_said_of_a_cut_is_on_the_storage_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Which may lie beyond that link."""
    found: list[str] = []
    sync = os.fsync

    def syncing(descriptor: int) -> None:
        written = read_log(tmp_path / "log.jsonl")[-1]["event"]
        sync(descriptor)
        found.append(f"synced after {written}")

    monkeypatch.setattr(os, "fsync", syncing)
    struck: list[FaultKind] = []
    injector = of_a_node(tmp_path, struck)
    injector._strike_node = lambda kind: found.append(kind.value)
    injector.before_step(3)
    assert found == ["synced after fault", "partition"]


def test_a_fault_that_cannot_be_carried_out_says_why(tmp_path: Path) -> None:
    of_a_node(tmp_path, [], fails=True).before_step(3)
    last = read_log(tmp_path / "log.jsonl")[-1]
    assert (last["event"], last["ordinal"], last["why"]) == ("fault-failed", 0, "not permitted")


def announced(folder: Path, place: int, **params: str) -> tuple[Injector, list[int]]:
    """A fault of rank 2 that is announced 0.2 s ahead, and what the supervisor hears."""
    told: list[int] = []
    event = FaultEvent(2, FaultKind.EXCEPTION, step=3, lead_s=0.2, params=params)
    log = EventLog(folder / "log.jsonl", place)
    return Injector(Schedule("test", (event,)), place, log, on_struck=told.append), told


def written(folder: Path, name: str) -> list[dict[str, Any]]:
    return [event for event in read_log(folder / "log.jsonl") if event["event"] == name]


def awaited(folder: Path, name: str) -> list[dict[str, Any]]:
    """As `written`, once there is one."""
    end = time.monotonic() + DEADLINE_S
    while not written(folder, name) and time.monotonic() < end:
        time.sleep(0.005)
    return written(folder, name)


def test_of_a_lost_warning_nobody_hears_and_the_fault_comes(tmp_path: Path) -> None:
    injector, _ = announced(tmp_path, 2, warning="lost")
    injector.before_step(3)
    assert _warnings(injector) == []
    with pytest.raises(InjectedError):
        injector.before_step(4)
    assert written(tmp_path, "warning") == []


def test_a_late_warning_says_how_late_it_is(tmp_path: Path) -> None:
    injector, _ = announced(tmp_path, 1, warning="late")
    began = time.monotonic()
    injector.before_step(3)
    (said,) = awaited(tmp_path, "warning")
    assert said["lead_s"] == pytest.approx(0.02)
    assert said["t"] - began >= 0.17


def test_a_false_alarm_strikes_nobody_and_its_place_says_so_once(tmp_path: Path) -> None:
    injector, told = announced(tmp_path, 2, warning="false")
    injector.before_step(3)
    assert len(awaited(tmp_path, "warning")) == 1
    awaited(tmp_path, "fault")
    injector.before_step(4)
    injector.before_step(3)  # training went back, for another reason
    time.sleep(0.3)
    assert told == [0]
    (said,) = awaited(tmp_path, "fault")
    assert (said["kind"], said["warning"]) == ("exception", "false")


def in_phases(folder: Path, first: FaultEvent, second: FaultEvent) -> Injector:
    return Injector(Schedule("test", (first, second)), 1, EventLog(folder / "log.jsonl", 1))


@pytest.mark.parametrize(
    "phase", [StartPhase.FORMING_GROUPS, RecoveryPhase.RESTORING, RecoveryPhase.CHECKING]
)
def test_a_phase_of_the_recovery_comes_after_the_first_fault(
    tmp_path: Path, phase: StartPhase | RecoveryPhase
) -> None:
    second = FaultEvent(1, FaultKind.EXCEPTION, phase=phase)
    injector = in_phases(tmp_path, FaultEvent(2, step=3), second)
    injector.at_phase(phase)  # as the groups are formed first
    injector.take(1, [1], {})  # fault 0 has struck
    with pytest.raises(InjectedError):
        injector.at_phase(phase)


@pytest.mark.parametrize("phase", [RecoveryPhase.NOTICING, RecoveryPhase.ELECTING])
def test_who_notices_a_loss_was_told_of_none(tmp_path: Path, phase: RecoveryPhase) -> None:
    second = FaultEvent(1, FaultKind.EXCEPTION, phase=phase)
    injector = in_phases(tmp_path, FaultEvent(2, step=3), second)
    injector.at_phase(StartPhase.FORMING_GROUPS)
    with pytest.raises(InjectedError):
        injector.at_phase(phase)


def test_where_fault_0_strikes_at_the_start_so_do_the_others(tmp_path: Path) -> None:
    first = FaultEvent(2, phase=StartPhase.STARTING)
    second = FaultEvent(1, FaultKind.EXCEPTION, phase=StartPhase.FORMING_GROUPS)
    injector = in_phases(tmp_path, first, second)
    with pytest.raises(InjectedError):
        injector.at_phase(StartPhase.FORMING_GROUPS)


def test_what_could_not_be_carried_out_is_not_tried_again(tmp_path: Path) -> None:
    """Nor where its step is made again: of a log with both nobody could say whether it struck."""
    event = FaultEvent(1, FaultKind.CORRUPT_SHARD, step=3)
    injector = Injector(Schedule("test", (event,)), 1, EventLog(tmp_path / "log.jsonl", 1))
    scene = Scene(cast("Architecture", None), tmp_path, "0123456789ab")
    injector.attach(scene)
    injector.before_step(3)
    injector.detach()
    injector.take(1, [0], {})  # a crash of another has thrown all back
    injector.attach(scene)
    injector.before_step(3)
    assert [event["ordinal"] for event in written(tmp_path, "fault-failed")] == [0]
