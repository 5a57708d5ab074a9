"""The storage that the folder lies on: writes for good, and reads that the page cache had not.

Both go through the code that saves and loads checkpoints: a draft with its flushes and its rename,
and the first half of reading a shard, into fresh memory.
"""

import errno
import mmap
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure.calibration.bench import Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import MANY, Cell, Extent, many_sizes
from measure.state import durable, shard_file
from measure.state.tensor_bytes import view_of

_PIECE_BYTES = 1 << 20
COLD = "cold: pages dropped by posix_fadvise(DONTNEED), which was checked"
DROPPED = "pages dropped by posix_fadvise(DONTNEED); whether they went cannot be checked here"
WARM = "warm: this file system keeps its pages"


class _Storage(CalibratedPath):
    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath: with one process, and with many at once."""
        many = [(Cell(self.name, s, MANY), extent.repeats) for s in many_sizes(extent.sizes_bytes)]
        return by_size(self.name, extent) + many


class StorageWrite(_Storage):
    """A file, flushed and renamed."""

    name = "storage_write"
    conditions = "temporary name, fsync, rename, fsync of the folder"

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: content is made ahead."""
        for processes in {cell.processes for cell in cells}:
            size = max(c.size_bytes or 0 for c in cells if c.processes == processes)
            crew.ask_all([(rank, "storage.content", {"size": size}) for rank in range(processes)])

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        given = {"size": cell.size_bytes}
        taken = crew.timed_all([(r, "storage.write", given) for r in range(cell.processes)])
        crew.ask_all([(rank, "storage.remove", {}) for rank in range(cell.processes)])
        return taken


class StorageRead(_Storage):
    """A shard's bytes, into fresh memory."""

    name = "storage_read"
    conditions = ""

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: each process has a file of its own of each size."""
        wanted = {(c.size_bytes or 0, rank) for c in cells for rank in range(c.processes)}
        for size, rank in sorted(wanted):
            crew.ask(rank, "storage.make", size=size)
        self.conditions = crew.ask(0, "storage.drop", size=cells[0].size_bytes)

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        given = {"size": cell.size_bytes}
        said = crew.ask_all([(r, "storage.drop", given) for r in range(cell.processes)])
        if WARM in said:
            self.conditions = WARM
        return crew.timed_all([(r, "storage.read", given) for r in range(cell.processes)])


def drop_pages(path: Path) -> str:
    """Has the kernel forget a file that was flushed; how far that went, in words."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        last = max(0, os.fstat(descriptor).st_size - 1) // mmap.PAGESIZE * mmap.PAGESIZE
        return _kept(descriptor, (0, last // 2 // mmap.PAGESIZE * mmap.PAGESIZE, last))
    finally:
        os.close(descriptor)


def _kept(descriptor: int, places: Sequence[int]) -> str:
    """Asks for single bytes without waiting for the disk: a page that is not there refuses."""
    for place in places:
        try:
            os.preadv(descriptor, [bytearray(1)], place, os.RWF_NOWAIT)
        except BlockingIOError:
            continue
        except OSError as error:
            if error.errno in (errno.EOPNOTSUPP, errno.EINVAL):
                return DROPPED
            raise
        return WARM
    return COLD


def _content(bench: Bench, size: int) -> None:
    bench.content(size)


def _write(bench: Bench, size: int, at: float) -> list[float]:
    view = view_of(bench.content(size))

    def write() -> None:
        with durable.draft(bench.folder, f"written-{bench.rank}") as file:
            for begin in range(0, size, _PIECE_BYTES):
                file.write(view[begin : begin + _PIECE_BYTES])
            file.publish(f"written-{bench.rank}")

    return timed(write, at)


def _remove(bench: Bench) -> None:
    shard_file.remove(bench.folder / f"written-{bench.rank}")


def _make(bench: Bench, size: int) -> None:
    shard_file.write(bench.folder, lambda _: _shard_name(bench, size), bench.state(size))


def _drop(bench: Bench, size: int) -> str:
    return drop_pages(bench.folder / _shard_name(bench, size))


def _read(bench: Bench, size: int, at: float) -> list[float]:
    path = bench.folder / _shard_name(bench, size)
    kept: list[shard_file.Raw] = []  # freed after it was timed
    return timed(lambda: kept.append(shard_file.read_raw(path)), at)


def _shard_name(bench: Bench, size: int) -> str:
    return f"read-{size}-{bench.rank}{shard_file.SUFFIX}"


OPERATIONS: dict[str, Any] = {
    "storage.content": _content,
    "storage.write": _write,
    "storage.remove": _remove,
    "storage.make": _make,
    "storage.drop": _drop,
    "storage.read": _read,
}
