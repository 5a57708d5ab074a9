"""Pools the valid runs of a cluster into operating points, which is what advice is given from.

A point is written anew when its runs have changed, and stays as it is when they have not, so that
harvesting again changes nothing. A point that a bundle brought stays as it is: its runs are
elsewhere, so those that are here cannot be pooled with them. `db.pooling` has the arithmetic.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, RowMapping, delete, insert, select, text, update

from db.models import Base
from db.pooling import KEY_FIELDS, PointKey, PooledPoint, PooledRun, pool
from db.records import EvidencedValue, Quantity, RunOutcome, RunQuantity
from db.run_rows import source_id
from db.session import write
from db.stack_store import contradicted_marks, stacks_with_points, supersede_older
from db.stack_times import EVIDENCE, NO_EVIDENCE

Row = dict[str, Any]

_TABLES = Base.metadata.tables
_QUANTITIES = {str(each): each for each in RunQuantity}
_IDS_A_STATEMENT = 1000  # both databases admit only so many parameters

_RUNS = f"SELECT r.* {EVIDENCE}"
_VALUES = """
SELECT v.run_id, v.quantity, v.value, v.dispersion
FROM run_values v
JOIN runs r ON r.run_id = v.run_id
WHERE r.cluster = :cluster
"""
_DEADLINES = """
SELECT e.run_id, e.detected_s
FROM fault_events e
JOIN runs r ON r.run_id = e.run_id
WHERE r.cluster = :cluster AND e.fired = 1 AND e.detection_censored = 1
ORDER BY e.run_id, e.at_s DESC, e.ordinal DESC
"""


@dataclass(frozen=True, slots=True)
class HarvestReport:
    """What a harvest did with the operating points of one cluster; `kept` are those that a bundle
    brought, which runs of this database would have made otherwise."""

    cluster: str
    added: int = 0
    updated: int = 0
    unchanged: int = 0
    kept: int = 0
    superseded: tuple[tuple[str, str], ...] = ()
    """Software stacks that were marked now, each with the newer one: all of its runs are later."""
    contradicted: tuple[tuple[str, str], ...] = ()
    """Marks that the runs contradict: the older stack was measured after the newer one began."""

    @property
    def points(self) -> int:
        """All points that the cluster's runs make."""
        return self.added + self.updated + self.unchanged + self.kept


def harvest(engine: Engine, cluster: str) -> HarvestReport:
    """Brings the operating points of a cluster up to date with its valid runs.

    A software stack that was measured before one that is new here is marked as superseded by it.
    """
    return write(engine, lambda connection: _harvest(connection, cluster))


def _harvest(connection: Connection, cluster: str) -> HarvestReport:
    _lock(connection)
    counts = {"added": 0, "updated": 0, "unchanged": 0, "kept": 0}
    known = stacks_with_points(connection, cluster)
    for point in pool(_runs(connection, cluster)):
        counts[_store(connection, point)] += 1
    new = stacks_with_points(connection, cluster) - known
    superseded = supersede_older(connection, cluster, new)
    contradicted = contradicted_marks(connection, cluster)
    return HarvestReport(cluster, **counts, superseded=superseded, contradicted=contradicted)


def _lock(connection: Connection) -> None:
    """Two harvests at once would both add the same point; SQLite lets one writer in anyway.

    Not an advisory lock, which any role can take and keep: this one needs the right to write.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(text("LOCK TABLE operating_points IN SHARE ROW EXCLUSIVE MODE"))


def _runs(connection: Connection, cluster: str) -> list[PooledRun]:
    values: dict[str, dict[RunQuantity, float | None]] = {}
    overhead_half_widths: dict[str, float | None] = {}
    # As tuples and by a table: there are a dozen of them for each run.
    for run_id, name, value, spread in connection.execute(text(_VALUES), {"cluster": cluster}):
        values.setdefault(run_id, {})[_QUANTITIES[name]] = value
        if name == RunQuantity.OVERHEAD:
            overhead_half_widths[run_id] = spread
    # The first fault of a run comes last, and stays.
    found = _rows(connection, _DEADLINES, cluster=cluster)
    deadlines = {row["run_id"]: row["detected_s"] for row in found}
    runs = _rows(connection, _RUNS, cluster=cluster, **NO_EVIDENCE)
    return [
        PooledRun(
            run_id=row["run_id"],
            key=PointKey(**{name: row[name] for name in KEY_FIELDS}),
            outcome=RunOutcome(row["outcome"]),
            state_bytes=row["state_bytes"],
            values=values.get(row["run_id"], {}),
            deadline_s=_deadline(values.get(row["run_id"], {}), deadlines.get(row["run_id"])),
            overhead_half_width=overhead_half_widths.get(row["run_id"]),
        )
        # Sorted here: a sum depends on the order, and each database sorts text in its own.
        for row in sorted(runs, key=lambda row: str(row["run_id"]))
        if row["run_id"] in values  # otherwise it was stored just now, and its own harvest follows
    ]


def _deadline(values: Mapping[RunQuantity, float | None], deadline_s: float | None) -> float | None:
    """Only where the run's own detection, that of its first fault, has no value."""
    return None if values.get(RunQuantity.DETECTION) is not None else deadline_s


def _rows(connection: Connection, statement: str, **values: str) -> Iterable[RowMapping]:
    return connection.execute(text(statement), values).mappings()


def _store(connection: Connection, point: PooledPoint) -> str:
    """Adds or rewrites the point, and names it in its runs; or keeps what a bundle brought."""
    row, values = _point_row(point), _value_rows(point)
    before = _stored(connection, point.key.point_id)
    if before == (row, values):
        what = "unchanged"
    elif before and not _has_runs(connection, point.key.point_id):
        return "kept"
    else:
        what = "updated" if before else "added"
        _write(connection, row, values, is_new=before is None)
    _name_in_runs(connection, point)
    return what


def _has_runs(connection: Connection, point_id: str) -> bool:
    """Whether runs of this database were pooled into the point."""
    runs = _TABLES["runs"]
    found = connection.execute(select(runs.c.run_id).where(runs.c.point_id == point_id).limit(1))
    return found.first() is not None


def _name_in_runs(connection: Connection, point: PooledPoint) -> None:
    """Where it is not named yet: a harvest that changes nothing writes nothing."""
    runs, point_id = _TABLES["runs"], point.key.point_id
    for start in range(0, len(point.run_ids), _IDS_A_STATEMENT):
        some = point.run_ids[start : start + _IDS_A_STATEMENT]
        unnamed = runs.c.run_id.in_(some) & runs.c.point_id.is_distinct_from(point_id)
        connection.execute(update(runs).where(unnamed).values(point_id=point_id))


def _point_row(point: PooledPoint) -> Row:
    key = point.key
    same = [name for name in KEY_FIELDS if name in _TABLES["operating_points"].c]
    return {
        **{name: getattr(key, name) for name in same},
        "point_id": key.point_id,
        "state_bytes": point.state_bytes,
        "storage": None,
        "outcome": str(point.outcome),
        "note": f"{point.note}; {key.conditions}",
    }


def _value_rows(point: PooledPoint) -> list[Row]:
    return [_value_row(point, quantity, value) for quantity, value in sorted(point.values.items())]


def _value_row(point: PooledPoint, quantity: Quantity, value: EvidencedValue) -> Row:
    return {
        "point_id": point.key.point_id,
        "quantity": str(quantity),
        "source_id": source_id(point.key.cluster),
        "run_id": None,
        "value": value.value,
        "missing_reason": _text(value.missing_reason),
        "n": value.n,
        "dispersion": value.dispersion,
        "dispersion_kind": _text(value.dispersion_kind),
        "low": None,
        "high": None,
        "evidence": str(value.evidence),
        "conditions": f"{value.conditions}; {point.key.conditions}",
        "table_ref": "",
    }


def _text(code: str | None) -> str | None:
    return None if code is None else str(code)


def _stored(connection: Connection, point_id: str) -> tuple[Row, list[Row]] | None:
    points, values = _TABLES["operating_points"], _TABLES["operating_point_values"]
    point = connection.execute(select(points).where(points.c.point_id == point_id)).mappings()
    row = point.one_or_none()
    if row is None:
        return None
    found = connection.execute(select(values).where(values.c.point_id == point_id)).mappings()
    return dict(row), sorted(map(dict, found), key=lambda value: str(value["quantity"]))


def _write(connection: Connection, row: Row, rows: list[Row], *, is_new: bool) -> None:
    points, values = _TABLES["operating_points"], _TABLES["operating_point_values"]
    if is_new:
        connection.execute(insert(points), row)
    else:
        same = points.c.point_id == row["point_id"]
        connection.execute(update(points).where(same).values(**row))
        connection.execute(delete(values).where(values.c.point_id == row["point_id"]))
    connection.execute(insert(values), rows)
