"""Host memory: a copy into memory that was touched before, as every snapshot is taken."""

from collections.abc import Sequence
from typing import Any

from measure.calibration.bench import Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath, by_size
from measure.calibration.plan import Cell, Extent


class HostCopy(CalibratedPath):
    """See the module."""

    name = "host_copy"
    conditions = "one thread, into memory that was touched before"

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return by_size(self.name, extent)

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        crew.timed(0, "memory.copy", size=max(cell.size_bytes or 0 for cell in cells))

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        return crew.timed(0, "memory.copy", size=cell.size_bytes)


def _copy(bench: Bench, size: int) -> list[float]:
    source, target = bench.content(size), bench.buffer(size)
    return timed(lambda: target.copy_(source))


OPERATIONS: dict[str, Any] = {"memory.copy": _copy}
