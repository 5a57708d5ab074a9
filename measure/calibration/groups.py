"""Forming a group of all ranks anew, as after a recovery: a client of the store, and the group."""

from collections.abc import Sequence
from typing import Any

from measure.calibration.bench import PATIENT_S, Bench, timed
from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath
from measure.calibration.plan import Cell, Extent
from measure.rank.groups import ProcessGroups, StorePlace

WORLD_SIZES = (2, 4, 8)
_MORE_OFTEN = 2
"""It takes little time, and varies more than a copy does."""


class GroupFormation(CalibratedPath):
    """See the module."""

    name = "group_formation"
    conditions = "gloo over the loopback interface, until the last rank is in the group"

    def __init__(self) -> None:
        self._formed = 0

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        times = _MORE_OFTEN * extent.repeats
        return [(Cell(self.name, None, ranks), times) for ranks in WORLD_SIZES]

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath: torch imports more when it forms its first group."""
        self.sample(crew, max(cells, key=lambda cell: cell.processes))

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        self._formed += 1  # each has names of its own in the store
        given = {"generation": self._formed, "world_size": cell.processes}
        taken = crew.timed_all([(r, "groups.form", given) for r in range(cell.processes)])
        crew.ask_all([(rank, "groups.leave", {}) for rank in range(cell.processes)])
        return taken


def _form(bench: Bench, generation: int, world_size: int, at: float) -> list[float]:
    def form() -> None:
        place = StorePlace("127.0.0.1", bench.store_port, generation)
        groups = ProcessGroups(place, bench.rank, world_size, "gloo", PATIENT_S, PATIENT_S)
        bench.kept["group"] = groups
        groups.world()

    return timed(form, at)


def _leave(bench: Bench) -> None:
    bench.kept.pop("group").close()


OPERATIONS: dict[str, Any] = {"groups.form": _form, "groups.leave": _leave}
