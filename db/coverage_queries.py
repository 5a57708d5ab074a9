"""What runs and publications cover: SQL in, plain rows out. The counting is `advisor.coverage`.

Every function takes a connection of `db.session.reading` and changes nothing. A `cluster` of None
means all of them.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, text

from db.records import MEASURED_SOURCE, PairStatus, Quantity


@dataclass(frozen=True, slots=True)
class RunCount:
    """How many valid runs of a tuple ended in one way: an outcome of runs; or, where a bundle
    brought their operating point without them, `resumed`, `not resumed` or the point's outcome."""

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
_NOT_OF_RUNS_HERE = """
      (CAST(:cluster AS TEXT) IS NULL OR p.cluster = :cluster)
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.point_id = p.point_id)
"""
_BY_THIS_PROGRAM = """EXISTS (
    SELECT 1 FROM operating_point_values s
    WHERE s.point_id = p.point_id AND s.source_id LIKE :measured
  )"""
_PUBLISHED = f"""
SELECT DISTINCT p.architecture, p.mechanism, COALESCE(p.trace, '') AS trace
FROM operating_points p
JOIN operating_point_values v ON v.point_id = p.point_id
WHERE {_NOT_OF_RUNS_HERE} AND NOT {_BY_THIS_PROGRAM} AND v.value IS NOT NULL
"""  # noqa: S608 - literals of this file
_CARRIED = f"""
SELECT p.architecture, p.mechanism, p.trace, p.outcome, v.value AS resumed_fraction, v.n
FROM operating_points p
JOIN operating_point_values v ON v.point_id = p.point_id AND v.quantity = :resumed
WHERE {_NOT_OF_RUNS_HERE} AND {_BY_THIS_PROGRAM}
  AND p.trace IS NOT NULL AND v.n IS NOT NULL
ORDER BY p.architecture, p.mechanism, p.trace, p.point_id
"""  # noqa: S608 - literals of this file
_MEASURED = f"{MEASURED_SOURCE}%"


def run_counts(connection: Connection, cluster: str | None) -> tuple[RunCount, ...]:
    """Valid runs under a trace, by tuple and outcome."""
    rows = connection.execute(text(_RUNS), {"cluster": cluster}).mappings()
    return tuple(RunCount(**row) for row in rows)


def published_tuples(
    connection: Connection, cluster: str | None
) -> frozenset[tuple[str, str, str]]:
    """(Architecture, mechanism, trace) of operating points with numbers that this program did not
    measure; the trace is '' where a point holds for any."""
    rows = connection.execute(text(_PUBLISHED), {"cluster": cluster, "measured": _MEASURED})
    return frozenset((a, m, t) for a, m, t in rows)


def carried_counts(connection: Connection, cluster: str | None) -> tuple[RunCount, ...]:
    """The runs behind operating points that this program measured elsewhere: a bundle has brought
    the points, each with how many of its runs resumed, and not the runs."""
    told = {"cluster": cluster, "measured": _MEASURED, "resumed": str(Quantity.RESUMED)}
    rows = connection.execute(text(_CARRIED), told).mappings()
    return tuple(count for row in rows for count in _carried(**row))


def _carried(
    architecture: str,
    mechanism: str,
    trace: str,
    outcome: str,
    resumed_fraction: float | None,
    n: int,
) -> Iterator[RunCount]:
    if resumed_fraction is None:
        counts = {outcome: n}
    else:
        resumed = round(resumed_fraction * n)
        counts = {"resumed": resumed, "not resumed": n - resumed}
    for word, runs in counts.items():
        if runs:
            yield RunCount(architecture, mechanism, trace, word, runs, "")


def compatibility(connection: Connection) -> Mapping[tuple[str, str], tuple[PairStatus, str]]:
    """Status and reason of each pair of architecture and mechanism."""
    rows = connection.execute(
        text("SELECT architecture, mechanism, status, reason FROM compatibility")
    ).mappings()
    return {
        (row["architecture"], row["mechanism"]): (PairStatus(row["status"]), row["reason"])
        for row in rows
    }
