"""Runs a campaign: has its cells run by a launcher, stores what each showed, marks it.

The database knows of every cell before it runs. So whatever is killed, whoever goes on finds each
cell where it was: done, to be run again, or done but not yet marked, which its record says.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine

from advisor.campaign_summary import TupleSummary, summarise
from advisor.drift import Drift, drift_of
from advisor.errors import AdvisorError
from advisor.harness import Event
from advisor.launchers.launcher import Ended, Launcher
from advisor.processes import is_gone, this_process
from advisor.seeds import more_seeds
from advisor.time_left import Kind, kind_of
from db import campaign_store
from db.campaign_plan import CellPart, read_plan
from db.campaign_queries import baseline_steps
from db.campaign_store import CampaignLostError, OpenCell, PlannedCell, Taken, Target
from db.drill_store import settle_drills
from db.errors import AnotherClusterError, DatabaseError, InvalidDataError, UnreadableError
from db.harvest import HarvestReport, harvest
from db.ingest import RECORD_NAME, ingest_record
from db.records import CampaignStatus, CellStatus, RunSummary, RunValidity
from db.run_queries import RunFilter, list_runs
from db.run_record import INTERRUPTED, Record, read_record
from db.session import read
from db.validation_store import settle

BEAT_S = 5.0
OTHER_HARDWARE = "it ran on other hardware than the campaign's"
_MOST_RUNS = 1_000_000


OnPlan = Callable[[Engine, Sequence[PlannedCell]], None]


class Shown(Protocol):
    """What is shown of a campaign while it runs (advisor/commands/progress.py)."""

    def event(self, event: Event) -> None:
        """Takes note of an event of the harness."""

    def say(self, line: str) -> None:
        """Prints one line for good."""


@dataclass(slots=True)
class Measured:
    """What a campaign left behind; filled while it runs."""

    campaign: str = ""
    cluster: str = ""
    folder: str = ""
    planned: int = 0
    stored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    """One line for each cell of this command that is no evidence."""
    left: dict[str, str] = field(default_factory=dict)
    """Why cells that were begun, or were to be, are open again: run id -> reason."""
    harvested: list[HarvestReport] = field(default_factory=list)
    tuples: list[TupleSummary] = field(default_factory=list)
    drift: Drift | None = None
    status: CampaignStatus = CampaignStatus.PENDING

    @property
    def go_on(self) -> str:
        """The command that goes on with the campaign."""
        return f"advisor measure --resume {self.campaign}"


class CampaignRun:
    """One controller of one campaign, from the plan (or from where another one stopped) on.

    What is planned, stored and marked is here; how cells are brought to run is the launcher's
    (`advisor/launchers`), which calls what is public here.
    """

    def __init__(
        self,
        open_database: Callable[[], Engine],
        shown: Shown,
        folder: Path,
        target: Target | None = None,
        on_plan: OnPlan | None = None,
        *,
        is_check: bool = False,
    ) -> None:
        self.measured = Measured()
        self.shown = shown
        self.taken: Taken | None = None
        """The campaign, once it is planned or taken over."""
        self.at_once = 1
        """How many cells run at the same time, for the time that is left."""
        self.on_lost: Callable[[], None] = lambda: None
        """Called, in another thread, when another controller has taken the campaign."""
        self._open_database = open_database
        self._folder, self._target, self._on_plan = folder, target, on_plan
        self._is_check = is_check
        self._me = this_process()
        self._lost = threading.Event()
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "CampaignRun":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._heart.is_alive():
            self._heart.join()

    @property
    def is_lost(self) -> bool:
        """Whether another controller has taken the campaign: nothing more can be stored."""
        return self._lost.is_set()

    def resume(self, campaign: str) -> None:
        """Takes a campaign that nobody runs. Raises CampaignRunsError, NotFoundError."""
        engine = self._open_database()
        self._has(campaign_store.take_over(engine, campaign, self._me, is_gone))

    def plan(self, event: Event) -> None:
        """Stores the plan that a harness said: from now on every cell is a row. Raises
        InvalidDataError."""
        plan = read_plan(event, str(self._folder))
        stored = campaign_store.store_plan(
            self._open_database(), plan, self._me, self._target, is_check=self._is_check
        )
        self._has(stored)
        if self._on_plan is not None:
            engine = self._open_database()
            self._on_plan(engine, campaign_store.all_cells(engine, stored))
        self.show_plan()

    def show_plan(self) -> None:
        """The plan in the words of the display, which counts what was done before as well."""
        cells = campaign_store.all_cells(self._open_database(), self._taken_now())
        self.measured.planned = len(cells)
        done: dict[Kind, list[float]] = {}
        for cell in cells:
            if cell.wall_s is not None:
                done.setdefault(_kind(cell), []).append(cell.wall_s)
        self.shown.event(
            {
                "event": "planned",
                "runs": len(cells),
                "done": done,
                "left": [_kind(cell) for cell in cells if cell.is_open],
                "at_once": self.at_once,
                "campaign": self.measured.campaign,
                "cluster": self.measured.cluster,
                "folder": self.measured.folder,
            }
        )

    def open_cells(self) -> list[OpenCell]:
        """The cells that are still to run, in their order; records of some may be there."""
        return campaign_store.open_cells(self._open_database(), self._taken_now())

    def next_cell(self) -> OpenCell | None:
        """The next open cell, marked as running; of more seeds where more are wanted."""
        cell = campaign_store.claim(self._open_database(), self._taken_now(), self._me)
        if cell is None and self.add_seeds():
            cell = campaign_store.claim(self._open_database(), self._taken_now(), self._me)
        return cell

    def begin(self, cell: OpenCell) -> None:
        """Marks this very cell as running, if it is open."""
        campaign_store.claim(self._open_database(), self._taken_now(), self._me, cell.ordinal)

    def record_path(self, cell: OpenCell) -> Path:
        """Where the record of the cell's run is, or will be."""
        return Path(self._taken_now().folder) / cell.run_id / RECORD_NAME

    def add_seeds(self) -> bool:
        """Plans more runs of the tuples that are not known well enough; whether there are any."""
        engine, taken = self._open_database(), self._taken_now()
        if taken.target is None:
            return False
        planned = campaign_store.all_cells(engine, taken)
        more = more_seeds(planned, _runs(engine, taken.campaign), taken.target)
        if not more:
            return False
        campaign_store.add_cells(engine, taken, [CellPart.model_validate(cell) for cell in more])
        fraction = taken.target.fraction
        self.shown.say(f"{len(more)} more runs, for intervals within {fraction:.3g}")
        self.show_plan()
        return True

    def store(self, cell: OpenCell, path: Path) -> Record | None:
        """Stores the run of a cell and marks it; returns what the record says.

        A run that was ended before its end is not stored: its cell is stale. None where the record
        is refused: the cell has failed then. Raises AnotherClusterError; UnreadableError where
        it cannot be read just now: the cell is left as it is.
        """
        measured = self.measured
        try:
            file = read_record(path)
            record = file.record
            if record.run_id != cell.run_id:
                raise InvalidDataError(f"{path}: it is of run {record.run_id!r}, not of its folder")
            if INTERRUPTED in record.validity_reasons:
                self.settle(cell, CellStatus.STALE, INTERRUPTED)
                return record
            ingest_record(self._open_database(), file, CampaignStatus.RUNNING)
        except UnreadableError:
            raise
        except AnotherClusterError:
            self.settle(cell, CellStatus.STALE, OTHER_HARDWARE)
            raise
        except InvalidDataError as error:
            measured.refused.append(str(error))
            self.shown.say(f"not stored: {error}")
            self.settle(cell, CellStatus.FAILED, f"not stored: {error}")
            return None
        measured.stored.append(record.run_id)
        if record.validity is RunValidity.VALID:
            self.settle(cell, CellStatus.COMPLETE, wall_s=record.wall_s)
        else:
            self.settle(cell, CellStatus.FAILED, "; ".join(record.validity_reasons), record.wall_s)
        return record

    def settle(
        self, cell: OpenCell, status: CellStatus, reason: str = "", wall_s: float | None = None
    ) -> None:
        """Marks what became of a cell."""
        said = " ".join(reason.replace("\x00", " ").split())
        campaign_store.settle(
            self._open_database(), self._taken_now(), cell.ordinal, status, said, wall_s
        )
        self.measured.left.pop(cell.run_id, None)
        if status is CellStatus.FAILED:
            self.measured.failed.append(f"{cell.run_id}: {said}")
        elif status is CellStatus.STALE:
            self.measured.left[cell.run_id] = said

    def finish(self) -> None:
        """Gives the campaign back, pools the cluster's runs, reads what the campaign showed."""
        self._over.set()
        if self.taken is None or self._lost.is_set():
            return
        engine, measured = self._open_database(), self.measured
        try:
            measured.status = campaign_store.let_go(engine, self.taken)
            settle(engine)
            settle_drills(engine)
            measured.harvested.append(harvest(engine, measured.cluster))
            runs = _runs(engine, measured.campaign)
            steps = read(engine, lambda connection: baseline_steps(connection, measured.campaign))
            measured.drift = drift_of(steps)
        except DatabaseError as error:
            measured.refused.append(str(error))
            return
        measured.stored = sorted(run.run_id for run in runs)
        measured.tuples = summarise(runs)

    def _has(self, taken: Taken) -> None:
        self.taken = taken
        self.measured.campaign, self.measured.cluster = taken.campaign, taken.cluster
        self.measured.folder = str(Path(taken.folder) / taken.campaign)
        self._heart.start()

    def _taken_now(self) -> Taken:
        assert self.taken is not None, "a launcher runs cells before there is a plan"
        return self.taken

    def _beat(self) -> None:
        """Until the end: says that this process lives, and stops the launcher when that is not
        so."""
        while not self._over.wait(BEAT_S):
            try:
                campaign_store.beat(self._open_database(), self._taken_now())
            except CampaignLostError:
                self._lost.set()
                self.on_lost()
                return
            except DatabaseError:
                continue  # locked, or away for a moment: the next write of a result will say so


def _runs(engine: Engine, campaign: str) -> tuple[RunSummary, ...]:
    wanted = RunFilter(campaign=campaign)
    return read(engine, lambda connection: list_runs(connection, wanted, limit=_MOST_RUNS))


def _kind(cell: PlannedCell) -> Kind:
    return kind_of(cell.architecture, cell.mechanism, cell.trace)


def run_campaign(
    open_database: Callable[[], Engine],
    shown: Shown,
    folder: Path,
    launcher: Launcher,
    resume: str | None = None,
    target: Target | None = None,
    on_plan: OnPlan | None = None,
    is_check: bool = False,
) -> tuple[Measured, Ended]:
    """Lets the launcher run the cells; returns what there is, and how the launch ended.

    `on_plan` is told the cells when they are rows, before the first one runs; `is_check` says that
    they check what is known. Whatever is raised, the campaign is given back first, and what is
    done is stored.
    """
    with CampaignRun(open_database, shown, folder, target, on_plan, is_check=is_check) as run:
        try:
            if resume is not None:
                run.resume(resume)
            ended = launcher.launch(run)
        except BaseException as error:
            run.finish()
            if isinstance(error, (AdvisorError, DatabaseError, OSError)):
                _say_how_to_go_on(run.measured, shown)
            raise
        run.finish()
        return run.measured, ended


def _say_how_to_go_on(measured: Measured, shown: Shown) -> None:
    if measured.status is CampaignStatus.STALE:
        shown.say(f"campaign {measured.campaign} is not finished: go on with `{measured.go_on}`")


def resumable(measured: Measured) -> str:
    """What to add to an error while cells are left; nothing otherwise."""
    return f"; go on with `{measured.go_on}`" if measured.status is CampaignStatus.STALE else ""


def interrupted_words(measured: Measured) -> str:
    """What an interruption left, and how to go on."""
    if not measured.campaign:
        return "interrupted: nothing was planned yet, nothing is stored"
    return (
        f"interrupted: {len(measured.stored)} of {measured.planned} runs are stored as campaign "
        f"{measured.campaign}, their records in {measured.folder}{resumable(measured)}"
    )


def as_json(measured: Measured, clusters: list[Mapping[str, Any]]) -> dict[str, Any]:
    """The contract of `advisor measure --format json`."""
    return {
        "campaign": measured.campaign,
        "status": str(measured.status),
        "cluster": measured.cluster,
        "folder": measured.folder,
        "planned": measured.planned,
        "stored": measured.stored,
        "refused": measured.refused,
        "failed": measured.failed,
        "clusters": clusters,
        "drift": None if measured.drift is None else measured.drift.as_json(),
        "tuples": [each.as_json() for each in measured.tuples],
    }
