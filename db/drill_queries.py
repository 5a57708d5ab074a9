"""Reads drills, and the runs that a scorecard is made from: SQL in, plain records out.

Every function takes a connection of `db.session.reading` and changes nothing.
"""

from sqlalchemy import Connection, RowMapping, text

from db.drill_verdict import SEPARATOR
from db.records import Drilled, DrillResult, StruckRun

_COLUMNS = """
SELECT drill, architecture, mechanism, run_id, campaign, tried_at, result, reason, expected,
  outcome, wall_s, deadline_s
FROM drill_view
"""
_OF_CLUSTER = text(f"{_COLUMNS} WHERE cluster = :cluster AND result <> 'planned'")
_OF_CAMPAIGN = text(f"{_COLUMNS} WHERE campaign = :campaign")
_STRUCK = text("""
SELECT r.run_id, r.architecture, r.mechanism, r.trace, r.outcome, r.started_at,
  (SELECT v.value FROM run_values v WHERE v.run_id = r.run_id AND v.quantity = 'detection_s')
    AS detection_s,
  CASE WHEN d.run_id IS NULL THEN 0 ELSE 1 END AS is_drill
FROM runs r
LEFT JOIN drills d ON d.run_id = r.run_id
WHERE r.cluster = :cluster AND r.validity = 'valid' AND r.outcome IS NOT NULL
  AND (d.run_id IS NOT NULL
    OR EXISTS (SELECT 1 FROM fault_events e WHERE e.run_id = r.run_id AND e.fired = 1))
""")
_RECOVERED = text("""
SELECT v.run_id, v.source, v.lost_steps
FROM run_recoveries v
JOIN runs r ON r.run_id = v.run_id
WHERE r.cluster = :cluster
ORDER BY v.run_id, v.generation
""")


def drills_of(connection: Connection, cluster: str) -> tuple[Drilled, ...]:
    """The drills that were tried on a cluster, oldest first; none of an unknown one."""
    rows = connection.execute(_OF_CLUSTER, {"cluster": cluster}).mappings()
    found = (_drilled(row) for row in rows)
    return tuple(sorted(found, key=lambda d: (d.tried_at, d.run_id)))


def drills_of_campaign(connection: Connection, campaign: str) -> tuple[Drilled, ...]:
    """All drills of a campaign, those that are still to come too, by mechanism and name."""
    rows = connection.execute(_OF_CAMPAIGN, {"campaign": campaign}).mappings()
    return tuple(sorted((_drilled(row) for row in rows), key=lambda d: (d.mechanism, d.drill)))


def _drilled(row: RowMapping) -> Drilled:
    expected = tuple(row["expected"].split(SEPARATOR))
    return Drilled(**{**row, "result": DrillResult(row["result"]), "expected": expected})


def struck_runs(connection: Connection, cluster: str) -> tuple[StruckRun, ...]:
    """The runs that a scorecard is made from, oldest first; none of an unknown cluster."""
    recovered: dict[str, list[tuple[str, int]]] = {}
    for run_id, source, lost_steps in connection.execute(_RECOVERED, {"cluster": cluster}):
        recovered.setdefault(run_id, []).append((source, lost_steps))
    rows = connection.execute(_STRUCK, {"cluster": cluster}).mappings()
    found = (_struck(row, recovered.get(row["run_id"], [])) for row in rows)
    return tuple(sorted(found, key=lambda run: (run.started_at, run.run_id)))


def _struck(row: RowMapping, recovered: list[tuple[str, int]]) -> StruckRun:
    return StruckRun(
        **{**row, "is_drill": bool(row["is_drill"])},
        sources=tuple(source for source, _ in recovered),
        lost_steps=max((lost for _, lost in recovered), default=None),
    )
