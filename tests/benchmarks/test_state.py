"""What a save costs against its floors, as ratios of alternated runs of the same bytes."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pytest
import torch
from safetensors.torch import save_file

from measure.state import shard_file
from measure.state.contract import RankState, capture, copied
from measure.state.digest import digests
from measure.state.tensor_bytes import view_of
from tests.measure.state.states import FACTS, alone, state_of, trained

pytestmark = [
    pytest.mark.benchmark,
    pytest.mark.usefixtures("one_thread"),
    pytest.mark.timeout(600),
]

_TENSORS, _NUMBERS = 100, 512_000
_PAIRS = 15


@pytest.fixture(scope="module")
def large() -> RankState:
    """204.8 MB in 100 tensors, as the paper's ResNet-50."""
    return state_of(**{f"t{i}": torch.randn(_NUMBERS) for i in range(_TENSORS)})


def alternated(*actions: Callable[[], object]) -> list[float]:
    """The median seconds of each, one after the other, over and over; the first round is left
    out."""
    rounds = [[_seconds(action) for action in actions] for _ in range(_PAIRS + 1)]
    return [median(times) for times in zip(*rounds[1:], strict=True)]


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin


def _raw_write(path: Path, state: RankState) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for tensor in state.tensors.values():
        os.write(descriptor, view_of(tensor))
    os.fsync(descriptor)
    os.close(descriptor)
    path.unlink()


def _library(path: Path, state: RankState) -> None:
    save_file(state.tensors, path)
    descriptor = os.open(path, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)
    path.unlink()


def test_a_shard_against_a_raw_write(tmp_path: Path, large: RankState) -> None:
    """With digest, temporary name, both flushes and the rename; each file is new."""
    raw, ours, library = alternated(
        lambda: _raw_write(tmp_path / "raw", large),
        lambda: shard_file.write(tmp_path, lambda _: "ours.safetensors", large).path.unlink(),
        lambda: _library(tmp_path / "library", large),
    )
    print(
        f"\nraw write with fsync {raw * 1e3:.0f} ms; a shard {ours * 1e3:.0f} ms, ratio "
        f"{ours / raw:.3f}; the safetensors library with fsync, without a digest, ratio "
        f"{library / raw:.3f} (204.8 MB, {_PAIRS} rounds in turn)"
    )
    assert ours / raw < 1.5  # far above the figure, against a real mistake only


def test_digest_and_copy_against_a_memory_copy(large: RankState) -> None:
    """The copy is into buffers that have been touched."""
    buffers = copied(large)
    floor = [torch.empty_like(t).zero_() for t in large.tensors.values()]

    def copy() -> None:
        for target, tensor in zip(floor, large.tensors.values(), strict=True):
            target.copy_(tensor)

    plain, proof, snapshot = alternated(
        copy, lambda: digests(large), lambda: copied(large, into=buffers)
    )
    print(
        f"\nmemory copy {plain * 1e3:.1f} ms; digest {proof * 1e3:.1f} ms, ratio "
        f"{proof / plain:.2f}; snapshot into buffers, ratio {snapshot / plain:.2f}"
    )
    assert snapshot / plain < 1.5


def test_reading_against_a_raw_read(tmp_path: Path, large: RankState) -> None:
    """From the page cache: what parsing and verifying add."""
    path = shard_file.write(tmp_path, lambda _: "s.safetensors", large).path
    raw, ours = alternated(path.read_bytes, lambda: shard_file.read(path))
    print(f"\nraw read {raw * 1e3:.0f} ms, a verified shard {ours * 1e3:.0f} ms: {ours / raw:.2f}")
    assert ours / raw < 3


def test_capturing_costs_no_copy() -> None:
    architecture = alone()
    trained(architecture, 1)
    (once,) = alternated(lambda: capture(architecture, 1, FACTS))
    count = len(capture(architecture, 1, FACTS).tensors)
    print(f"\na capture of {count} tensors {once * 1e3:.2f} ms")
    assert once < 0.1
