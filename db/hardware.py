"""The clusters that records name: added where they are new, refused where they are another's or
where the runs behind their numbers are elsewhere.

Rows are added unless they are there, and never changed, but for the nodes of a cluster, which only
become more: any number of processes may add at once.
"""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, select, text
from sqlalchemy.dialects import postgresql, sqlite

from db.errors import AnotherClusterError
from db.models import Base
from db.run_record import ClusterPart
from db.run_rows import Row, source_id

_TABLES = Base.metadata.tables
_WITHOUT_RUNS = """
SELECT 1
FROM operating_points p
JOIN operating_point_values v ON v.point_id = p.point_id
WHERE p.cluster = :cluster AND v.source_id = :source_id
  AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.cluster = :cluster AND r.point_id IS NOT NULL)
LIMIT 1
"""
_MORE_NODES = """
UPDATE clusters
SET description = :description, nodes = :nodes, ranks_per_node = :ranks_per_node,
  interconnect = :interconnect
WHERE cluster = :cluster AND nodes < :nodes
"""
_SAME_MEMORY = 0.02
"""Kernels differ in how much of a machine's memory they report."""


def add_cluster(connection: Connection, cluster: ClusterPart) -> None:
    """Adds the cluster unless it is there, and the nodes that it lacks: a run may take only some of
    them. Raises AnotherClusterError if its hardware differs."""
    row = {**cluster.model_dump(), "source_id": source_id(cluster.cluster)}
    add_row(connection, "clusters", row)
    stored = refuse_other_hardware(connection, cluster)
    if stored is not None and stored["nodes"] < cluster.nodes:
        connection.execute(text(_MORE_NODES), cluster.model_dump())


def refuse_without_runs(connection: Connection, cluster: str) -> None:
    """Raises AnotherClusterError if a bundle brought what is known of the cluster.

    Its runs are not here, so new ones could not be pooled with them, and `db.harvest` would keep
    what there is. Where runs of this database made operating points, it is measured here.
    """
    measured = {"cluster": cluster, "source_id": source_id(cluster)}
    if connection.execute(text(_WITHOUT_RUNS), measured).first():
        raise AnotherClusterError(
            f"cluster {cluster!r} came in a bundle, without its runs: new ones cannot be pooled "
            "with them, so measure under another name (`--cluster NAME`)"
        )


def refuse_other_hardware(connection: Connection, cluster: ClusterPart) -> Mapping[str, Any] | None:
    """The cluster of this name as it is stored, if it is. Raises AnotherClusterError if its
    hardware is other.

    On how many nodes and with how many ranks it ran is no matter of the hardware.
    """
    table, row = _TABLES["clusters"], cluster.model_dump()
    found = connection.execute(select(table).where(table.c.cluster == cluster.cluster))
    stored = found.mappings().one_or_none()
    if stored is None:
        return None
    # One node alone says nothing of what is between several.
    is_alike = (row["nodes"] == 1) == (stored["nodes"] == 1)
    names = ("device", "interconnect") if is_alike else ("device",)
    different = [name for name in names if row[name] != stored[name]]
    sizes = ("device_memory_bytes", "host_memory_bytes")
    different += [name for name in sizes if not _is_same_memory(row[name], stored[name])]
    if different:
        listed = ", ".join(f"{name} {stored[name]!r}, not {row[name]!r}" for name in different)
        raise AnotherClusterError(
            f"there is another cluster called {row['cluster']!r}, with {listed}: "
            "measure under another name (`--cluster NAME`)"
        )
    return dict(stored)


def _is_same_memory(a: int | None, b: int | None) -> bool:
    """Within 2 %; an unknown size differs from a known one."""
    if a is None or b is None:
        return a is b
    return abs(a - b) <= _SAME_MEMORY * max(a, b)


def added_or_stored(connection: Connection, table: str, row: Row) -> Mapping[str, Any]:
    """The row as it is stored now: as given, or as it was there before."""
    add_row(connection, table, row)
    (key,) = _TABLES[table].primary_key
    statement = select(_TABLES[table]).where(key == row[key.name])
    return dict(connection.execute(statement).mappings().one())


def add_row(connection: Connection, table: str, row: Row) -> bool:
    """Inserts the row unless its key, or its digest, is taken; whether it did."""
    # The key that comes back says it; not every driver counts the rows of such a statement.
    statement = _unless_there(connection, table).returning(*_TABLES[table].primary_key)
    return connection.execute(statement, row).first() is not None


def add_rows(connection: Connection, table: str, rows: list[Row]) -> frozenset[str]:
    """As `add_row`, for many rows of a table whose key is one column: the keys that were added."""
    (key,) = _TABLES[table].primary_key
    statement = _unless_there(connection, table).returning(key)
    return frozenset(connection.execute(statement, rows).scalars())


def _unless_there(connection: Connection, table: str) -> postgresql.Insert | sqlite.Insert:
    # No column named: of two that insert the same run at once, PostgreSQL may meet either key.
    if connection.dialect.name == "sqlite":
        return sqlite.insert(_TABLES[table]).on_conflict_do_nothing()
    return postgresql.insert(_TABLES[table]).on_conflict_do_nothing()
