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


def as_it_stands(summary: CampaignSummary) -> CampaignSummary:
    """A campaign whose controller was killed is marked as running until somebody goes on with it;
    it is stale."""
    controller = None
    if summary.host and summary.pid and summary.process and summary.boot_id:
        controller = Controller(summary.host, summary.pid, summary.process, summary.boot_id)
    if is_alone(summary.status, controller, summary.heartbeat_at):
        return replace(summary, status=CampaignStatus.STALE)
    return summary


def campaign_view(connection: Connection, campaign: str) -> CampaignView:
    """Raises NotFoundError."""
    cells = campaign_cells(connection, campaign)
    runs = list_runs(connection, RunFilter(campaign=campaign), limit=_MOST_RUNS)
    return CampaignView(
        as_it_stands(get_campaign(connection, campaign)),
        cells,
        tuple(summarise(runs)),
        drift_of(baseline_steps(connection, campaign)),
        _time_left_s(cells, datetime.now(UTC)),
    )


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
