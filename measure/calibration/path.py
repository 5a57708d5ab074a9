"""What one path is to a calibration: which samples it wants, and how one is taken."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from measure.calibration.crew import Crew
from measure.calibration.plan import Cell, Extent


class CalibratedPath(ABC):
    """One path of this machine. Made once a calibration; called by the coordinating process."""

    name: str
    """As in SQL."""
    conditions: str
    """How it was measured, in words; complete once `prepare` is done."""

    def unavailable(self) -> str:
        """Why it cannot be measured here; empty where it can."""
        return ""

    @abstractmethod
    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """What to sample, and how often."""

    @abstractmethod
    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """Makes what the samples need; not timed."""

    @abstractmethod
    def sample(self, crew: Crew, cell: Cell) -> float:
        """Takes one sample: seconds, above zero."""


def by_size(name: str, extent: Extent, processes: int = 1) -> list[tuple[Cell, int]]:
    """Every size as often as was asked for."""
    return [(Cell(name, size, processes), extent.repeats) for size in extent.sizes_bytes]
