"""A thousand flipped bits in what is kept for a recovery: none is loaded, and what who does not
verify would have loaded."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from measure.faults.acts.bits import flip_in_file
from measure.state import segments, shard_file
from measure.state.checkpoints import manifest_path
from measure.state.contract import RankState
from measure.state.digest import digests
from measure.state.errors import CorruptStateError
from measure.state.layout import Layout, StreamDigests
from measure.state.segments import DATA_AT, Slot
from tests.measure.state.conftest import in_memory, one_thread
from tests.measure.state.folders import loaded_step, two_generations
from tests.measure.state.states import small_state

__all__ = ["in_memory", "one_thread"]
pytestmark = [pytest.mark.integration, pytest.mark.soak]

SHARDS, MANIFESTS, REPLICAS = 400, 300, 300


def flipped(path: Path, seed: int, begin: int, look: Callable[[], Any]) -> Any:
    """What `look` sees while one bit of the file from `begin` on is flipped."""
    whole = path.read_bytes()
    flip_in_file(path, begin, len(whole) - begin, random.Random(seed))
    assert path.read_bytes() != whole
    try:
        return look()
    finally:
        path.write_bytes(whole)


def unverified(path: Path) -> dict[str, Tensor] | None:
    """What a reader that checks no digest makes of a shard; None where it cannot read it."""
    raw = path.read_bytes()
    try:
        length = int.from_bytes(raw[:8], "little")
        entries = json.loads(raw[8 : 8 + length])
        entries.pop("__metadata__")
        data = raw[8 + length :]
        return {
            name: torch.frombuffer(
                bytearray(data[slice(*entry["data_offsets"])]),
                dtype=shard_file._TYPES[entry["dtype"]],
            ).view(entry["shape"])
            for name, entry in entries.items()
        }
    except (ValueError, KeyError, TypeError, RuntimeError, AttributeError, OverflowError):
        return None


def is_another(state: dict[str, Tensor] | None, whole: RankState) -> bool:
    """Whether it fits the model, so that nobody would notice, and is not what was written."""
    if state is None or state.keys() != whole.tensors.keys():
        return False
    fits = all(
        state[n].shape == t.shape and state[n].dtype == t.dtype for n, t in whole.tensors.items()
    )
    return fits and digests(RankState(state, whole.plain)) != digests(whole)


def test_no_flipped_shard_is_loaded(in_memory: Path) -> None:
    checkpoints = two_generations(in_memory / "c")
    newest = checkpoints.generations()[0]
    assert loaded_step(checkpoints) == 2
    silent = 0
    for seed in range(SHARDS):
        rank = seed % 2
        path, whole = newest.folder / newest.manifest.of_rank(rank).file, small_state(2, rank, 2)

        def look(path: Path = path, whole: RankState = whole) -> tuple[int, bool]:
            return loaded_step(checkpoints), is_another(unverified(path), whole)

        step, is_silent = flipped(path, seed, 0, look)
        assert step == 1, seed
        silent += is_silent
    assert loaded_step(checkpoints) == 2
    print(f"without digests {silent} of {SHARDS} would have been loaded as another state")
    assert silent > 0


def test_no_flipped_manifest_is_believed(in_memory: Path) -> None:
    checkpoints = two_generations(in_memory / "c")
    path = manifest_path(checkpoints.generations()[0].folder)
    for seed in range(MANIFESTS):
        assert flipped(path, seed, 0, lambda: loaded_step(checkpoints)) == 1, seed
    assert loaded_step(checkpoints) == 2


def test_no_flipped_replica_is_loaded(in_memory: Path) -> None:
    slot, state = Slot(in_memory / "slot", 0, 0), small_state(4)
    layout, found = Layout.of(state), StreamDigests(Layout.of(state))
    slot.begin(layout.size_bytes)
    for _ in segments.copied_in(slot, state, layout, found):
        pass
    slot.fill(segments.content_of(state, layout, found, 0, 0))
    slot.commit()
    for seed in range(REPLICAS):
        whole = slot.path.read_bytes()
        flip_in_file(slot.path, DATA_AT, layout.size_bytes, random.Random(seed))
        with pytest.raises(CorruptStateError):
            slot.read()
        with slot.path.open("r+b") as file:
            file.write(whole)
    read = slot.read()
    assert read is not None
    assert digests(read[1]) == digests(state)
