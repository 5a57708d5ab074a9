"""A state in shared memory, read where it lies: its description, and one pass of digests."""

from collections.abc import Sequence
from typing import Any

from measure.calibration.bench import Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import Cell, Extent
from measure.state import segment_names, segments
from measure.state.layout import Layout, StreamDigests
from measure.state.segments import Slot


class Verify(CalibratedPath):
    """What every replica goes through before it is used. Its bytes have just been touched: an offer
    reads all of them, and what is fetched has just arrived."""

    name = "verify"
    conditions = "a slot of 100 tensors that has just been read, xxh3"

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return by_size(self.name, extent)

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: a slot of each size."""
        for cell in cells:
            crew.ask(0, "verification.fill", size=cell.size_bytes)

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return crew.timed(0, "verification.read", size=cell.size_bytes)


def _fill(bench: Bench, size: int) -> None:
    state = bench.state(size)
    layout = Layout.of(state)
    found = StreamDigests(layout)
    path = segment_names.path_of(bench.run_key, bench.rank, f"v{size}")
    slot = bench.kept["slot", size] = Slot(path, bench.rank, state.rank)
    slot.begin(layout.size_bytes)
    for _ in segments.copied_in(slot, state, layout, found):
        pass
    slot.fill(segments.content_of(state, layout, found, bench.rank, 0))


def _read(bench: Bench, size: int) -> list[float]:
    slot: Slot = bench.kept["slot", size]
    slot.read()
    return timed(slot.read)


OPERATIONS: dict[str, Any] = {"verification.fill": _fill, "verification.read": _read}
