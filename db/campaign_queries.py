"""Reads campaigns and their cells: SQL in, dataclasses out. Read-only snapshots, so that whoever
watches a campaign is in nobody's way.
"""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from db.errors import NotFoundError
from db.records import CampaignStatus, CellStatus

_COUNTED = ", ".join(
    f"SUM(CASE WHEN c.status = '{status}' THEN 1 ELSE 0 END) AS {status}" for status in CellStatus
)
_CAMPAIGNS = f"""
SELECT g.campaign, g.cluster, g.command, g.status, g.created_at, g.heartbeat_at, g.finished_at,
  p.order_seed, p.folder, p.host, p.pid, p.process, p.boot_id,
  (SELECT COUNT(*) FROM runs r WHERE r.campaign = g.campaign) AS stored,
  COUNT(c.ordinal) AS cells, {_COUNTED}
FROM campaigns g
LEFT JOIN campaign_plans p ON p.campaign = g.campaign
LEFT JOIN campaign_cells c ON c.campaign = g.campaign
{{where}}
GROUP BY g.campaign, g.cluster, g.command, g.status, g.created_at, g.heartbeat_at, g.finished_at,
  p.order_seed, p.folder, p.host, p.pid, p.process, p.boot_id
ORDER BY g.created_at DESC, g.campaign DESC
"""  # noqa: S608 - codes of our own enumeration
_CELLS = """
SELECT ordinal, run_id, architecture, mechanism, trace, seed, status, attempts, host, pid,
  heartbeat_at, started_at, finished_at, wall_s, reason
FROM campaign_cells
WHERE campaign = :campaign
ORDER BY ordinal
"""
_BASELINES = """
SELECT r.architecture, r.workload, r.profile, r.trace, r.world_size, r.started_at, v.value
FROM runs r
JOIN mechanisms m ON m.mechanism = r.mechanism AND m.cadence = 'never'
JOIN run_values v ON v.run_id = r.run_id AND v.quantity = 'step_s'
WHERE r.campaign = :campaign AND r.validity = 'valid' AND v.value IS NOT NULL
ORDER BY r.started_at, r.run_id
"""


@dataclass(frozen=True, slots=True)
class CampaignSummary:
    """A campaign, with how many of its cells are where; `cells` is 0 where it has no plan."""

    campaign: str
    cluster: str
    command: str
    status: CampaignStatus
    created_at: str
    heartbeat_at: str | None
    finished_at: str | None
    order_seed: int | None
    folder: str | None
    host: str | None
    pid: int | None
    process: str | None
    boot_id: str | None
    stored: int
    cells: int
    counts: dict[CellStatus, int]

    @property
    def done(self) -> int:
        """How many cells need not be run any more."""
        return self.counts[CellStatus.COMPLETE] + self.counts[CellStatus.FAILED]


@dataclass(frozen=True, slots=True)
class CellSummary:
    """One cell: what it is, where it stands, and who ran it."""

    ordinal: int
    run_id: str
    architecture: str
    mechanism: str
    trace: str | None
    seed: int
    status: CellStatus
    attempts: int
    host: str | None
    pid: int | None
    heartbeat_at: str | None
    started_at: str | None
    finished_at: str | None
    wall_s: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class BaselineStep:
    """The step time of one run without a mechanism, and when it was taken."""

    group: tuple[str, ...]
    """What runs must have in common for their step times to be compared."""
    started_at: str
    step_s: float


def list_campaigns(connection: Connection) -> tuple[CampaignSummary, ...]:
    """All campaigns, the newest first."""
    return _campaigns(connection, "")


def get_campaign(connection: Connection, campaign: str) -> CampaignSummary:
    """One campaign. Raises NotFoundError."""
    found = _campaigns(connection, campaign) if campaign else ()
    if not found:
        raise NotFoundError(f"no campaign {campaign!r}: `advisor campaigns` lists those there are")
    return found[0]


def _campaigns(connection: Connection, campaign: str) -> tuple[CampaignSummary, ...]:
    where = "WHERE g.campaign = :campaign" if campaign else ""
    statement = text(_CAMPAIGNS.format(where=where))
    rows = connection.execute(statement, {"campaign": campaign} if campaign else {}).mappings()
    found = []
    for row in rows:
        told = dict(row)
        counts = {status: int(told.pop(str(status)) or 0) for status in CellStatus}
        told["status"] = CampaignStatus(told["status"])
        found.append(CampaignSummary(**told, counts=counts))
    return tuple(found)


def campaign_cells(connection: Connection, campaign: str) -> tuple[CellSummary, ...]:
    """The cells of a campaign in their order; none where it has no plan."""
    rows = connection.execute(text(_CELLS), {"campaign": campaign}).mappings().all()
    return tuple(CellSummary(**{**row, "status": CellStatus(row["status"])}) for row in rows)


def baseline_steps(connection: Connection, campaign: str) -> tuple[BaselineStep, ...]:
    """Step times of the campaign's valid runs without a mechanism, the oldest first."""
    rows = connection.execute(text(_BASELINES), {"campaign": campaign}).all()
    return tuple(
        BaselineStep(tuple(map(str, group)), started_at, value)
        for *group, started_at, value in rows
    )
