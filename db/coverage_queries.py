"""What runs and publications cover: SQL in, plain rows out. The counting is `advisor.coverage`.

Every function takes a connection of `db.session.reading` and changes nothing. A `cluster` of None
means all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from db.records import PairStatus


@dataclass(frozen=True, slots=True)
class RunCount:
    """How many valid runs of a tuple ended in one way."""

    architecture: str
    mechanism: str
    trace: str
    outcome: str
    runs: int
    reason: str
    """Why it cannot be, as one of the runs said; empty unless the outcome is infeasible."""


_RUNS = """
SELECT architecture, mechanism, trace, outcome, COUNT(*) AS runs,
  COALESCE(MAX(infeasible_reason), '') AS reason
FROM runs
WHERE validity = 'valid' AND trace IS NOT NULL AND outcome IS NOT NULL
  AND (CAST(:cluster AS TEXT) IS NULL OR cluster = :cluster)
GROUP BY architecture, mechanism, trace, outcome
ORDER BY architecture, mechanism, trace, outcome
"""
# Points that this database's own runs were pooled into say nothing that the runs do not.
_PUBLISHED = """
SELECT DISTINCT p.architecture, p.mechanism, COALESCE(p.trace, '') AS trace
FROM operating_points p
JOIN operating_point_values v ON v.point_id = p.point_id
WHERE v.value IS NOT NULL
  AND (CAST(:cluster AS TEXT) IS NULL OR p.cluster = :cluster)
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.point_id = p.point_id)
"""


def run_counts(connection: Connection, cluster: str | None) -> tuple[RunCount, ...]:
    """Valid runs under a trace, by tuple and outcome."""
    rows = connection.execute(text(_RUNS), {"cluster": cluster}).mappings()
    return tuple(RunCount(**row) for row in rows)


def published_tuples(
    connection: Connection, cluster: str | None
) -> frozenset[tuple[str, str, str]]:
    """(Architecture, mechanism, trace) of operating points with numbers that no run here gave;
    the trace is '' where a point holds for any."""
    rows = connection.execute(text(_PUBLISHED), {"cluster": cluster})
    return frozenset((a, m, t) for a, m, t in rows)


def compatibility(connection: Connection) -> Mapping[tuple[str, str], tuple[PairStatus, str]]:
    """Status and reason of each pair of architecture and mechanism."""
    rows = connection.execute(
        text("SELECT architecture, mechanism, status, reason FROM compatibility")
    ).mappings()
    return {
        (row["architecture"], row["mechanism"]): (PairStatus(row["status"]), row["reason"])
        for row in rows
    }
