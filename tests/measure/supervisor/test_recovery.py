"""Recovery carried through to the next step: a warm spare takes the dead rank's place."""

import os
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.mechanisms.periodic_disk import FOLDER
from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, planned, request, run, under_faults

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

STEPS, WORLD, VICTIM, SPARE = 40, 4, 2, 4
HALTING = ("a1-sync", "a2", "a3", "a4", "a5", "a7")
PHASES = ["detect", "stop", "elect", "rebuild", "initialise", "restore", "check", "resume"]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def ran(folder: Path, architecture: str, *events: FaultEvent, **changes: Any) -> dict[str, Any]:
    """`run-finished` of one run under FT1 that saves after steps 10, 20 and 30."""
    usual = {"mechanism": "ft1", "steps": STEPS, "world_size": WORLD, "group_timeout_s": 8.0}
    return under_faults(folder, request(architecture, **{**usual, **changes}), *events)


def losses(finished: dict[str, Any]) -> dict[int, dict[int, float]]:
    """Loss by step and rank, as the training that went on had it: the last time it was made, and
    the spare's in the place of the rank that it played."""
    found: dict[int, dict[int, float]] = {}
    for slot in range(WORLD + 1):
        for event in read_log(Path(finished["record"]).parent / f"rank-{slot}.jsonl"):
            if event["event"] == "step" and event["loss"] is not None:
                rank = VICTIM if slot == SPARE else slot
                found.setdefault(event["step"], {})[rank] = event["loss"]
    return found


@pytest.mark.parametrize("architecture", HALTING)
def test_a_recovered_run_learns_what_an_uninterrupted_one_learns(
    tmp_path: Path, architecture: str
) -> None:
    calm = ran(tmp_path, architecture)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25))
    assert (calm["outcome"], struck["outcome"]) == ("completed", "recovered"), struck["reasons"]
    assert losses(struck) == losses(calm)  # to the last bit, all 40 steps
    found = struck["found"]
    assert found["steps_completed"] == STEPS
    assert found["faults"][0]["outcome"] == "recovered"
    assert [phase["phase"] for phase in found["phases"]] == PHASES
    assert all(phase["duration_s"] >= 0.0 for phase in found["phases"])


def test_the_phases_add_up_to_the_wall_time(tmp_path: Path) -> None:
    found = ran(tmp_path, "a2", FaultEvent(VICTIM, step=25))
    record, folder = found["found"], Path(found["record"]).parent
    (fault,) = (e for e in read_log(folder / f"rank-{VICTIM}.jsonl") if e["event"] == "fault")
    ends = []
    for slot in (0, 1, 3, SPARE):
        events = read_log(folder / f"rank-{slot}.jsonl")
        again = max(n for n, event in enumerate(events) if event["event"] == "training")
        ends.append(next(e["t"] for e in events[again:] if e["event"] == "step"))
    total_s = sum(phase["duration_s"] for phase in record["phases"])
    assert total_s == pytest.approx(max(ends) - fault["t"], abs=1e-3)


def test_a_fault_before_the_first_save_starts_from_zero_and_says_so(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, step=5))
    assert struck["outcome"] == "restarted-from-zero"
    assert struck["found"]["steps_completed"] == STEPS


def test_two_at_once_need_two_spares(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(1, step=25), FaultEvent(VICTIM, step=25))
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert [fault["fired"] for fault in struck["found"]["faults"]] == [True, True]


def test_too_few_spares_halt(tmp_path: Path) -> None:
    plan = planned(tmp_path, request("a5", mechanism="ft1", group_timeout_s=8.0))
    (cell,) = plan.cells
    events = (FaultEvent(VICTIM, step=12),)
    job = replace(cell.job, schedule=Schedule("test", events), spares=0)
    (struck,) = run(replace(plan, cells=[replace(cell, job=job)]))
    assert (struck["outcome"], struck["validity"]) == ("halted", "valid")


@pytest.mark.parametrize("after_s", [0.0, 0.02, 0.04, 0.05, 0.1])
def test_a_fault_during_the_recovery_starts_it_again(tmp_path: Path, after_s: float) -> None:
    """Before the survivors stop, as they are ordered, while they form their groups, and later."""
    struck = ran(
        tmp_path, "a4", FaultEvent(VICTIM, step=25), FaultEvent(1, after_s=after_s), steps=60
    )
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert struck["found"]["steps_completed"] == 60


def test_one_after_the_other(tmp_path: Path) -> None:
    events = (FaultEvent(VICTIM, step=15), FaultEvent(1, after_s=1.0))
    struck = ran(tmp_path, "a4", *events, steps=200)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert [phase["fault"] for phase in struck["found"]["phases"]] == [0] * 8 + [1] * 8


def test_a_rank_that_raises_is_replaced_too(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, FaultKind.EXCEPTION, step=25))
    assert struck["outcome"] == "recovered", struck["reasons"]


def test_a_rank_that_dies_before_training_is_replaced_or_ends_the_run(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, phase=StartPhase.FORMING_GROUPS))
    assert struck["found"]["validity"] == "valid"
    assert struck["outcome"] in ("restarted-from-zero", "halted")


def test_a_torn_generation_is_passed_over_for_the_one_before(tmp_path: Path) -> None:
    tearing = threading.Thread(target=_tear, args=(tmp_path, "step-00000030"), daemon=True)
    tearing.start()
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, step=38))
    assert struck["outcome"] == "recovered", struck["reasons"]
    events = read_log(Path(struck["record"]).parent / "rank-0.jsonl")
    (rejected,) = (event for event in events if event["event"] == "checkpoint-rejected")
    assert rejected["step"] == 30
    restored = [event["step"] for event in events if event["event"] == "restored"]
    assert restored == [0, 20]


def _tear(folder: Path, generation: str) -> None:
    """Cuts a shard of a generation short as soon as it is committed."""
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        for manifest in folder.glob(f"*/*/{FOLDER}/{generation}/manifest.json"):
            shard = next(manifest.parent.glob("rank-00001-*"))
            os.truncate(shard, shard.stat().st_size // 2)
            return
        time.sleep(0.001)


@pytest.mark.parametrize("architecture", ["a1-async", "a6"])
def test_what_goes_on_by_itself_saves_until_the_loss(tmp_path: Path, architecture: str) -> None:
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25))
    assert struck["outcome"] == "graceful"
    steps = sorted(p.name for p in (Path(struck["record"]).parent / FOLDER).iterdir())
    assert steps == ["step-00000010", "step-00000020"]
