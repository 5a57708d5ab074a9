"""Exports one cluster as a bundle that `db.load` reads back, here or in another database.

A bundle holds the cluster's own rows, the whole catalogue of architectures, mechanisms and their
compatibility (advice needs all of it), and the workloads and sources that those rows cite. It is
made from these rows alone, in the order of their keys: loaded into an empty database and exported
again, it is the same to the last byte.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from sqlalchemy import Connection

from db.errors import InvalidDataError, NotFoundError
from db.files import FORMAT, VERSION
from db.kinds import KINDS, Kind, from_table
from db.load import stored_rows
from db.queries import cluster_names
from db.schema import check_schema
from db.session import open_engine, reading

# Facts about publications, not about a cluster.
_NEVER = ("text_values", "coverage_counts", "decision_framework")

Rows = dict[str, list[dict[str, Any]]]


def export(url: str, cluster: str) -> dict[str, Any]:
    """The bundle, with exact decimals for numbers; write it with `db.files.write_bundle`.

    Raises NotFoundError (lists the clusters), and InvalidDataError for values that come from runs
    alone, which this version of a bundle cannot carry.
    """
    engine = open_engine(url)
    try:
        check_schema(engine)
        with reading(engine) as connection:
            rows = _rows(connection, cluster)
    finally:
        engine.dispose()
    return {
        "format": FORMAT,
        "version": VERSION,
        "kinds": {
            kind.name: [from_table(kind, row) for row in rows[kind.name]]
            for kind in KINDS
            if rows.get(kind.name)
        },
    }


def _rows(connection: Connection, cluster: str) -> Rows:
    names = cluster_names(connection)
    if cluster not in names:
        there = ", ".join(names) or "none"
        raise NotFoundError(f"no cluster {cluster!r} in the database; there is {there}")
    rows = {kind.name: _sorted(stored_rows(connection, kind)) for kind in KINDS}
    _keep_cluster(rows, cluster)
    _keep_cited(rows)
    _refuse_runs(rows)
    return rows


def _sorted(stored: Mapping[tuple[Any, ...], dict[str, Any]]) -> list[dict[str, Any]]:
    return [values for _, values in sorted(stored.items())]


def _keep_cluster(rows: Rows, cluster: str) -> None:
    owners = {
        key: {row[key] for row in rows[name] if row["cluster"] == cluster}
        for name, key in (
            ("operating_points", "point_id"),
            ("calibration_sessions", "session"),
            ("validations", "validation"),
        )
    }
    for kind in KINDS:
        keep = _belongs(kind, cluster, owners)
        rows[kind.name] = [row for row in rows[kind.name] if keep(row)]


def _belongs(
    kind: Kind, cluster: str, owners: Mapping[str, set[str]]
) -> Callable[[dict[str, Any]], bool]:
    """Whether a row is of the cluster, by its own column or by that of what it belongs to."""
    if kind.name in _NEVER:
        return lambda _: False
    if "cluster" in kind.sql_table.c:
        return lambda row: row["cluster"] == cluster
    for key, mine in owners.items():
        if key in kind.sql_table.c:
            return partial(_owned, key, mine)
    return lambda _: True


def _owned(key: str, mine: set[str], row: dict[str, Any]) -> bool:
    return row[key] in mine


def _keep_cited(rows: Rows) -> None:
    """Drops the workloads, then the sources, that no row left in the bundle refers to."""
    workloads = {row["workload"] for row in rows["operating_points"]}
    rows["workloads"] = [row for row in rows["workloads"] if row["workload"] in workloads]
    cited = {row.get("source_id") for name in rows if name != "sources" for row in rows[name]}
    rows["sources"] = [row for row in rows["sources"] if row["source_id"] in cited]


def _refuse_runs(rows: Rows) -> None:
    values: Iterable[dict[str, Any]] = (row for name in rows for row in rows[name])
    orphans = [row for row in values if row.get("run_id") and row.get("source_id", "") is None]
    if orphans:
        raise InvalidDataError(
            f"{len(orphans)} values come from runs alone, which a bundle of version {VERSION} "
            "cannot carry: give them a source_id first"
        )
