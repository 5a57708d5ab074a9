"""Runs a campaign: hands its cells to the harness one by one, stores what each showed, marks it.

The database knows of every cell before it runs. So whatever is killed, whoever goes on finds each
cell where it was: done, to be run again, or done but not yet marked, which its record says.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sqlalchemy import Engine

from advisor.campaign_summary import TupleSummary, summarise
from advisor.drift import Drift, drift_of
from advisor.errors import AdvisorError
from advisor.harness import Event, Harness, harness_command
from advisor.processes import is_gone, this_process
from advisor.seeds import more_seeds
from advisor.time_left import Kind, kind_of
from db import campaign_store
from db.campaign_plan import CellPart, read_plan
from db.campaign_queries import baseline_steps
from db.campaign_store import CampaignLostError, OpenCell, PlannedCell, Taken, Target
from db.errors import AnotherClusterError, DatabaseError, InvalidDataError
from db.harvest import HarvestReport, harvest
from db.ingest import RECORD_NAME, ingest_record
from db.records import CampaignStatus, CellStatus, RunValidity
from db.run_queries import RunFilter, list_runs
from db.run_record import INTERRUPTED, read_record
from db.session import reading
from db.validation_store import settle

BEAT_S = 5.0
_MOST_DEATHS = 2
"""A cell in which the harness was killed so often has failed: it may be what kills it."""
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

    with CampaignRun(open_database, shown) as run:
        run.follow(child)
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
        self._open_database, self._shown = open_database, shown
        self._folder, self._target, self._on_plan = folder, target, on_plan
        self._is_check = is_check
        self._me = this_process()
        self._taken: Taken | None = None
        self._cell: OpenCell | None = None
        self._deaths: dict[int, int] = {}
        self._child: Harness | None = None
        self._lost = threading.Event()
        self._over = threading.Event()
        self._heart = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> "CampaignRun":
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        if self._heart.is_alive():
            self._heart.join()

    def resume(self, campaign: str) -> list[str]:
        """Takes the campaign; returns the command of a harness that goes on with it. Raises
        CampaignRunsError, NotFoundError."""
        engine = self._open_database()
        self._has(campaign_store.take_over(engine, campaign, self._me, is_gone))
        return self.command()

    def command(self) -> list[str]:
        """A harness for cells that are planned already."""
        taken = self._taken
        assert taken is not None
        told = {
            "campaign": taken.campaign,
            "cluster": taken.cluster,
            "folder": taken.folder,
            "command": taken.command,
            "first-seed": taken.seed,
            "created-at": taken.created_at,
        }
        return harness_command([f"--{name}={value}" for name, value in told.items()])

    def follow(self, child: Harness) -> bool:
        """Hands the child cell after cell, until there is none or it ends; True if it was killed in
        the middle of a cell, and another harness should go on."""
        self._child = child
        for event in child.events():
            self._shown.event(event)
            self._take(event, child)
        if self._lost.is_set():
            raise CampaignLostError(f"campaign {self.measured.campaign} was taken over")
        killed = (child.exit_code or 0) < 0 and not child.interrupts
        return killed and self._count_death()

    def finish(self) -> None:
        """Gives the campaign back, pools the cluster's runs, reads what the campaign showed."""
        self._over.set()
        if self._taken is None or self._lost.is_set():
            return
        engine, measured = self._open_database(), self.measured
        try:
            measured.status = campaign_store.let_go(engine, self._taken)
            settle(engine)
            measured.harvested.append(harvest(engine, measured.cluster))
            with reading(engine) as connection:
                wanted = RunFilter(campaign=measured.campaign)
                runs = list_runs(connection, wanted, limit=_MOST_RUNS)
                measured.drift = drift_of(baseline_steps(connection, measured.campaign))
        except DatabaseError as error:
            measured.refused.append(str(error))
            return
        measured.stored = sorted(run.run_id for run in runs)
        measured.tuples = summarise(runs)

    def _take(self, event: Event, child: Harness) -> None:
        kind = event["event"]
        if kind == "plan":
            plan = read_plan(event, str(self._folder))
            stored = campaign_store.store_plan(
                self._open_database(), plan, self._me, self._target, is_check=self._is_check
            )
            self._has(stored)
            if self._on_plan is not None:
                engine = self._open_database()
                self._on_plan(engine, campaign_store.all_cells(engine, stored))
            self._show_plan()
        elif kind == "ready":
            self._find_records()
            self._show_plan()
        elif kind == "run-finished":
            self._store(Path(str(event["record"])))
        elif kind == "run-failed":
            self._settle(CellStatus.FAILED, str(event["reason"]))
        else:
            return
        self._hand_next(child)

    def _has(self, taken: Taken) -> None:
        self._taken = taken
        self.measured.campaign, self.measured.cluster = taken.campaign, taken.cluster
        self.measured.folder = str(Path(taken.folder) / taken.campaign)
        self._heart.start()

    def _show_plan(self) -> None:
        """The plan in the words of the display, which counts what was done before as well."""
        cells = campaign_store.all_cells(self._open_database(), self._taken_now())
        self.measured.planned = len(cells)
        done: dict[Kind, list[float]] = {}
        for cell in cells:
            if cell.wall_s is not None:
                done.setdefault(_kind(cell), []).append(cell.wall_s)
        self._shown.event(
            {
                "event": "planned",
                "runs": len(cells),
                "done": done,
                "left": [_kind(cell) for cell in cells if cell.is_open],
                "campaign": self.measured.campaign,
                "cluster": self.measured.cluster,
                "folder": self.measured.folder,
            }
        )

    def _taken_now(self) -> Taken:
        assert self._taken is not None, "the harness runs cells before it has said its plan"
        return self._taken

    def _find_records(self) -> None:
        """Stores the runs that ended while nobody was there to store them."""
        taken = self._taken_now()
        for cell in campaign_store.open_cells(self._open_database(), taken):
            path = Path(taken.folder) / cell.run_id / RECORD_NAME
            if path.is_file():
                self._cell = cell
                self._store(path)

    def _hand_next(self, child: Harness) -> None:
        cell = None if child.interrupts or self._lost.is_set() else self._next()
        self._cell = cell
        if cell is None:
            child.hand_no_more()
            return
        child.hand({"run": cell.ordinal, "of": self.measured.planned, "cell": cell.parameters})

    def _next(self) -> OpenCell | None:
        engine, taken = self._open_database(), self._taken_now()
        cell = campaign_store.claim(engine, taken, self._me)
        if cell is None and taken.target is not None and self._add_seeds(taken.target):
            cell = campaign_store.claim(engine, taken, self._me)
        return cell

    def _add_seeds(self, target: Target) -> bool:
        """Plans more runs of the tuples that are not known well enough; whether there are any."""
        engine, taken = self._open_database(), self._taken_now()
        planned = campaign_store.all_cells(engine, taken)
        with reading(engine) as connection:
            wanted = RunFilter(campaign=taken.campaign)
            runs = list_runs(connection, wanted, limit=_MOST_RUNS)
        more = more_seeds(planned, runs, target)
        if not more:
            return False
        campaign_store.add_cells(engine, taken, [CellPart.model_validate(cell) for cell in more])
        self._shown.say(f"{len(more)} more runs, for intervals within {target.fraction:.3g}")
        self._show_plan()
        return True

    def _store(self, path: Path) -> None:
        """Stores the run of the cell in hand, unless it was ended before its end."""
        cell, measured = self._cell, self.measured
        assert cell is not None
        try:
            file = read_record(path)
            record = file.record
            if record.run_id != cell.run_id:
                raise InvalidDataError(f"{path}: it is of run {record.run_id!r}, not of its folder")
            if INTERRUPTED in record.validity_reasons:
                self._settle(CellStatus.STALE, INTERRUPTED)
                return
            ingest_record(self._open_database(), file, CampaignStatus.RUNNING)
        except AnotherClusterError:
            self._settle(CellStatus.STALE, "it ran on other hardware than the campaign's")
            raise
        except InvalidDataError as error:
            measured.refused.append(str(error))
            self._shown.say(f"not stored: {error}")
            self._settle(CellStatus.FAILED, f"not stored: {error}")
            return
        measured.stored.append(record.run_id)
        if record.validity is RunValidity.VALID:
            self._settle(CellStatus.COMPLETE, wall_s=record.wall_s)
        else:
            self._settle(CellStatus.FAILED, "; ".join(record.validity_reasons), record.wall_s)

    def _settle(self, status: CellStatus, reason: str = "", wall_s: float | None = None) -> None:
        cell = self._cell
        assert cell is not None
        self._cell = None
        said = " ".join(reason.replace("\x00", " ").split())
        campaign_store.settle(
            self._open_database(), self._taken_now(), cell.ordinal, status, said, wall_s
        )
        if status is CellStatus.FAILED:
            self.measured.failed.append(f"{cell.run_id}: {said}")

    def _count_death(self) -> bool:
        cell = self._cell
        if cell is None:
            return False
        self._deaths[cell.ordinal] = self._deaths.get(cell.ordinal, 0) + 1
        if self._deaths[cell.ordinal] >= _MOST_DEATHS:
            self._settle(CellStatus.FAILED, f"the harness was killed in it {_MOST_DEATHS} times")
        else:
            self._settle(CellStatus.STALE, "the harness was killed")
        return True

    def _beat(self) -> None:
        """Until the end: says that this process lives, and stops the child when that is not so."""
        while not self._over.wait(BEAT_S):
            try:
                campaign_store.beat(self._open_database(), self._taken_now())
            except CampaignLostError:
                self._lost.set()
                if self._child is not None:
                    self._child.interrupt()
                return
            except DatabaseError:
                continue  # locked, or away for a moment: the next write of a result will say so


def _kind(cell: PlannedCell) -> Kind:
    return kind_of(cell.architecture, cell.mechanism, cell.trace)


def run_campaign(
    open_database: Callable[[], Engine],
    shown: Shown,
    folder: Path,
    command: Sequence[str],
    on_interrupt: Callable[[], None],
    resume: str | None = None,
    target: Target | None = None,
    on_plan: OnPlan | None = None,
    is_check: bool = False,
) -> tuple[Measured, Harness]:
    """Runs the harness, one more for each that is killed; returns what there is, and the last one.

    `on_plan` is told the cells when they are rows, before the first one runs; `is_check` says that
    they check what is known. Whatever is raised, the campaign is given back first, and what is
    done is stored.
    """
    with ExitStack() as stack:
        run = stack.enter_context(
            CampaignRun(open_database, shown, folder, target, on_plan, is_check=is_check)
        )
        if resume is not None:
            command = run.resume(resume)
        goes_on = True
        while goes_on:
            try:
                with Harness(command, on_interrupt=on_interrupt) as child:
                    goes_on = run.follow(child)
                    if goes_on:
                        shown.say("the harness was killed; another one goes on")
                        command = run.command()
            except BaseException as error:
                run.finish()
                if isinstance(error, (AdvisorError, DatabaseError, OSError)):
                    _say_how_to_go_on(run.measured, shown)
                raise
        run.finish()
        return run.measured, child


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
