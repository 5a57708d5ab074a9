"""One calibration, from its plan to its record."""

import secrets
import shutil
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.calibration.catalogue import all_paths
from measure.calibration.crew import Crew
from measure.calibration.groups import WORLD_SIZES
from measure.calibration.path import CalibratedPath
from measure.calibration.plan import (
    MANY,
    Cell,
    Extent,
    Request,
    Room,
    extent_of,
    fitted_in,
    shuffled,
)
from measure.campaign import check_folder, cluster_here, new_campaign_id, signals_noted
from measure.errors import HarnessError, MeasureError
from measure.plan import device_and_backend
from measure.results.environment import environment
from measure.results.run_record import utc, write_record
from measure.state import durable, segment_names, segments
from measure.supervisor.ranks import RankStarter
from measure.supervisor.store import hosted_store

RECORD, VERSION, FILE_NAME = "failbench-calibration", 1, "calibration.json"
_USUAL_RANKS = 8
_WORK = "work"

Emit = Callable[[str, dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class Sample:
    """One measured duration, seconds."""

    cell: Cell
    duration_s: float

    def as_json(self) -> dict[str, Any]:
        """As it stands in the record."""
        return {
            "path": self.cell.path,
            "size_bytes": self.cell.size_bytes,
            "processes": self.cell.processes,
            "purpose": self.cell.purpose.value,
            "duration_s": self.duration_s,
        }


class Session:
    """A calibration of this machine under the name `cluster`; `emit` hears of every event (see
    measure/cli.py). Its folder is on the storage that is measured."""

    def __init__(
        self, request: Request, cluster: str, folder: Path, command: str, emit: Emit
    ) -> None:
        self._request, self._command, self._emit = request, command, emit
        self._session = new_campaign_id()
        self._folder = folder / f"calibration-{self._session}"
        self._work = self._folder / durable.temporary_name(_WORK)
        self._cluster = cluster
        self._run_key = secrets.token_hex(6)
        self._stop_asked = False
        self._paths = all_paths()
        self._skipped: list[dict[str, str]] = []
        self._notes: list[str] = []

    def run(self) -> bool:
        """Measures and writes the record; False when it was interrupted: then nothing is left.

        UsageError, before anything starts, where there is no room; HarnessError if a process
        fails.
        """
        extent = extent_of(self._request)
        check_folder(self._folder)
        _sweep(self._folder.parent)
        try:
            extent, said = fitted_in(extent, _room(self._folder))
            self._notes += filter(None, [said])
            done = self._measured(extent)
        except OSError as error:
            raise HarnessError(f"{self._folder}: {error.strerror or error}") from error
        finally:
            shutil.rmtree(self._work, ignore_errors=True)
            with suppress(OSError):
                self._folder.rmdir()  # unless the record is in it
        return done

    def _measured(self, extent: Extent) -> bool:
        hardware = self._hardware()
        cells = self._cells(extent)
        order = shuffled([both for found in cells.values() for both in found], self._request.seed)
        self._heard(
            "plan",
            {
                "samples": len(order),
                "session": self._session,
                "cluster": self._cluster,
                "hardware": hardware,
                "folder": str(self._folder),
                "skipped": self._skipped,
                "notes": self._notes,
            },
        )
        started_at, began = datetime.now(UTC), time.monotonic()
        with signals_noted(self._ask_to_stop):
            samples = self._sampled(cells, order)
            if len(samples) < len(order):
                return False
        record = self._record(hardware, samples, started_at, time.monotonic() - began)
        path = write_record(record, self._folder, FILE_NAME)
        self._heard("calibrated", {"record": str(path), "wall_s": record["wall_s"]})
        return True

    def _cells(self, extent: Extent) -> dict[str, list[tuple[Cell, int]]]:
        """By path; what cannot be measured here is noted, and left out."""
        cells = {}
        for path in self._paths:
            if why := path.unavailable():
                self._skipped.append({"path": path.name, "reason": why})
            elif found := path.cells(extent):
                cells[path.name] = found
        return cells

    def _sampled(
        self, cells: dict[str, list[tuple[Cell, int]]], order: Sequence[Cell]
    ) -> list[Sample]:
        """Every sample in its order; fewer where somebody asked to stop."""
        self._work.mkdir()
        segment_names.sweep()
        samples: list[Sample] = []
        with ExitStack() as stack:
            stack.callback(segment_names.remove, self._run_key)
            segment_names.claim(self._run_key)
            port = stack.enter_context(hosted_store())
            starter = RankStarter(["measure.calibration.worker"])
            size = max(*WORLD_SIZES, MANY)
            crew = stack.enter_context(Crew(starter, size, self._work, port, self._run_key))
            paths = self._prepared(crew, cells)
            for number, cell in enumerate(order, start=1):
                if self._stop_asked:
                    break
                samples.append(Sample(cell, _sample(paths[cell.path], crew, cell)))
                self._said(number, len(order), samples[-1])
        return samples

    def _prepared(
        self, crew: Crew, cells: dict[str, list[tuple[Cell, int]]]
    ) -> dict[str, CalibratedPath]:
        paths = {path.name: path for path in self._paths if path.name in cells}
        for name, path in paths.items():
            if not self._stop_asked:
                self._heard("preparing", {"path": name})
                path.prepare(crew, [cell for cell, _ in cells[name]])
        return paths

    def _said(self, number: int, of: int, sample: Sample) -> None:
        self._heard("sample", {"sample": number, "of": of, **sample.as_json()})

    def _heard(self, event: str, fields: dict[str, Any]) -> None:
        """Where nobody listens any more, the calibration ends in order."""
        try:
            self._emit(event, fields)
        except OSError:
            self._stop_asked = True

    def _ask_to_stop(self) -> None:
        self._stop_asked = True

    def _hardware(self) -> dict[str, Any]:
        device, _ = device_and_backend("auto", _USUAL_RANKS)
        command = "advisor calibrate"
        return cluster_here(self._cluster, command, _USUAL_RANKS, device, self._folder)

    def _record(
        self,
        hardware: dict[str, Any],
        samples: Sequence[Sample],
        started_at: datetime,
        wall_s: float,
    ) -> dict[str, Any]:
        taken = Counter(sample.cell.path for sample in samples)
        return {
            "record": RECORD,
            "version": VERSION,
            "session": self._session,
            "command": self._command,
            "seed": self._request.seed,
            "quick": self._request.is_quick,
            "started_at": utc(started_at),
            "wall_s": wall_s,
            "cluster": hardware,
            "environment": environment(),
            "paths": [
                {"path": path.name, "conditions": path.conditions}
                for path in self._paths
                if taken[path.name]
            ],
            "skipped": self._skipped,
            "notes": self._notes,
            "samples": [sample.as_json() for sample in samples],
        }


def _sample(path: CalibratedPath, crew: Crew, cell: Cell) -> float:
    try:
        return path.sample(crew, cell)
    except MeasureError as error:
        size = f" of {cell.size_bytes} bytes" if cell.size_bytes else ""
        raise HarnessError(f"{cell.path}{size}: {error}") from error


def _room(folder: Path) -> Room:
    return Room(shutil.disk_usage(folder).free, segments.free_bytes(segment_names.FOLDER))


def _sweep(folder: Path) -> None:
    """Removes what killed calibrations left on the storage: it may be gigabytes."""
    for work in folder.glob(f"calibration-*/.{_WORK}.*"):
        if durable.is_dead(work.name):
            shutil.rmtree(work, ignore_errors=True)
            with suppress(OSError):
                work.parent.rmdir()
