"""Dropping pages, and shards in halves: what is read cold is what was written."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest
import torch

from measure.calibration import serialisation, storage
from measure.calibration.bench import Bench, state_over
from measure.calibration.storage import COLD, DROPPED, WARM, drop_pages
from measure.state import shard_file
from measure.state.digest import digests
from measure.state.tensor_bytes import view_of


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(0, tmp_path, 0, "0" * 12)


def test_pages_of_a_flushed_file_are_dropped_or_it_is_said(bench: Bench) -> None:
    storage.OPERATIONS["storage.make"](bench, size=300_000)
    (path,) = bench.folder.iterdir()
    before = path.read_bytes()
    assert drop_pages(path) in (COLD, DROPPED, WARM)
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("error", "said"),
    [(BlockingIOError(errno.EAGAIN, ""), COLD), (OSError(errno.EOPNOTSUPP, ""), DROPPED)],
)
def test_how_cold_it_is_follows_from_a_read_that_does_not_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: OSError, said: str
) -> None:
    def refuse(*_: Any) -> int:
        raise error

    path = tmp_path / "file"
    path.write_bytes(b"x" * 10_000)
    monkeypatch.setattr(os, "preadv", refuse)
    assert drop_pages(path) == said


def test_a_page_that_is_still_there_is_warm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"x" * 10_000)
    monkeypatch.setattr(os, "preadv", lambda *_: 1)
    assert drop_pages(path) == WARM


def test_what_is_written_is_as_large_as_was_asked_and_is_removed(bench: Bench) -> None:
    begin, end = storage.OPERATIONS["storage.write"](bench, size=100_000, at=0.0)
    assert begin < end
    (path,) = bench.folder.iterdir()
    assert path.stat().st_size == 100_000
    storage.OPERATIONS["storage.remove"](bench)
    assert list(bench.folder.iterdir()) == []


def test_a_shard_in_memory_is_the_one_on_disk(bench: Bench, tmp_path: Path) -> None:
    state = bench.state(40_000)
    written = shard_file.write(tmp_path, lambda _: "s.safetensors", state)
    size = shard_file.encoded_bytes(state)
    buffer = bench.buffer(size)
    digest = shard_file.encode(serialisation._Memory(view_of(buffer)), state)
    assert bytes(view_of(buffer)) == written.path.read_bytes()
    assert (digest, size) == (written.digest, written.size_bytes)
    raw = shard_file.read_raw(written.path)
    assert digests(shard_file.decode(raw)) == digests(state)


@pytest.mark.parametrize("size", [4, 40, 400_000, 4_000_004])
def test_states_have_the_size_that_was_asked(size: int) -> None:
    state = state_over(torch.zeros(size, dtype=torch.uint8), 1, 2)
    assert sum(t.numel() * t.element_size() for t in state.tensors.values()) == size
    assert len(state.tensors) <= 100
    assert (state.rank, state.world_size) == (1, 2)


def test_content_and_buffers_are_kept(bench: Bench) -> None:
    first = bench.content(1000)
    assert bench.content(1000).data_ptr() == first.data_ptr()
    assert len(bench.content(7)) == 7
    assert bench.buffer(10).data_ptr() == bench.buffer(5).data_ptr()
    assert len(set(first.tolist())) > 100
