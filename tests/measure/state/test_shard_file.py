"""One state in one file: what comes back, and what is refused."""

import errno
import json
import os
import pickle
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open

from measure.state import durable, shard_file
from measure.state.contract import RankState
from measure.state.digest import digests
from measure.state.errors import CorruptStateError, NoSpaceError
from measure.state.processes import started
from measure.state.shard_file import Expected, Written
from tests.measure.state.states import small_state, state_of


def written(folder: Path, state: RankState | None = None) -> Written:
    return shard_file.write(folder, lambda digest: "s.safetensors", state or small_state(3))


def every_type() -> RankState:
    types = [t for t in shard_file._CODES if t.itemsize > 1 or not t.is_floating_point]
    tensors = {str(t).removeprefix("torch."): torch.arange(3).to(t) for t in types}
    return state_of(
        **tensors,
        float8=torch.arange(3.0).to(torch.float8_e5m2),
        empty=torch.empty(0, 3),
        scalar=torch.tensor(1.5),
        turned=torch.arange(6.0).view(2, 3).T,
        sliced=torch.arange(9.0)[2:5],
    )


@pytest.mark.parametrize("state", [small_state(3), every_type(), RankState({}, {})])
def test_what_is_written_comes_back(tmp_path: Path, state: RankState) -> None:
    done = written(tmp_path, state)
    assert done.size_bytes == done.path.stat().st_size
    assert [p.name for p in tmp_path.iterdir()] == ["s.safetensors"]
    back = shard_file.read(done.path, Expected(done.size_bytes, done.digest))
    assert back.plain == state.plain
    assert digests(back) == digests(state)
    assert digests(back).whole == done.digest
    for name, tensor in state.tensors.items():
        there = back.tensors[name]
        assert (there.dtype, there.shape) == (tensor.dtype, tensor.shape)
        assert there.double().equal(tensor.double())


def test_the_library_reads_the_same(tmp_path: Path) -> None:
    state = every_type()
    with safe_open(written(tmp_path, state).path, "pt") as file:
        assert set(file.keys()) == set(state.tensors)
        for name, tensor in state.tensors.items():
            read = file.get_tensor(name)
            assert (read.dtype, read.shape) == (tensor.dtype, tensor.shape)
            assert read.float().equal(tensor.float())
        assert json.loads(file.metadata()["plain"]) == state.plain


def test_a_tensor_larger_than_a_chunk(tmp_path: Path) -> None:
    state = state_of(large=torch.randn(700_001), more=torch.randn(3))
    back = shard_file.read(written(tmp_path, state).path)
    assert digests(back) == digests(state)


def test_another_file_than_expected_is_refused(tmp_path: Path) -> None:
    done = written(tmp_path)
    with pytest.raises(CorruptStateError, match=f"has {done.size_bytes} bytes, not 7"):
        shard_file.read(done.path, Expected(7, done.digest))
    with pytest.raises(CorruptStateError, match="holds another state"):
        shard_file.read(done.path, Expected(done.size_bytes, "0" * 32))
    with pytest.raises(CorruptStateError, match=r"nothing\.safetensors: No such file"):
        shard_file.read(tmp_path / "nothing.safetensors")
    with pytest.raises(CorruptStateError, match="directory"):
        shard_file.read(tmp_path)


def test_every_flipped_bit_and_every_truncation_is_refused(tmp_path: Path) -> None:
    """By the file alone, without a manifest."""
    done = written(tmp_path)
    good = done.path.read_bytes()
    broken = tmp_path / "broken"
    variants = [good[:size] for size in range(len(good))]
    variants += [good + b"\0", good + b" ", good + good]
    for place in range(len(good)):
        for bit in range(8):
            flipped = bytearray(good)
            flipped[place] ^= 1 << bit
            variants.append(bytes(flipped))
    for variant in variants:
        broken.write_bytes(variant)
        with pytest.raises(CorruptStateError):
            shard_file.read(broken)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        bytes(4096),
        b"\xff" * 64,
        (1 << 62).to_bytes(8, "little") + b"{}",
        (2).to_bytes(8, "little") + b"{}",
        (4).to_bytes(8, "little") + b"null",
        (200_000).to_bytes(8, "little") + b"[" * 200_000,
        (30_000).to_bytes(8, "little") + b"9" * 30_000,
    ],
)
def test_no_length_that_a_file_claims_is_believed(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "claims"
    path.write_bytes(content)
    with pytest.raises(CorruptStateError):
        shard_file.read(path)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F32", "shape": [1 << 62], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [-2, -1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [True, 2], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [1 << 70, 0], "data_offsets": [0, 0]},
        {"dtype": "F32", "shape": [2], "data_offsets": [8, 16]},
        {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]},
        {"dtype": "F32", "shape": None, "data_offsets": [0, 8]},
        {"dtype": "C64", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F32", "shape": [2], "data_offsets": ["a", "b"]},
        {"dtype": "F32", "shape": [2]},
        [],
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(tmp_path: Path, entry: Any) -> None:
    metadata = {"digest": "0" * 32, "format": shard_file.FORMAT, "plain": "{}"}
    text = json.dumps({"__metadata__": metadata, "model.parameters.a": entry}).encode()
    path = tmp_path / "senseless"
    path.write_bytes(len(text).to_bytes(8, "little") + text + bytes(8))
    with pytest.raises(CorruptStateError):
        shard_file.read(path)


class _Trap:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(_Trap.place),)

    place = Path()


@pytest.mark.parametrize("kind", ["pickle", "torch", "torch, old format"])
def test_nothing_in_a_file_is_run(tmp_path: Path, kind: str) -> None:
    _Trap.place = tmp_path / "sprung"
    path = tmp_path / "trap.safetensors"
    if kind == "pickle":
        path.write_bytes(pickle.dumps(_Trap()))
    else:
        torch.save(_Trap(), path, _use_new_zipfile_serialization=kind == "torch")
    with pytest.raises(CorruptStateError):
        shard_file.read(path)
    assert not _Trap.place.exists()
    if kind == "pickle":
        pickle.loads(path.read_bytes())  # noqa: S301 - the trap works
        assert _Trap.place.exists()


def test_types_that_the_format_does_not_have_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="complex64, which the file format"):
        written(tmp_path, state_of(a=torch.zeros(1, dtype=torch.complex64)))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", ["write", "pwrite", "fsync", "rename"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_failed_call_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    """The old file of that name stays; a full disk is called one."""
    before = written(tmp_path)

    def failing(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, failing)
    with pytest.raises(OSError if number == errno.EIO else NoSpaceError, match=os.strerror(number)):
        written(tmp_path, small_state(4))
    monkeypatch.undo()
    assert list(tmp_path.iterdir()) == [before.path]
    assert shard_file.read(before.path).step == 3


def test_short_writes_are_carried_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:5]))
    assert shard_file.read(written(tmp_path).path).step == 3


def test_space_is_asked_for_first(tmp_path: Path) -> None:
    with pytest.raises(NoSpaceError, match=r"1152921504606846976 bytes are needed, \d+ are free"):
        durable.need_space(tmp_path, 1 << 60)
    durable.need_space(tmp_path, 1)


def test_fifty_saves_do_not_grow_memory(tmp_path: Path) -> None:
    """8 MB a state: one copy that is kept would show at once."""
    state = state_of(large=torch.randn(2_000_000))

    def resident_bytes() -> int:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    for _ in range(5):
        written(tmp_path, state)
    before = resident_bytes()
    for _ in range(50):
        written(tmp_path, state)
    assert resident_bytes() - before < 50 * 1_000_000 / 5


def test_drafts_of_the_dead_are_swept_and_those_of_the_living_stay(tmp_path: Path) -> None:
    host, epoch = durable._host(), durable._epoch()
    me, since = os.getpid(), started(os.getpid())
    living = tmp_path / f".a.{host}.{epoch}.{me}.{since}.0.tmp"
    elsewhere = tmp_path / f".a.another-host.{epoch}.1.1.0.tmp"
    foreign = tmp_path / ".something.tmp"
    reused = tmp_path / f".a.{host}.{epoch}.{me}.1.0.tmp"
    gone = tmp_path / f".a.{host}.{epoch}.4194305.1.0.tmp"
    earlier_boot = tmp_path / f".a.{host}.0-0.{me}.{since}.0.tmp"
    for path in (living, elsewhere, foreign, reused, gone, earlier_boot):
        path.touch()
    assert set(durable.sweep(tmp_path)) == {reused, gone, earlier_boot}
    assert set(tmp_path.iterdir()) == {living, elsewhere, foreign}
