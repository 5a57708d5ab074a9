"""Which schema this code needs, and whether a database has it."""

import re

from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import DBAPIError

from db.errors import EmptyDatabaseError, NotADatabaseError, SchemaMismatchError
from db.session import engine_name, reading

HEAD = "0013"
REVISIONS = tuple(f"{number:04}" for number in range(1, 14))
"""Every revision that this code knows, oldest first; a test holds it equal to migrations/."""

VERSION_TABLE = "alembic_version"


def check_schema(engine: Engine) -> None:
    """Returns if the database has the schema of this code; one statement when all is well.

    Raises SchemaMismatchError (older or unknown), EmptyDatabaseError, NotADatabaseError.
    """
    revision = read_revision(engine)
    name = engine_name(engine)
    if revision is None:
        raise EmptyDatabaseError(f"{name} is empty: run `advisor db upgrade --db {name}` first")
    if revision == HEAD:
        return
    if revision in REVISIONS:
        raise SchemaMismatchError(
            f"{name} has the older schema {revision}, this program needs {HEAD}: "
            f"run `advisor db upgrade --db {name}`"
        )
    if not re.fullmatch(r"\d{4}", revision):
        raise NotADatabaseError(
            f"{name} is another program's database: its schema is {revision!r}, not a number "
            f"such as {HEAD}; choose another database"
        )
    raise SchemaMismatchError(
        f"{name} has a schema that is unknown to this version (revision {revision}; this version "
        f"knows up to {HEAD}): upgrade the program (`pip install --upgrade failbench-advisor`), or "
        "choose another database"
    )


def read_revision(engine: Engine) -> str | None:
    """The database's revision, or None if it holds no table.

    Raises NotADatabaseError if it holds tables, but none that says which schema they are.
    """
    revision = _stated_revision(engine)
    if revision is not None:
        return revision
    with reading(engine) as connection:
        others = table_names(connection) - {VERSION_TABLE}
    if others:
        revision = _stated_revision(engine)  # another process may have made them just now
        if revision is not None:
            return revision
        raise NotADatabaseError(
            f"{engine_name(engine)} is no database of the advisor: it holds "
            f"{', '.join(sorted(others)[:3])} but no schema revision; choose another database"
        )
    return None


def _stated_revision(engine: Engine) -> str | None:
    """What the version table says; None where there is no such table, or it is empty."""
    try:
        with reading(engine) as connection:
            revision = connection.execute(text(f"SELECT version_num FROM {VERSION_TABLE}")).scalar()  # noqa: S608
    except DBAPIError:
        return None
    return None if revision is None else str(revision)


_TABLES = {
    "sqlite": "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') "
    "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
    "postgresql": "SELECT table_name FROM information_schema.tables "
    "WHERE table_schema = current_schema()",
}


def table_names(connection: Connection) -> set[str]:
    """Every table and view that is not the database's own."""
    return set(connection.exec_driver_sql(_TABLES[connection.dialect.name]).scalars())
