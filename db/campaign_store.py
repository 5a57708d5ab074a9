"""Writes what becomes of a campaign's cells. Every change of hands is one UPDATE whose WHERE says
what has to be true, and whose row count says whether it was; so it holds on SQLite and PostgreSQL,
whoever else writes.

A campaign has one controller at a time. Taking it over raises its term; every write of a controller
asks for its own term, so that one who lost the campaign (stopped for an hour, say) changes nothing.
"""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Connection, Engine, Select, insert, select, update
from sqlalchemy.sql import ColumnElement

from db.campaign_plan import CampaignPlanPart, CellPart
from db.errors import DatabaseError, NotFoundError
from db.hardware import refuse_without_runs
from db.ingest import add_surroundings
from db.models import Base
from db.records import CampaignStatus, CellStatus
from db.session import read, write

_CAMPAIGNS = Base.metadata.tables["campaigns"]
_PLANS = Base.metadata.tables["campaign_plans"]
_CELLS = Base.metadata.tables["campaign_cells"]
_OPEN = (str(CellStatus.PENDING), str(CellStatus.STALE))

LEASE_S = 60.0
"""A heartbeat older than this is no sign of life."""


class CampaignRunsError(DatabaseError):
    """Another controller runs the campaign."""


class CampaignLostError(DatabaseError):
    """Another controller took the campaign over while this one was silent."""


@dataclass(frozen=True, slots=True)
class Controller:
    """A process that runs campaigns: where it is, and what tells it from later ones of its number.

    `process` is what the kernel says of the process's start, `boot_id` of the host's.
    """

    host: str
    pid: int
    process: str
    boot_id: str


@dataclass(frozen=True, slots=True)
class Target:
    """How sure to become of each tuple: runs are added until the 95 % interval of its overhead or
    recovery is within `fraction` of the value, from `least` seeds up to `most`."""

    fraction: float
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Taken:
    """A campaign in the hands of a controller."""

    campaign: str
    term: int
    cluster: str
    folder: str
    command: str
    seed: int
    created_at: str
    target: Target | None


@dataclass(frozen=True, slots=True)
class OpenCell:
    """A cell that has been claimed, as it is handed to the harness."""

    ordinal: int
    run_id: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class PlannedCell:
    """A cell of a campaign, whatever became of it."""

    run_id: str
    architecture: str
    mechanism: str
    trace: str | None
    seed: int
    status: CellStatus
    wall_s: float | None
    parameters: dict[str, Any]

    @property
    def is_open(self) -> bool:
        """Whether it is still to be run, or to be run to its end."""
        return self.status not in (CellStatus.COMPLETE, CellStatus.FAILED)


def now_utc(ago_s: float = 0.0) -> str:
    """The instant `ago_s` seconds ago, as the schema has it."""
    return (datetime.now(UTC) - timedelta(seconds=ago_s)).strftime("%Y-%m-%dT%H:%M:%SZ")


def store_plan(
    engine: Engine,
    plan: CampaignPlanPart,
    controller: Controller,
    target: Target | None = None,
    *,
    is_check: bool = False,
) -> Taken:
    """Stores the campaign and all its cells at once, in the hands of this controller.

    Raises InvalidDataError where the cluster is another one of the same name; or came in a bundle,
    unless the runs are to check what is known (`is_check`), not to add to it.
    """
    campaign = plan.campaign.campaign
    tried = False

    def change(connection: Connection) -> None:
        nonlocal tried
        if tried and _has_plan(connection, campaign):
            return  # it was committed, and the answer was lost
        tried = True
        if not is_check:
            refuse_without_runs(connection, plan.cluster.cluster)
        add_surroundings(connection, plan, CampaignStatus.RUNNING)
        connection.execute(
            insert(_PLANS),
            {
                "campaign": campaign,
                "folder": plan.folder,
                "order_seed": plan.order_seed,
                "target_fraction": target and target.fraction,
                "least_seeds": target and target.least,
                "most_seeds": target and target.most,
                "term": 1,
                **asdict(controller),
            },
        )
        connection.execute(insert(_CELLS), _cell_rows(campaign, plan.cells, 1))
        _beat(connection, campaign)

    write(engine, change)
    return Taken(
        campaign,
        1,
        plan.cluster.cluster,
        plan.folder,
        plan.campaign.command,
        plan.campaign.seed,
        plan.campaign.created_at,
        target,
    )


def _has_plan(connection: Connection, campaign: str) -> bool:
    stored = select(_PLANS.c.campaign).where(_PLANS.c.campaign == campaign)
    return connection.execute(stored).first() is not None


def take_over(
    engine: Engine,
    campaign: str,
    controller: Controller,
    is_gone: Callable[[Controller], bool | None],
) -> Taken:
    """Takes a campaign that nobody runs any more; what was running is `stale` then.

    `is_gone` says whether a process has ended, None where it cannot know: the heartbeat decides
    then. Raises CampaignRunsError, NotFoundError.
    """
    tried: Taken | None = None

    def change(connection: Connection) -> Taken:
        nonlocal tried
        row = _plan_row(connection, campaign)
        if tried is not None and row["term"] == tried.term and _controller_of(row) == controller:
            return tried  # it was committed, and the answer was lost
        tried = _take(connection, row, controller, is_gone)
        return tried

    return write(engine, change)


def _take(
    connection: Connection,
    row: dict[str, Any],
    controller: Controller,
    is_gone: Callable[[Controller], bool | None],
) -> Taken:
    campaign = row["campaign"]
    if not _is_free(row, is_gone):
        raise CampaignRunsError(
            f"campaign {campaign} is running: process {row['pid']} on {row['host']}, last "
            f"heartbeat {row['heartbeat_at']}; watch it with `advisor campaigns show "
            f"{campaign} --follow`"
        )
    took = connection.execute(
        update(_PLANS)
        .where(_PLANS.c.campaign == campaign, _PLANS.c.term == row["term"])
        .values(term=row["term"] + 1, **asdict(controller))
    )
    if took.rowcount != 1:
        raise CampaignRunsError(f"campaign {campaign} is running: another process took it")
    connection.execute(
        update(_CELLS)
        .where(_CELLS.c.campaign == campaign, _CELLS.c.status == str(CellStatus.RUNNING))
        .values(status=str(CellStatus.STALE), reason="its controller was gone")
    )
    connection.execute(
        update(_CAMPAIGNS)
        .where(_CAMPAIGNS.c.campaign == campaign)
        .values(status=str(CampaignStatus.RUNNING), heartbeat_at=now_utc(), finished_at=None)
    )
    return _taken(row)


def _plan_row(connection: Connection, campaign: str) -> dict[str, Any]:
    of_campaign = [column for column in _CAMPAIGNS.c if column.name != "campaign"]
    statement = (
        select(_PLANS, *of_campaign)
        .join_from(_PLANS, _CAMPAIGNS)
        .where(_PLANS.c.campaign == campaign)
    )
    row = connection.execute(statement).mappings().one_or_none()
    if row is not None:
        return dict(row)
    known = select(_CAMPAIGNS.c.created_at).where(_CAMPAIGNS.c.campaign == campaign)
    if connection.execute(known).first():
        raise NotFoundError(f"campaign {campaign!r} has no plan: its records were ingested")
    raise NotFoundError(f"no campaign {campaign!r}: `advisor campaigns` lists those there are")


def _controller_of(row: dict[str, Any]) -> Controller:
    return Controller(row["host"], row["pid"], row["process"], row["boot_id"])


def _is_free(row: dict[str, Any], is_gone: Callable[[Controller], bool | None]) -> bool:
    if row["pid"] is None:
        return True
    gone = is_gone(_controller_of(row))
    if gone is not None:
        return gone
    return (row["heartbeat_at"] or "") < now_utc(LEASE_S)


def _taken(row: dict[str, Any]) -> Taken:
    fraction = row["target_fraction"]
    return Taken(
        row["campaign"],
        row["term"] + 1,
        row["cluster"],
        row["folder"],
        row["command"],
        row["seed"],
        row["created_at"],
        None if fraction is None else Target(fraction, row["least_seeds"], row["most_seeds"]),
    )


def beat(engine: Engine, taken: Taken) -> None:
    """Says that the controller lives. Raises CampaignLostError."""

    def change(connection: Connection) -> None:
        _require_mine(connection, taken)
        _beat(connection, taken.campaign)

    write(engine, change)


def _beat(connection: Connection, campaign: str) -> None:
    now = now_utc()
    of_campaign = _CAMPAIGNS.c.campaign == campaign
    connection.execute(update(_CAMPAIGNS).where(of_campaign).values(heartbeat_at=now))
    running = (_CELLS.c.campaign == campaign) & (_CELLS.c.status == str(CellStatus.RUNNING))
    connection.execute(update(_CELLS).where(running).values(heartbeat_at=now))


def claim(
    engine: Engine, taken: Taken, controller: Controller, ordinal: int | None = None
) -> OpenCell | None:
    """The next cell that is open, or the one of this ordinal, running from now on; None if there
    is none.

    Raises CampaignLostError.
    """
    tried: tuple[OpenCell, int] | None = None

    def change(connection: Connection) -> OpenCell | None:
        nonlocal tried
        _require_mine(connection, taken)
        if tried is not None and _runs(connection, taken, *tried):
            return tried[0]  # it was committed, and the answer was lost
        wanted = _still_open(taken)
        if ordinal is not None:
            wanted = wanted.where(_CELLS.c.ordinal == ordinal)
        row = connection.execute(wanted.limit(1)).mappings().one_or_none()
        if row is None:
            return None
        now = now_utc()
        moved = _move(
            connection,
            taken,
            row["ordinal"],
            _OPEN,
            status=str(CellStatus.RUNNING),
            attempts=_CELLS.c.attempts + 1,
            host=controller.host,
            pid=controller.pid,
            boot_id=controller.boot_id,
            heartbeat_at=now,
            started_at=now,
            reason="",
        )
        if not moved:
            raise CampaignLostError(f"campaign {taken.campaign}: another process took its cells")
        tried = (_open(row), row["attempts"] + 1)
        return tried[0]

    return write(engine, change)


def _runs(connection: Connection, taken: Taken, cell: OpenCell, attempt: int) -> bool:
    """Whether the cell runs, for the time of that number."""
    running = select(_CELLS.c.run_id).where(
        _CELLS.c.campaign == taken.campaign,
        _CELLS.c.ordinal == cell.ordinal,
        _CELLS.c.status == str(CellStatus.RUNNING),
        _CELLS.c.attempts == attempt,
    )
    return connection.execute(running).first() is not None


def all_cells(engine: Engine, taken: Taken) -> list[PlannedCell]:
    """Every cell, in its order."""
    names = ("run_id", "architecture", "mechanism", "trace", "seed", "status", "wall_s")
    statement = (
        select(*(_CELLS.c[name] for name in names), _CELLS.c.parameters)
        .where(_CELLS.c.campaign == taken.campaign)
        .order_by(_CELLS.c.ordinal)
    )
    rows = read(engine, lambda connection: connection.execute(statement).mappings().all())
    return [
        PlannedCell(
            **{
                **row,
                "status": CellStatus(row["status"]),
                "parameters": json.loads(row["parameters"]),
            }
        )
        for row in rows
    ]


def open_cells(engine: Engine, taken: Taken) -> list[OpenCell]:
    """The cells that are still to run; of those that somebody began records may be there."""
    open_ = _still_open(taken)
    rows = read(engine, lambda connection: connection.execute(open_).mappings().all())
    return [_open(row) for row in rows]


def _still_open(taken: Taken) -> Select[Any]:
    return (
        select(_CELLS)
        .where(_CELLS.c.campaign == taken.campaign, _CELLS.c.status.in_(_OPEN))
        .order_by(_CELLS.c.ordinal)
    )


def _open(row: Any) -> OpenCell:
    return OpenCell(row["ordinal"], row["run_id"], json.loads(row["parameters"]))


def settle(
    engine: Engine,
    taken: Taken,
    ordinal: int,
    status: CellStatus,
    reason: str = "",
    wall_s: float | None = None,
) -> bool:
    """Marks a cell that was running, or was found open; False if it was settled before."""
    is_over = status in (CellStatus.COMPLETE, CellStatus.FAILED)
    values: dict[str, Any] = {"status": str(status), "reason": reason}
    if is_over:
        values |= {"finished_at": now_utc(), "wall_s": wall_s}
    before = (str(CellStatus.RUNNING), *_OPEN)
    has_moved = False

    def change(connection: Connection) -> bool:
        nonlocal has_moved
        _require_mine(connection, taken)
        # Where the answer to a commit was lost, the first try moved it.
        has_moved = _move(connection, taken, ordinal, before, **values) or has_moved
        return has_moved

    return write(engine, change)


def _move(
    connection: Connection, taken: Taken, ordinal: int, before: Sequence[str], **values: Any
) -> bool:
    """Compare and set: whether the cell was in one of the states `before`, and is changed now."""
    done = connection.execute(
        update(_CELLS)
        .where(
            _CELLS.c.campaign == taken.campaign,
            _CELLS.c.ordinal == ordinal,
            _CELLS.c.status.in_(before),
            _is_mine(taken),
        )
        .values(**values)
    )
    return done.rowcount == 1


def _is_mine(taken: Taken) -> ColumnElement[bool]:
    return (
        select(_PLANS.c.term)
        .where(_PLANS.c.campaign == taken.campaign, _PLANS.c.term == taken.term)
        .exists()
    )


def _require_mine(connection: Connection, taken: Taken) -> None:
    """Raises CampaignLostError; on PostgreSQL it keeps others from taking it until the commit."""
    mine = (
        select(_PLANS.c.term)
        .where(_PLANS.c.campaign == taken.campaign, _PLANS.c.term == taken.term)
        .with_for_update()
    )
    if connection.execute(mine).first() is None:
        raise CampaignLostError(
            f"campaign {taken.campaign} was taken over by another process: nothing more is stored"
        )


def add_cells(engine: Engine, taken: Taken, cells: Iterable[CellPart]) -> int:
    """Plans more cells, behind those that there are; returns how many. One that is planned already
    is not planned again."""
    wanted = list(cells)

    def change(connection: Connection) -> None:
        _require_mine(connection, taken)
        of_campaign = _CELLS.c.campaign == taken.campaign
        planned = connection.execute(select(_CELLS.c.run_id, _CELLS.c.ordinal).where(of_campaign))
        ordinals = {run_id: int(ordinal) for run_id, ordinal in planned}
        new = [cell for cell in wanted if cell.run_id not in ordinals]
        if new:
            first = max(ordinals.values(), default=0) + 1
            connection.execute(insert(_CELLS), _cell_rows(taken.campaign, new, first))

    write(engine, change)
    return len(wanted)


def _cell_rows(campaign: str, cells: Iterable[CellPart], first: int) -> list[dict[str, Any]]:
    return [
        {
            "campaign": campaign,
            "ordinal": ordinal,
            "run_id": cell.run_id,
            "architecture": cell.architecture,
            "mechanism": cell.mechanism,
            "trace": cell.trace,
            "seed": cell.seed,
            "parameters": json.dumps(cell.model_dump(), separators=(",", ":"), sort_keys=True),
            "status": str(CellStatus.PENDING),
            "attempts": 0,
        }
        for ordinal, cell in enumerate(cells, start=first)
    ]


def let_go(engine: Engine, taken: Taken) -> CampaignStatus:
    """Gives the campaign back: `stale` where cells are left, `failed` where every one of them
    failed, `complete` otherwise. A cell that was still running is stale. Raises CampaignLostError.
    """
    return write(engine, lambda connection: _let_go(connection, taken))


def _let_go(connection: Connection, taken: Taken) -> CampaignStatus:
    _require_mine(connection, taken)
    of_campaign = _CELLS.c.campaign == taken.campaign
    connection.execute(
        update(_CELLS)
        .where(of_campaign, _CELLS.c.status == str(CellStatus.RUNNING))
        .values(status=str(CellStatus.STALE), reason="interrupted")
    )
    found = connection.execute(select(_CELLS.c.status).where(of_campaign)).scalars().all()
    status = _status_of(found)
    is_over = status is not CampaignStatus.STALE
    connection.execute(
        update(_CAMPAIGNS)
        .where(_CAMPAIGNS.c.campaign == taken.campaign)
        .values(status=str(status), finished_at=now_utc() if is_over else None)
    )
    connection.execute(
        update(_PLANS)
        .where(_PLANS.c.campaign == taken.campaign, _PLANS.c.term == taken.term)
        .values(host=None, pid=None, process=None, boot_id=None)
    )
    return status


def _status_of(cells: Iterable[str]) -> CampaignStatus:
    kinds = set(cells)
    if kinds & {*_OPEN, str(CellStatus.RUNNING)}:
        return CampaignStatus.STALE
    if kinds == {str(CellStatus.FAILED)}:
        return CampaignStatus.FAILED
    return CampaignStatus.COMPLETE
