"""Generations: commit, walking back, pruning, poison; and that damage is never loaded."""

import os
import pickle
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from measure.state import durable
from measure.state.checkpoints import Checkpoints, Generation, Rejected
from measure.state.contract import RankState
from measure.state.digest import canonical, digests, of_bytes
from measure.state.errors import (
    CorruptStateError,
    NoCheckpointError,
    NoSpaceError,
    StateError,
)
from measure.state.manifest import Receipt, Serves
from measure.state.retention import Retention
from measure.state.storage_waits import is_in_storage
from tests.measure.state.folders import RANKS, loaded_step, save, two_generations
from tests.measure.state.states import small_state


def newest_file(checkpoints: Checkpoints, rank: int = 0) -> Path:
    generation = checkpoints.generations()[0]
    return generation.folder / generation.manifest.of_rank(rank).file


def why_rejected(checkpoints: Checkpoints) -> str:
    """What is wrong with step 2, while step 1 is loaded."""
    assert loaded_step(checkpoints) == 1
    (rejected,) = checkpoints.newest(range(RANKS)).rejected
    assert rejected.step == 2
    return rejected.why


def test_the_newest_is_loaded(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path / "made" / "as needed")
    assert [g.step for g in checkpoints.generations()] == [2, 1]
    loaded = checkpoints.newest([1])
    assert list(loaded.states) == [1]
    assert loaded.rejected == ()
    assert loaded.generation.manifest.lineage == {"saved": 2}
    names = sorted(p.name for p in (checkpoints.folder / "step-00000002").iterdir())
    assert len(names) == RANKS + 1
    assert "manifest.json" in names


def test_whoever_calls_is_in_storage_until_the_call_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen at each look at the folder, and at each file that is opened."""
    found: list[bool] = []
    path, opened = Checkpoints._folder_of, os.open

    def folder_of(self: Checkpoints, step: int) -> Path:
        found.append(is_in_storage())
        return path(self, step)

    def open_(*arguments: Any, **named: Any) -> int:
        found.append(is_in_storage())
        return opened(*arguments, **named)

    monkeypatch.setattr(Checkpoints, "_folder_of", folder_of)
    monkeypatch.setattr(os, "open", open_)
    checkpoints = two_generations(tmp_path / "checkpoints")
    newest = checkpoints.generations()[0]
    calls: list[Callable[[], object]] = [
        lambda: checkpoints.load(newest, 0),
        lambda: checkpoints.newest([0]),
        checkpoints.rejected,
        lambda: checkpoints.poison(2, "a test"),
        lambda: checkpoints.prune(Retention()),
    ]
    for call in calls:
        before = len(found)
        call()
        assert len(found) > before
    assert all(found)
    assert not is_in_storage()


def test_nothing_there_is_said_apart_from_nothing_usable(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path / "new")
    checkpoints.open()
    with pytest.raises(NoCheckpointError, match="holds no checkpoint") as raised:
        checkpoints.newest([0])
    assert raised.value.rejected == ()
    checkpoints.write(small_state(5))
    with pytest.raises(NoCheckpointError, match="step 5: never committed") as raised:
        checkpoints.newest([0])
    assert len(raised.value.rejected) == 1


def test_other_names_in_the_folder_are_left_alone(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    for name in ("step-3", "step-000000003", "step-00000003x", "latest"):
        (tmp_path / name).mkdir()
    (tmp_path / "step-00000009").write_text("a file")
    assert loaded_step(checkpoints) == 2
    assert checkpoints.rejected() == []
    checkpoints.prune(Retention(1, 0))
    assert (tmp_path / "step-3").is_dir()


def _receipts(checkpoints: Checkpoints, step: int = 3) -> list[Receipt]:
    return [checkpoints.write(small_state(step, rank, RANKS)) for rank in range(RANKS)]


def test_a_commit_needs_every_shard_with_its_size(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    first, second = _receipts(checkpoints)
    part = replace(second, serves=Serves.PART)
    everybody = replace(first, serves=Serves.ALL)
    file = tmp_path / "step-00000003" / second.file
    refused: list[tuple[list[Receipt], str]] = [
        ([first], "rank 1's shard is missing"),
        ([second], "rank 0's shard is missing"),
        ([first, first], "rank 1's shard is missing"),
        ([first, second, second], "a rank has two shards"),
        ([first, part], "the shard that serves all is missing"),
        ([everybody, replace(second, serves=Serves.ALL)], "two shards serve all"),
        ([first, replace(second, file="nothing.safetensors")], "nothing.safetensors: No such"),
        ([first, replace(second, size_bytes=7)], f"has {file.stat().st_size} bytes, not 7"),
    ]
    for receipts, why in refused:
        with pytest.raises(StateError, match="step 3 is not committed") as raised:
            checkpoints.publish(3, RANKS, receipts, {})
        assert why in str(raised.value)
        assert loaded_step(checkpoints) == 2
    checkpoints.publish(3, RANKS, [second, first], {})
    assert loaded_step(checkpoints) == 3


def test_a_truncated_shard_is_not_committed(tmp_path: Path) -> None:
    """As a writer that failed in silence leaves it."""
    checkpoints = two_generations(tmp_path)
    receipts = _receipts(checkpoints)
    os.truncate(tmp_path / "step-00000003" / receipts[1].file, 100)
    with pytest.raises(StateError, match="has 100 bytes"):
        checkpoints.publish(3, RANKS, receipts, {})
    assert loaded_step(checkpoints) == 2


def test_a_replicated_state_is_one_shard_and_small_parts(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    states = [small_state(4, rank, 3) for rank in range(3)]
    serves = [Serves.PART, Serves.ALL, Serves.PART]
    receipts = [checkpoints.write(s, kind) for s, kind in zip(states, serves, strict=True)]
    assert receipts[0].size_bytes < receipts[1].size_bytes
    checkpoints.publish(4, 3, receipts, {})
    loaded = checkpoints.newest(range(3)).states
    assert digests(loaded[1]) == digests(states[1])
    for rank in (0, 2):
        got, own, shared = (digests(s) for s in (loaded[rank], states[rank], states[1]))
        assert (got.parameters, got.buffers, got.optimizer) == (
            shared.parameters,
            shared.buffers,
            shared.optimizer,
        )
        assert (got.rng, got.position, got.facts) == (own.rng, own.position, own.facts)
    with pytest.raises(ValueError, match="has no rank 3: it has 3"):
        checkpoints.newest([3])


def _damaged(raw: bytes) -> Iterator[bytes]:
    """Every byte with its lowest bit, its case or all of it changed, every truncation, zeros, and
    more; test_shard_file flips every bit."""
    for place in range(len(raw)):
        for mask in (1, 32, 255):
            flipped = bytearray(raw)
            flipped[place] ^= mask
            yield bytes(flipped)
        yield raw[:place]
    yield bytes(len(raw))
    yield raw + b"\n"


def test_no_damage_of_any_file_is_ever_loaded(in_memory: Path) -> None:
    """Exhaustive; the older generation is loaded every time, and as it was saved."""
    checkpoints = two_generations(in_memory)
    tried = 0
    for path in sorted(checkpoints.generations()[0].folder.iterdir()):
        raw = path.read_bytes()
        for damaged in _damaged(raw):
            path.write_bytes(damaged)
            assert loaded_step(checkpoints) == 1, path
            tried += 1
        path.write_bytes(raw)
        assert loaded_step(checkpoints) == 2
    print(f"\n{tried} damaged checkpoints, none of them loaded")
    assert tried > 5000


def test_swapped_shards_are_refused(tmp_path: Path) -> None:
    """Between ranks, and between generations: files of the same size, whole in themselves."""
    checkpoints = two_generations(tmp_path)
    one, other = newest_file(checkpoints), newest_file(checkpoints, 1)
    first, second = one.read_bytes(), other.read_bytes()
    assert len(first) == len(second)
    one.write_bytes(second)
    other.write_bytes(first)
    assert "holds another state" in why_rejected(checkpoints)
    other.write_bytes(second)
    assert "holds another state" in why_rejected(checkpoints)
    older = checkpoints.generations()[1]
    one.write_bytes((older.folder / older.manifest.of_rank(0).file).read_bytes())
    assert "holds another state" in why_rejected(checkpoints)
    one.write_bytes(first)
    assert loaded_step(checkpoints) == 2


def test_swapped_entries_of_a_manifest_are_refused(tmp_path: Path) -> None:
    """A manifest that is whole in itself, but gives each rank the other's shard."""
    checkpoints = two_generations(tmp_path)
    generation = checkpoints.generations()[0]
    first, second = generation.manifest.shards
    swapped = (replace(first, rank=1), replace(second, rank=0))
    path = generation.folder / "manifest.json"
    path.write_bytes(replace(generation.manifest, shards=swapped).encoded())
    assert "is of another step, rank or world size" in why_rejected(checkpoints)


def test_a_manifest_of_another_step_is_refused(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    (tmp_path / "step-00000001").rename(tmp_path / "step-00000003")
    assert loaded_step(checkpoints) == 2
    assert checkpoints.rejected() == [Rejected(3, "the manifest is of step 1")]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"[]", "the manifest is damaged"),
        (b"{}", "the manifest is damaged"),
        (b"\xff", "the manifest is damaged"),
        (b"[" * 100_000, "the manifest is damaged"),
        (b'{"format":2}', "the manifest has format 2, known is 1"),
        (b" " * ((1 << 24) + 1), "the manifest has more than 16777216 bytes"),
    ],
)
def test_what_is_no_manifest_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    checkpoints = two_generations(tmp_path)
    (tmp_path / "step-00000002" / "manifest.json").write_bytes(content)
    assert why in why_rejected(checkpoints)
    assert checkpoints.poison(3, "no") == []


@pytest.mark.parametrize("name", ["../step-00000001/x.safetensors", "/etc/passwd", "", ".tmp"])
def test_a_manifest_names_files_of_its_folder_only(tmp_path: Path, name: str) -> None:
    checkpoints = two_generations(tmp_path)
    generation = checkpoints.generations()[0]
    shards = (replace(generation.manifest.shards[0], file=name), generation.manifest.shards[1])
    path = generation.folder / "manifest.json"
    path.write_bytes(replace(generation.manifest, shards=shards).encoded())
    assert why_rejected(checkpoints) == "a shard's entry names no file of the folder"


@pytest.mark.parametrize(
    "edit", [{"rank": -1}, {"rank": "0"}, {"size_bytes": 1.5}, {"serves": "none"}, {"more": 1}]
)
def test_an_entry_that_makes_no_sense_is_refused(tmp_path: Path, edit: dict[str, Any]) -> None:
    checkpoints = two_generations(tmp_path)
    manifest = checkpoints.generations()[0].manifest
    content = {
        "format": 1,
        "step": 2,
        "world_size": RANKS,
        "shards": [{**manifest.shards[0].to_json(), **edit}],
        "lineage": {},
    }
    raw = canonical({**content, "digest": of_bytes(canonical(content))})
    (tmp_path / "step-00000002" / "manifest.json").write_bytes(raw)
    assert why_rejected(checkpoints)


def test_a_file_of_zeros_is_refused(tmp_path: Path) -> None:
    """What a rename without a flush leaves after a loss of power."""
    checkpoints = two_generations(tmp_path)
    path = newest_file(checkpoints)
    path.write_bytes(bytes(path.stat().st_size))
    assert "does not begin with a header's length" in why_rejected(checkpoints)


def test_a_pickle_in_place_of_a_shard_is_not_run(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    path = newest_file(checkpoints)
    torch.save({"w": torch.ones(1)}, path)
    assert "bytes, not" in why_rejected(checkpoints)
    path.write_bytes(pickle.dumps([1, 2, 3]))
    assert "bytes, not" in why_rejected(checkpoints)


def test_everything_damaged_says_what_was_rejected(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    newest_file(checkpoints).unlink()
    (tmp_path / "step-00000001" / "manifest.json").unlink()
    with pytest.raises(NoCheckpointError) as raised:
        checkpoints.newest([0])
    said = str(raised.value)
    assert "step 2: rank-00000-" in said
    assert "No such file" in said
    assert "step 1: never committed: it has no manifest" in said
    assert pickle.loads(pickle.dumps(raised.value)).rejected == raised.value.rejected  # noqa: S301


def test_a_step_that_is_saved_again_leaves_the_first_one_whole(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    again = small_state(2, 0, RANKS)
    again.tensors["model.parameters.w"].add_(1)
    receipt = checkpoints.write(again)
    assert loaded_step(checkpoints) == 2  # as saved first
    second = checkpoints.write(small_state(2, 1, RANKS))
    generation = checkpoints.publish(2, RANKS, [receipt, second], {})
    assert digests(checkpoints.load(generation, 0)) == digests(again)
    checkpoints.prune(Retention())
    assert len(list(generation.folder.iterdir())) == RANKS + 1
    assert digests(checkpoints.newest([0]).states[0]) == digests(again)


def test_poisoned_generations_are_not_offered(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    save(checkpoints, 3)
    assert checkpoints.poison(2, "rank 1's gradients were wrong since step 2") == [2, 3]
    assert loaded_step(checkpoints) == 1
    whys = [rejected.why for rejected in checkpoints.newest([0]).rejected]
    assert whys == ["poisoned: rank 1's gradients were wrong since step 2"] * 2
    save(checkpoints, 4)
    checkpoints.prune(Retention(1, 0))
    assert (tmp_path / "step-00000003").is_dir(), "evidence stays"
    save(checkpoints, 2)  # the same state, by a run that came past it again
    assert [g.step for g in checkpoints.generations()] == [4, 2]


def test_poison_needs_no_room_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints = two_generations(tmp_path)

    def full(*_: Any) -> None:
        raise NoSpaceError("No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(durable, "write_file", full)
        assert checkpoints.poison(2, "a test") == [2]
    assert loaded_step(checkpoints) == 1
    assert [found.why for found in checkpoints.rejected()] == [
        "never committed: it has no manifest"
    ]
    save(checkpoints, 2)
    assert loaded_step(checkpoints) == 2


def test_the_first_reason_for_a_poison_stays(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    checkpoints.poison(2, "the first")
    checkpoints.poison(2, "the second")
    assert why_rejected(checkpoints) == "poisoned: the first"


def test_pruning_keeps_the_newest_that_was_proved(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    for step in (3, 4):
        save(checkpoints, step)
    assert checkpoints.prune(Retention(1, 0), [2]) == [1, 3]
    assert [g.step for g in checkpoints.generations()] == [4, 2]


def test_pruning_follows_a_commit_and_keeps_what_is_not_its_own(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    checkpoints.write(small_state(1, 0, RANKS))
    assert checkpoints.prune(Retention(1, 0)) == [], "nothing is committed"
    for step in (2, 3, 4, 5):
        save(checkpoints, step)
    checkpoints.write(small_state(6, 0, RANKS))  # under way
    newest_file(checkpoints).unlink()  # step 5 is damaged
    assert checkpoints.prune(Retention(2, 0)) == [1, 2]
    assert sorted(p.name[-1] for p in tmp_path.iterdir()) == ["3", "4", "5", "6"]
    assert loaded_step(checkpoints) == 4


def test_opening_sweeps_the_drafts_of_dead_writers(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    dead = tmp_path / "step-00000002" / ".rank-00000-new.tmp"
    from measure.state import durable

    dead = dead.with_name(f".x.{durable._host()}.{durable._epoch()}.4194305.1.0.tmp")
    dead.touch()
    assert checkpoints.open() == [dead]
    assert loaded_step(checkpoints) == 2


def test_a_part_without_its_whole_is_corrupt(tmp_path: Path) -> None:
    checkpoints = Checkpoints(tmp_path)
    whole = small_state(4, 0, 2)
    del whole.tensors["optimizer.w.momentum"]
    receipts = [
        checkpoints.write(whole, Serves.ALL),
        checkpoints.write(small_state(4, 1, 2), Serves.PART),
    ]
    generation: Generation = checkpoints.publish(4, 2, receipts, {})
    state: RankState = checkpoints.load(generation, 0)
    assert state.step == 4
    with pytest.raises(CorruptStateError, match="0 optimizer tensors of its 1"):
        checkpoints.load(generation, 1)
