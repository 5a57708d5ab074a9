"""FT2, FT5 and FT6 in real runs: what a peer's memory has brings training back."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent
from measure.interfaces.capabilities import Way
from measure.rank.event_log import read_log
from tests.measure.harness import nothing_left, request, under_faults

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

STEPS, WORLD, VICTIM = 40, 4, 2


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def ran(folder: Path, architecture: str, *events: FaultEvent, **changes: Any) -> dict[str, Any]:
    """`run-finished` of one run, with a spare for each fault; FT2 saves after steps 10, 20, 30."""
    usual = {"mechanism": "ft2", "steps": STEPS, "world_size": WORLD, "group_timeout_s": 8.0}
    return under_faults(folder, request(architecture, **{**usual, **changes}), *events)


def events_of(finished: dict[str, Any], name: str) -> list[dict[str, Any]]:
    """The events of this name of all ranks' logs, each with its `slot`."""
    found = []
    for log in sorted(Path(finished["record"]).parent.glob("rank-*.jsonl")):
        slot = int(log.stem.removeprefix("rank-"))
        found += [{**e, "slot": slot} for e in read_log(log) if e["event"] == name]
    return found


def losses(finished: dict[str, Any]) -> dict[tuple[int, int], float]:
    """Loss by step and rank, as the training that went on had it; a spare's for the victim."""
    return {
        (event["step"], VICTIM if event["slot"] >= WORLD else event["slot"]): event["loss"]
        for event in events_of(finished, "step")
        if event["loss"] is not None
    }


def restored_from(finished: dict[str, Any]) -> set[tuple[int, str]]:
    """(step, tier) of what ranks went on from after the first generation."""
    return {
        (event["step"], event["source"])
        for event in events_of(finished, "restored")
        if event["generation"]
    }


@pytest.mark.parametrize(
    ("mechanism", "architecture", "step", "tier"),
    [
        ("ft2", "a2", 20, "peer memory"),
        ("ft2", "a4", 20, "peer memory"),
        ("ft2", "a5", 20, "peer memory"),
        ("ft2", "a1-sync", 20, "peer memory"),
        ("ft5", "a2", 25, "peer memory, every step"),
        ("ft5", "a4", 25, "peer memory, every step"),
        ("ft5", "a5", 25, "peer memory, every step"),
        ("ft6", "a2", 20, "peer memory, several replicas"),
        ("ft6", "a4", 20, "peer memory, several replicas"),
        ("ft6", "a5", 20, "peer memory, several replicas"),
    ],
)
def test_a_lost_rank_is_brought_back_from_a_peer_s_memory(
    tmp_path: Path, mechanism: str, architecture: str, step: int, tier: str
) -> None:
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25), mechanism=mechanism)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert struck["found"]["steps_completed"] == STEPS
    assert restored_from(struck) == {(step, tier)}
    fetched = events_of(struck, "fetched")
    assert {(event["slot"], event["step"]) for event in fetched} == {(WORLD, step)}
    (own,) = (event for event in fetched if event["owner"] == VICTIM)
    assert own["rank"] == (0 if mechanism == "ft6" else 3)  # the lowest that holds it
    peers = 2 if mechanism == "ft6" else 1
    held = [VICTIM - behind for behind in range(peers + 1)]
    assert sorted(event["owner"] for event in fetched) == sorted(held)
    assert {event["path"] for event in events_of(struck, "saved")} == {"peer memory"}


@pytest.mark.parametrize("architecture", ["a2", "a5"])
def test_a_recovered_run_learns_what_an_uninterrupted_one_learns(
    tmp_path: Path, architecture: str
) -> None:
    calm = ran(tmp_path, architecture)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25))
    assert (calm["outcome"], struck["outcome"]) == ("completed", "recovered"), struck["reasons"]
    assert losses(struck) == losses(calm)  # to the last bit, all 40 steps


def test_who_comes_after_a_loss_holds_what_the_lost_one_held(tmp_path: Path) -> None:
    """The second loss comes before the next save, and its only holder is the one that replaced the
    first."""
    events = (FaultEvent(VICTIM, step=25), FaultEvent(VICTIM - 1, step=30))
    struck = ran(tmp_path, "a5", *events, interval_steps=20)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert restored_from(struck) == {(20, "peer memory")}


def test_an_owner_and_its_only_holder_at_once_are_too_much(tmp_path: Path) -> None:
    both = (FaultEvent(1, step=25), FaultEvent(2, step=25))
    struck = ran(tmp_path, "a5", *both)
    assert struck["outcome"] == "restarted-from-zero", struck["reasons"]
    assert struck["found"]["steps_completed"] == STEPS


def test_two_replicas_outlast_an_owner_and_its_first_holder(tmp_path: Path) -> None:
    both = (FaultEvent(1, step=25), FaultEvent(2, step=25))
    struck = ran(tmp_path, "a5", *both, mechanism="ft6")
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert restored_from(struck) == {(20, "peer memory, several replicas")}


def test_memory_outlives_processes_that_are_started_anew(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, step=25), way=Way.RESTART)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert restored_from(struck) == {(20, "peer memory")}


def test_a_loss_soon_after_a_recovery(tmp_path: Path) -> None:
    events = (FaultEvent(2, step=25), FaultEvent(3, step=28))
    struck = ran(tmp_path, "a5", *events, mechanism="ft5", steps=150)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert struck["found"]["steps_completed"] == 150


@pytest.mark.parametrize("mechanism", ["ft2", "ft5", "ft6"])
@pytest.mark.parametrize("architecture", ["a6", "a1-async"])
def test_without_a_group_of_all_ranks_it_is_infeasible(
    tmp_path: Path, mechanism: str, architecture: str
) -> None:
    finished = ran(tmp_path, architecture, mechanism=mechanism)
    assert finished["outcome"] == "infeasible"


def test_the_newest_of_two_tiers_is_taken(tmp_path: Path) -> None:
    struck = ran(tmp_path, "a5", FaultEvent(VICTIM, step=25), mechanism="ft2+ft1")
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert restored_from(struck) == {(20, "peer memory")}
