"""Starting a rank: a real one, from the fork server, until it says that it is ready."""

import time
from collections.abc import Sequence

from measure.calibration.crew import Crew
from measure.calibration.path import CalibratedPath
from measure.calibration.plan import Cell, Extent
from measure.errors import HarnessError
from measure.job_spec import Detector
from measure.plan import Request, cells_of, named
from measure.rank import heartbeat
from measure.rank.control import hear, say
from measure.rank.main import Place
from measure.supervisor.ranks import end

_PATIENCE_S, _GRACE_S = 60.0, 5.0
_MORE_OFTEN = 2


class ProcessStart(CalibratedPath):
    """See the module."""

    name = "process_start"
    conditions = "a rank of A2, smoke profile, from a fork server that has torch loaded"

    def cells(self, extent: Extent) -> list[tuple[Cell, int]]:
        """See CalibratedPath."""
        return [(Cell(self.name, None, 1), _MORE_OFTEN * extent.repeats)]

    def prepare(self, crew: Crew, cells: Sequence[Cell]) -> None:
        """See CalibratedPath."""
        self._place = Place(crew.folder / "rank", crew.store_port)
        self._place.folder.mkdir()
        heartbeat.create(self._place.heartbeats, 1)
        self.sample(crew, cells[0])

    def sample(self, crew: Crew, cell: Cell) -> float:
        """See CalibratedPath."""
        job = _job_json()
        begin = time.monotonic()
        rank = crew.starter.start(job, 0, self._place.folder, crew.store_port)
        try:
            if not rank.pipe.poll(_PATIENCE_S) or hear(rank.pipe)["said"] != "ready":
                raise HarnessError("a rank did not come up")
            taken = time.monotonic() - begin
            say(rank.pipe, "end")
        except (EOFError, OSError) as error:
            raise HarnessError("a rank was gone before it was ready") from error
        finally:
            end([rank], _GRACE_S)
        return taken


def _job_json() -> str:
    """A job that is never trained: the rank ends when it is ready."""
    asked = Request(
        architectures=["a2"],
        mechanisms=["ft9"],
        traces=["none"],
        profile="smoke",
        seeds=1,
        first_seed=0,
        world_size=2,
        group_timeout_s=None,
        detector=Detector.SUPERVISOR,
        workload=None,
        device="cpu",
        steps=None,
        lead_s=None,
    )
    (cell,) = named(cells_of(asked), "calibration")
    return cell.job.to_json()
