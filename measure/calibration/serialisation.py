"""A state to the bytes of a shard and back, in memory, with the digests that both ways make."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from measure.calibration.bench import Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import Cell, Extent
from measure.state import shard_file
from measure.state.tensor_bytes import view_of


class _Converted(CalibratedPath):
    operation: str

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return by_size(self.name, extent)

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        crew.timed(0, self.operation, size=max(cell.size_bytes or 0 for cell in cells))

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return crew.timed(0, self.operation, size=cell.size_bytes)


class Serialise(_Converted):
    """A state to a shard's bytes: header, copy and digests."""

    name, operation = "serialise", "serialisation.encode"
    conditions = "a shard of 100 tensors, xxh3, into memory that was touched before"


class Deserialise(_Converted):
    """A shard's bytes to a verified state: header and digests; tensors stay where they are."""

    name, operation = "deserialise", "serialisation.decode"
    conditions = "a shard of 100 tensors that has just been read, xxh3"


class _Memory:
    """A shard's content in a buffer."""

    def __init__(self, view: memoryview) -> None:
        self._view, self.length = view.cast("B"), 0

    def write(self, data: memoryview | bytes) -> None:
        """See shard_file.Sink."""
        end = self.length + len(data)
        self._view[self.length : end] = memoryview(data).cast("B")
        self.length = end

    def overwrite(self, data: bytes, offset: int) -> None:
        """See shard_file.Sink."""
        self._view[offset : offset + len(data)] = data


def _encode(bench: Bench, size: int) -> list[float]:
    state = bench.state(size)
    memory = _Memory(view_of(bench.buffer(shard_file.encoded_bytes(state))))
    return timed(lambda: shard_file.encode(memory, state))


def _decode(bench: Bench, size: int) -> list[float]:
    state = bench.state(size)
    memory = _Memory(view_of(bench.buffer(shard_file.encoded_bytes(state))))
    shard_file.encode(memory, state)
    data = bench.buffer(memory.length)
    begin = 8 + int.from_bytes(bytes(view_of(data[:8])), "little")
    raw = shard_file.Raw(Path("memory"), bytes(view_of(data[:begin])), data[begin:])
    return timed(lambda: shard_file.decode(raw))


OPERATIONS: dict[str, Any] = {
    "serialisation.encode": _encode,
    "serialisation.decode": _decode,
}
