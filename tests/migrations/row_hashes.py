"""A digest of every table's rows, which is the same wherever the rows are."""

import hashlib
import json
from collections.abc import Mapping, Sequence

from sqlalchemy import Connection, text

from db.schema import VERSION_TABLE, table_names
from db.session import open_engine, reading
from db.views import VIEWS

Columns = Mapping[str, Sequence[str]]


def columns_of(url: str) -> dict[str, tuple[str, ...]]:
    """The columns of every table, sorted."""
    return {name: columns for name, (columns, _) in _looked_at(url, None).items()}


def row_hashes(url: str, columns: Columns | None = None) -> dict[str, str]:
    """SHA-256 over a table's rows in an order of their own, by table.

    With `columns` only over these of the tables that it names; all columns of all tables otherwise.
    """
    return {name: digest for name, (_, digest) in _looked_at(url, columns).items()}


def _looked_at(url: str, columns: Columns | None) -> dict[str, tuple[tuple[str, ...], str]]:
    engine = open_engine(url)
    try:
        with reading(engine) as connection:
            names = sorted(table_names(connection) - set(VIEWS) - {VERSION_TABLE})
            wanted = names if columns is None else sorted(columns)
            return {
                name: _digest(connection, name, None if columns is None else columns[name])
                for name in wanted
            }
    finally:
        engine.dispose()


def _digest(
    connection: Connection, table: str, columns: Sequence[str] | None
) -> tuple[tuple[str, ...], str]:
    found = connection.execute(text(f"SELECT * FROM {table}"))
    wanted = tuple(sorted(found.keys() if columns is None else columns))
    rows = sorted(json.dumps([row[name] for name in wanted]) for row in found.mappings())
    return wanted, hashlib.sha256("\n".join(rows).encode()).hexdigest()
