"""From which state ranks go on: the newest one that all of them can prove."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch.distributed as dist

from measure.rank.event_log import EventLog, read_log
from measure.rank.restoring import Group, newest, settle
from measure.state.checkpoints import Checkpoints
from measure.state.digest import digests
from measure.state.storage import Storage
from tests.measure.state.folders import save
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import small_state

pytestmark = pytest.mark.integration

_PATIENT_S = 20.0


def _saved(folder: Path, *steps: int) -> Checkpoints:
    checkpoints = Checkpoints(folder / "checkpoints")
    checkpoints.open()
    for step in steps:
        save(checkpoints, step)
    return checkpoints


def _load(
    store: dist.Store, rank: int, size: int, folder: str, not_after: int | None = None
) -> Any:
    """(Step, digests of the state, digest promised; what the log says was rejected); where there is
    none, why."""
    path = Path(folder) / f"rank-{rank}.jsonl"
    tiers = [Storage(Checkpoints(Path(folder) / "checkpoints"), rank)]
    log = EventLog(path, rank)
    found = newest(tiers, Group(store, rank, size, _PATIENT_S), log, not_after)
    settle(tiers, found.state.step if found else 0, log)
    rejected = [
        (event["step"], event["why"])
        for event in read_log(path)
        if event["event"] == "checkpoint-rejected"
    ]
    if found is None:
        (why,) = (e["why"] for e in read_log(path) if e["event"] == "nothing-restored")
        return why, rejected
    return (found.state.step, digests(found.state), found.digest), rejected


def _damage(checkpoints: Checkpoints, rank: int, content: bytes | None = None) -> None:
    """Another last byte in a rank's newest shard, or another content."""
    generation = checkpoints.generations()[0]
    path = generation.folder / generation.manifest.of_rank(rank).file
    path.write_bytes(path.read_bytes()[:-1] + b"x" if content is None else content)


def test_ranks_load_the_newest_step_that_all_of_them_can(tmp_path: Path) -> None:
    """Rank 1's shard of the newest is damaged: rank 0, whose own is whole, goes back as well."""
    checkpoints = _saved(tmp_path, 1, 2, 3, 4)
    _damage(checkpoints, 1)
    (checkpoints.folder / "step-00000003" / "manifest.json").unlink()
    answers = on_ranks(_load, 2, str(tmp_path))
    for rank, (loaded, rejected) in enumerate(answers):
        expected = digests(small_state(2, rank, 2))
        assert loaded == (2, expected, expected.whole)
        assert [step for step, _ in rejected] == [4, 3]
        assert "rank 1: CorruptStateError" in rejected[0][1]
        assert "never committed" in rejected[1][1]
    assert [g.step for g in checkpoints.generations()] == [2, 1], "what lay ahead is over"


def test_what_is_suspect_is_not_loaded_and_never_offered_again(tmp_path: Path) -> None:
    checkpoints = _saved(tmp_path, 1, 2, 3, 4)
    for loaded, rejected in on_ranks(_load, 2, str(tmp_path), 2):
        assert loaded[0] == 2
        assert rejected == [(step, "nothing was proved good after step 2") for step in (4, 3)]
    assert [g.step for g in checkpoints.generations()] == [2, 1]
    for loaded, _ in on_ranks(_load, 2, str(tmp_path)):  # after a loss nobody suspects anything
        assert loaded[0] == 2


def test_where_all_is_suspect_nothing_is_loaded(tmp_path: Path) -> None:
    _saved(tmp_path, 3, 4)
    for why, _ in on_ranks(_load, 2, str(tmp_path), 2):
        assert why == "storage: step 4 is suspect, step 3 is suspect"


def test_ranks_that_can_load_nothing_all_say_so(tmp_path: Path) -> None:
    checkpoints = _saved(tmp_path, 1)
    _damage(checkpoints, 1, b"")
    for why, rejected in on_ranks(_load, 2, str(tmp_path)):
        assert why == "storage: no step of which every rank's state is there"
        assert [step for step, _ in rejected] == [1]
        assert rejected[0][1].startswith("rank-00001-")


def test_what_was_there_and_of_no_use_is_in_the_reason(tmp_path: Path) -> None:
    """The sizes are right, so that it is offered; one rank finds out."""
    checkpoints = _saved(tmp_path, 1)
    _damage(checkpoints, 1)
    for why, _ in on_ranks(_load, 2, str(tmp_path)):
        assert why.startswith("storage: step 1 is refused by rank 1: CorruptStateError: ")


def test_without_a_tier_nothing_is_kept(tmp_path: Path) -> None:
    said: list[str] = []

    def write(*_: object, why: str) -> float:
        said.append(why)
        return 0.0

    log = SimpleNamespace(write=write)
    store = dist.HashStore()
    assert newest([], Group(store, 0, 1, _PATIENT_S), cast("Any", log)) is None
    assert said == ["nothing is kept of which every rank's part outlives a rank"]
