"""Writes drills: what is expected before the runs, and whether it came true once they are stored.

A drill's runs are no evidence of what a mechanism costs, so `db.harvest` leaves them out.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, insert, select, text, update

from db.drill_verdict import (
    SEPARATOR,
    Expectation,
    Shown,
    findings,
    verdict,
    verdict_without_run,
)
from db.models import Base
from db.records import DrillResult
from db.session import write

_DRILLS = Base.metadata.tables["drills"]
_SEEN = text("""
SELECT d.run_id, d.expected, d.most_lost_steps, d.deadline_s, d.noticed_by, d.result, d.reason,
  r.outcome, r.validity, r.validity_reason, r.wall_s,
  c.status AS cell_status, c.reason AS cell_reason,
  (SELECT MAX(v.lost_steps) FROM run_recoveries v WHERE v.run_id = d.run_id) AS lost_steps,
  (SELECT COUNT(*) FROM fault_events e WHERE e.run_id = d.run_id AND e.fired = 0) AS unfired
FROM drills d
LEFT JOIN runs r ON r.run_id = d.run_id
LEFT JOIN campaign_cells c ON c.run_id = d.run_id
""")
_RECORD = text("SELECT record FROM run_records WHERE run_id = :run_id")


def store_drills(engine: Engine, drills: Sequence[Mapping[str, Any]]) -> None:
    """Stores what is expected of runs that are planned: the columns of `drills` but for `result`
    and `reason`."""
    tried = False

    def change(connection: Connection) -> None:
        nonlocal tried
        if tried and _is_stored(connection, drills[0]["run_id"]):
            return  # it was committed, and the answer was lost
        tried = True
        planned = {"result": str(DrillResult.PLANNED), "reason": ""}
        connection.execute(insert(_DRILLS), [{**drill, **planned} for drill in drills])

    if drills:
        write(engine, change)


def _is_stored(connection: Connection, run_id: str) -> bool:
    stored = select(_DRILLS.c.run_id).where(_DRILLS.c.run_id == run_id)
    return connection.execute(stored).first() is not None


def settle_drills(engine: Engine) -> int:
    """Brings the results of drills up to date with the runs that are stored; how many changed.

    Computed from the runs alone, so that doing it again changes nothing.
    """
    return write(engine, _settle)


def _settle(connection: Connection) -> int:
    changed = 0
    for row in connection.execute(_SEEN).mappings().all():
        result, reason = _judged(connection, row)
        if (str(result), reason) != (row["result"], row["reason"]):
            values = {"result": str(result), "reason": reason}
            of_run = _DRILLS.c.run_id == row["run_id"]
            connection.execute(update(_DRILLS).where(of_run).values(**values))
            changed += 1
    return changed


def _judged(connection: Connection, row: RowMapping) -> tuple[DrillResult, str]:
    if row["validity"] is None:
        return verdict_without_run(row["cell_status"], row["cell_reason"] or "")
    expected = Expectation(
        tuple(row["expected"].split(SEPARATOR)),
        row["most_lost_steps"],
        row["deadline_s"],
        row["noticed_by"],
    )
    shown = Shown(
        outcome=row["outcome"] or "",
        validity=row["validity"],
        validity_reason=row["validity_reason"],
        wall_s=row["wall_s"],
        lost_steps=row["lost_steps"],
        unfired=row["unfired"],
        monitors=_monitors(connection, row["run_id"]) if row["noticed_by"] else frozenset(),
    )
    return verdict(expected, shown)


def _monitors(connection: Connection, run_id: str) -> frozenset[str]:
    record = connection.execute(_RECORD, {"run_id": run_id}).scalar()
    return findings(json.loads(record)) if record else frozenset()
