"""Disks that are too small, full, slow or killed at: FT1 and FT3 in real runs."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent
from measure.rank.event_log import read_log
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState
from measure.state.manifest import Receipt, Serves
from tests.measure.harness import nothing_left, request, under_faults
from tests.measure.mechanisms import saving
from tests.measure.ranks import Request, run_ranks
from tests.measure.state.os_calls import set_on_os

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

WORLD, VICTIM = 4, 2


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def ran(folder: Path, architecture: str, *events: FaultEvent, **changes: Any) -> dict[str, Any]:
    """`run-finished` of one run of four ranks and a spare for each fault."""
    asked = request(architecture, world_size=WORLD, group_timeout_s=8.0, **changes)
    return under_faults(folder, asked, *events)


def events_of(finished: dict[str, Any], slot: int, *names: str) -> list[tuple[str, int]]:
    """(name, step) of these events of one process."""
    log = read_log(Path(finished["record"]).parent / f"rank-{slot}.jsonl")
    return [(e["event"], e["step"]) for e in log if e["event"] in names]


def losses(finished: dict[str, Any]) -> dict[int, float]:
    """Rank 0's loss by step, the last time each was made."""
    log = read_log(Path(finished["record"]).parent / "rank-0.jsonl")
    return {e["step"]: e["loss"] for e in log if e["event"] == "step"}


def born(monkeypatch: pytest.MonkeyPatch, body: Any) -> None:
    """Every rank process lives as `body` says."""
    monkeypatch.setattr("measure.rank.main.run_rank", body)


def _live(job_json: str, rank: int, folder: str, store_port: int, pipe: Connection) -> None:
    from measure.rank.main import run_rank

    run_rank(job_json, rank, folder, store_port, pipe)


def live_slowly(*arguments: Any) -> None:
    """A rank whose steps take 20 ms or more: a save of these small states is over long before the
    next one is due."""
    from measure.rank.training_loop import TrainingLoop

    one_step = TrainingLoop.one_step

    def slow(self: TrainingLoop, step: int) -> None:
        time.sleep(0.02)
        one_step(self, step)

    setattr(TrainingLoop, "one_step", slow)  # noqa: B010 - for this process
    _live(*arguments)


def live_with_a_slow_last_save(*arguments: Any) -> None:
    """As `live_slowly`, and its shard of step 50 takes a minute."""
    write = Checkpoints.write

    def slow(self: Checkpoints, state: RankState, serves: Serves = Serves.OWN) -> Receipt:
        if state.step == 50:
            saving.slow_writes(0.2)
            name, largest = max(state.tensors.items(), key=lambda item: item[1].nbytes)
            state.tensors.update({f"{name}.{part}": largest for part in range(300)})
        return write(self, state, serves)

    setattr(Checkpoints, "write", slow)  # noqa: B010 - for this process
    live_slowly(*arguments)


def live_on_a_small_disk(*arguments: Any) -> None:
    """A rank on a file system that has 4 kB left."""
    set_on_os("statvfs", lambda path: SimpleNamespace(f_bavail=1, f_frsize=4096))
    _live(*arguments)


def live_in_little_memory(*arguments: Any) -> None:
    """A rank on a host that has 4 kB of memory left."""
    from measure.state import host_memory

    setattr(host_memory, "available_bytes", lambda: 4096)  # noqa: B010 - for this process
    _live(*arguments)


@pytest.mark.parametrize("architecture", ["a1-sync", "a2", "a4", "a5"])
def test_ft3_recovers_from_a_crash_and_learns_what_it_would_have_learnt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    born(monkeypatch, live_slowly)
    calm = ran(tmp_path, architecture, mechanism="ft3", steps=40)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=28), mechanism="ft3", steps=40)
    assert (calm["outcome"], struck["outcome"]) == ("completed", "recovered"), struck["reasons"]
    assert losses(struck) == losses(calm)
    ((_, first), (_, again)) = events_of(struck, 0, "restored")
    assert first == 0
    assert again in (10, 20)


@pytest.mark.parametrize("architecture", ["a2", "a4", "a5"])
def test_a_kill_while_a_save_is_in_flight_goes_back_to_the_older_generation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    born(monkeypatch, live_with_a_slow_last_save)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=53), mechanism="ft3", steps=70)
    assert struck["outcome"] == "recovered", struck["reasons"]
    restored = [step for _, step in events_of(struck, 0, "restored")]
    said = events_of(struck, 0, "saved", "save-skipped", "save-failed")
    assert restored[1] == max(step for event, step in said if event == "saved" and step < 50)
    assert ("save-failed", 50) in said
    assert struck["found"]["steps_completed"] == 70


@pytest.mark.parametrize("mechanism", ["ft1", "ft3"])
def test_a_disk_that_is_too_small_makes_the_cell_infeasible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mechanism: str
) -> None:
    born(monkeypatch, live_on_a_small_disk)
    finished = ran(tmp_path, "a2", mechanism=mechanism)
    assert finished["outcome"] == "infeasible"
    assert finished["validity"] == "valid"
    (note,) = {note.partition("checkpoints: ")[0] for note in finished["found"]["notes"]}
    assert note == "too little storage for "


def test_too_little_memory_for_the_buffers_makes_the_cell_infeasible(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    born(monkeypatch, live_in_little_memory)
    finished = ran(tmp_path, "a5", mechanism="ft3")
    assert finished["outcome"] == "infeasible"
    assert "too little memory for host buffers" in finished["found"]["notes"][0]


@pytest.mark.parametrize(
    ("mechanism", "lacking"), [("ft1", "storage"), ("ft3", "storage"), ("ft3", "memory")]
)
def test_attach_says_what_it_would_need(tmp_path: Path, mechanism: str, lacking: str) -> None:
    arguments = (mechanism, str(tmp_path), lacking)
    asked = Request("a2", "resnet50", saving.cannot_attach, arguments)
    for said in run_ranks(asked, 2):
        assert f"too little {lacking}" in said
        assert "bytes are needed" in said


@contextmanager
def small_disk(folder: Path) -> Iterator[None]:
    """A real file system of 2 MB, where this process may mount one."""
    mounted = os.system(f"mount -t tmpfs -o size=2m none {folder} 2>/dev/null")  # noqa: S605
    if mounted != 0:
        pytest.skip("no right to mount a file system")
    try:
        yield
    finally:
        os.system(f"umount {folder}")  # noqa: S605


@pytest.mark.parametrize("mechanism", ["ft1", "ft3"])
@pytest.mark.parametrize("asked_first", [True, False])
def test_a_disk_that_fills_up_keeps_the_older_generation(
    tmp_path: Path, mechanism: str, asked_first: bool
) -> None:
    """FT1 raises on every rank, FT3 trains on; either way the next save has room again."""
    with small_disk(tmp_path):
        arguments = (mechanism, str(tmp_path), asked_first)
        asked = Request("a2", "resnet50", saving.disk_fills, arguments)
        for came, left in run_ranks(asked, 2):
            by_step = came.events_by_step()
            raised = ["raised"] if mechanism == "ft1" else []
            assert by_step == {2: ["saved"], 4: ["save-failed", *raised], 6: ["saved"]}
            assert "NoSpaceError" in came.why(4)
            assert left == [], "nothing of the shard that did not fit"
        steps = [g.step for g in Checkpoints(tmp_path / saving.FOLDERS[mechanism]).generations()]
        assert steps == [6, 2]


@pytest.mark.parametrize("architecture", ["a1-async", "a6"])
def test_what_goes_on_by_itself_saves_until_the_loss(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, architecture: str
) -> None:
    born(monkeypatch, live_slowly)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=28), mechanism="ft3", steps=70)
    assert struck["outcome"] == "graceful", struck["reasons"]
    said = events_of(struck, 0, "saved")
    assert said
    assert max(step for _, step in said) < 40


def test_two_mechanisms_on_storage_leave_each_other_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FT3 after every 2 steps, FT1 after every 10: both save step 10, one beside the other."""
    born(monkeypatch, live_slowly)
    crash = FaultEvent(VICTIM, step=28)
    struck = ran(tmp_path, "a5", crash, mechanism="ft3+ft1", interval_steps=2, steps=40)
    assert struck["outcome"] == "recovered", struck["reasons"]
    failed = {step for _, step in events_of(struck, 0, "save-failed")}
    assert failed <= {26, 28}, "but for what was in flight at the loss"
    folder = Path(struck["record"]).parent
    for name in saving.FOLDERS.values():
        assert Checkpoints(folder / name).newest(range(WORLD)).generation.step >= 30
