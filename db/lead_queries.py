"""What became of announced faults: SQL in, plain rows out. The judging is `advisor.leads`."""

from dataclasses import dataclass

from sqlalchemy import Connection, text


@dataclass(frozen=True, slots=True)
class Answer:
    """One warning of a valid run, and the emergency save that answered it."""

    architecture: str
    mechanism: str
    workload: str
    world_size: int
    lead_s: float
    took_s: float | None
    """From the warning until all ranks had saved; None if they never had."""
    within_lead: bool


_ANSWERS = """
SELECT r.architecture, r.mechanism, r.workload, r.world_size, e.lead_s, e.took_s, e.within_lead
FROM emergency_saves e
JOIN runs r ON r.run_id = e.run_id
WHERE r.validity = 'valid' AND e.fault_ordinal IS NOT NULL
  AND (CAST(:cluster AS TEXT) IS NULL OR r.cluster = :cluster)
ORDER BY r.architecture, r.mechanism, r.workload, r.world_size, e.lead_s, r.run_id, e.ordinal
"""


def warning_answers(connection: Connection, cluster: str | None) -> tuple[Answer, ...]:
    """Every announced fault of a cluster's valid runs, or of all clusters'."""
    rows = connection.execute(text(_ANSWERS), {"cluster": cluster}).mappings()
    return tuple(Answer(**{**row, "within_lead": bool(row["within_lead"])}) for row in rows)
