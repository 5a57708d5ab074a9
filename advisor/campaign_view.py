"""What somebody who looks at a campaign wants to see, read in one snapshot."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from sqlalchemy import Connection

from advisor.campaign_summary import TupleSummary, summarise
from advisor.drift import Drift, drift_of
from advisor.processes import is_alone
from advisor.time_left import Kind, kind_of, time_left_s
from db.campaign_queries import (
    CampaignSummary,
    CellSummary,
    baseline_steps,
    campaign_cells,
    get_campaign,
)
from db.campaign_store import Controller
from db.records import CampaignStatus, CellStatus
from db.run_queries import RunFilter, list_runs

_MOST_RUNS = 1_000_000
_OVER = (CellStatus.COMPLETE, CellStatus.FAILED)


@dataclass(frozen=True, slots=True)
class CampaignView:
    """A campaign with its cells, what its runs showed so far, and how long it will take."""

    summary: CampaignSummary
    cells: tuple[CellSummary, ...]
    tuples: tuple[TupleSummary, ...]
    drift: Drift | None
    time_left_s: float | None

    @property
    def now(self) -> str:
        """The cell that is being run; empty if none is."""
        running = (cell for cell in self.cells if cell.status is CellStatus.RUNNING)
        return next((f"{_kind(cell)} seed {cell.seed}" for cell in running), "")


@dataclass(frozen=True, slots=True)
class CampaignRows:
    """A campaign as the database has it: the same until somebody writes."""

    summary: CampaignSummary
    cells: tuple[CellSummary, ...]
    tuples: tuple[TupleSummary, ...]
    drift: Drift | None


def as_it_stands(summary: CampaignSummary) -> CampaignSummary:
    """A campaign whose controller was killed is marked as running until somebody goes on with it;
    it is stale, and so is the cell that it ran."""
    controller = None
    if summary.host and summary.pid and summary.process and summary.boot_id:
        controller = Controller(summary.host, summary.pid, summary.process, summary.boot_id)
    if not is_alone(summary.status, controller, summary.heartbeat_at):
        return summary
    counts = dict(summary.counts)
    counts[CellStatus.STALE] += counts[CellStatus.RUNNING]
    counts[CellStatus.RUNNING] = 0
    return replace(summary, status=CampaignStatus.STALE, counts=counts)


def read_campaign(connection: Connection, campaign: str) -> CampaignRows:
    """What there is to know of a campaign, in a few statements. Raises NotFoundError."""
    cells = campaign_cells(connection, campaign)
    runs = list_runs(connection, RunFilter(campaign=campaign), limit=_MOST_RUNS)
    return CampaignRows(
        get_campaign(connection, campaign),
        cells,
        tuple(summarise(runs)),
        drift_of(baseline_steps(connection, campaign)),
    )


def view_of(rows: CampaignRows, now: datetime) -> CampaignView:
    """The campaign at this instant: whether its controller is still there, and how long is left."""
    summary = as_it_stands(rows.summary)
    cells = rows.cells
    if summary.status is CampaignStatus.STALE:
        cells = tuple(_without_controller(cell) for cell in cells)
    return CampaignView(summary, cells, rows.tuples, rows.drift, _time_left_s(cells, now))


def campaign_view(connection: Connection, campaign: str) -> CampaignView:
    """The campaign, read and looked at now. Raises NotFoundError."""
    return view_of(read_campaign(connection, campaign), datetime.now(UTC))


def _without_controller(cell: CellSummary) -> CellSummary:
    is_left = cell.status is CellStatus.RUNNING
    return replace(cell, status=CellStatus.STALE) if is_left else cell


def _kind(cell: CellSummary) -> Kind:
    return kind_of(cell.architecture, cell.mechanism, cell.trace)


def _time_left_s(cells: Sequence[CellSummary], now: datetime) -> float | None:
    """The cells that are left, less what the running one has behind it."""
    done: dict[Kind, list[float]] = {}
    for cell in cells:
        if cell.status in _OVER and cell.wall_s is not None:
            done.setdefault(_kind(cell), []).append(cell.wall_s)
    whole = time_left_s(done, [_kind(cell) for cell in cells if cell.status not in _OVER])
    if not whole:
        return whole
    running = [cell for cell in cells if cell.status is CellStatus.RUNNING]
    expected = time_left_s(done, [_kind(cell) for cell in running]) or 0.0
    behind = sum(
        (now - datetime.fromisoformat(cell.started_at)).total_seconds()
        for cell in running
        if cell.started_at
    )
    return whole - min(expected, max(0.0, behind))
