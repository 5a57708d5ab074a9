"""What a database is, in a few numbers: server, role, schema, how much is in it."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, text

from db.errors import ReadOnlyError
from db.schema import HEAD, check_schema
from db.session import engine_name, folder_is_writable, read, require_writable, sqlite_path

COUNTED = ("clusters", "operating_points", "runs", "campaigns")


@dataclass(frozen=True, slots=True)
class DatabaseStatus:
    """`role` is None on SQLite; `counts` has the rows of the tables in COUNTED."""

    name: str
    server: str
    schema: str
    role: str | None
    is_writable: bool
    counts: Mapping[str, int]


def status(engine: Engine) -> DatabaseStatus:
    """Reads all of it, and writes nothing. Raises as `check_schema` does."""
    check_schema(engine)
    server, role, counts = read(engine, _look)
    return DatabaseStatus(engine_name(engine), server, HEAD, role, _is_writable(engine), counts)


def _look(connection: Connection) -> tuple[str, str | None, dict[str, int]]:
    counts = {
        table: int(connection.execute(text(f"SELECT COUNT(*) FROM {table}")).scalar_one())  # noqa: S608
        for table in COUNTED
    }
    if connection.dialect.name == "sqlite":
        version = connection.execute(text("SELECT sqlite_version()")).scalar_one()
        return f"SQLite {version}", None, counts
    version = connection.execute(text("SHOW server_version")).scalar_one()
    role = connection.execute(text("SELECT current_user")).scalar_one()
    return f"PostgreSQL {version.split()[0]}", str(role), counts


def _is_writable(engine: Engine) -> bool:
    path = sqlite_path(engine.url.render_as_string(hide_password=False))
    if path is not None:
        return os.access(path, os.W_OK) and folder_is_writable(path.parent)
    try:
        require_writable(engine)
    except ReadOnlyError:
        return False
    return True
