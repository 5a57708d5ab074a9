"""Engines, and transactions for reading and for writing. Only SQLAlchemy's core is imported here.

engine = open_engine(database_url(None))
with reading(engine) as connection: ...   # one consistent snapshot
with writing(engine) as connection: ...   # commits at the end, or not at all
"""

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from db.errors import DatabaseError, NetworkFilesystemError, NotADatabaseError, UnreachableError
from db.network_filesystem import network_filesystem
from db.urls import database_url, default_path, parse, shown, sqlite_path

__all__ = [
    "database_url",
    "default_path",
    "engine_name",
    "open_engine",
    "reading",
    "shown",
    "sqlite_path",
    "writing",
]

ALLOW_NETWORK_VARIABLE = "ADVISOR_ALLOW_NETWORK_FILESYSTEM"
BUSY_TIMEOUT_S = 30.0
CONNECT_TIMEOUT_S = 10


def open_engine(
    url: str,
    *,
    allow_network_filesystem: bool | None = None,
    foreign_keys: bool = True,
) -> Engine:
    """An engine for a URL or a file name; it connects at first use and never creates a file.

    `allow_network_filesystem`: None asks the environment variable. `foreign_keys` is off only
    while a migration rebuilds tables. Raises NotADatabaseError and NetworkFilesystemError.
    """
    parsed = parse(url)
    path = sqlite_path(url)
    if path is None:
        arguments = {"connect_timeout": CONNECT_TIMEOUT_S, "application_name": "failbench-advisor"}
        return create_engine(parsed, connect_args=_unset(arguments, parsed.query))
    if path.is_dir():
        raise NotADatabaseError(f"{path} is a folder: name a file in it, such as advisor.db")
    refuse_network_filesystem(path, allow_network_filesystem)
    engine = create_engine(
        parsed, creator=lambda: _connect_sqlite(path, foreign_keys), poolclass=NullPool
    )
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _unset(arguments: Mapping[str, Any], query: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if name not in query}


def _connect_sqlite(path: Path, foreign_keys: bool) -> sqlite3.Connection:
    connection = sqlite3.connect(
        sqlite_uri(path),
        uri=True,
        timeout=BUSY_TIMEOUT_S,
        isolation_level=None,  # the driver would otherwise begin and commit behind our back
        check_same_thread=False,
    )
    connection.execute(f"PRAGMA foreign_keys={'ON' if foreign_keys else 'OFF'}")
    return connection


def sqlite_uri(path: Path, *, read_only: bool = False) -> str:
    """The URI that opens an existing file, as well as its folder's permissions allow.

    A WAL database needs to create two files beside it even for reading. Where the folder refuses
    that, nobody can be writing either, so the file is read as immutable.
    """
    wal = path.with_name(path.name + "-wal")
    if not folder_is_writable(path.parent) and not (wal.exists() and wal.stat().st_size):
        mode = "mode=ro&immutable=1"
    else:
        mode = "mode=ro" if read_only else "mode=rw"
    return f"file:{quote(str(path))}?{mode}"


def folder_is_writable(folder: Path) -> bool:
    """Whether this process may create files in the folder."""
    return os.access(folder, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def _begin_sqlite(connection: Connection) -> None:
    write = connection.get_execution_options().get("advisor_write", False)
    driver = connection.connection.driver_connection
    assert isinstance(driver, sqlite3.Connection)
    # A transaction that reads first and writes later can fail without waiting; IMMEDIATE waits.
    driver.execute("BEGIN IMMEDIATE" if write else "BEGIN")


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A read-only transaction: every statement sees the same state of the database."""
    options: dict[str, Any] = {}
    if engine.dialect.name == "postgresql":
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with one_line_errors(engine), engine.connect() as connection:
        yield connection.execution_options(**options)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is committed at the end, and rolled back when anything is raised."""
    with one_line_errors(engine), engine.connect() as connection:
        writer = connection.execution_options(advisor_write=True)
        with writer.begin():
            yield writer


@contextmanager
def one_line_errors(engine: Engine) -> Iterator[None]:
    """Turns what a user can mend (no server, no disk, no database) into one line of ours."""
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:  # the latter from our own BEGIN
        cause = error.orig if isinstance(error, DBAPIError) else error
        translated = explain(cause or error, engine_name(engine))
        if translated is None:
            raise
        raise translated from error


def engine_name(engine: Engine) -> str:
    """The engine's database as it may be printed: a path, or a URL without its password."""
    return shown(engine.url.render_as_string(hide_password=True))


_SQLITE: Mapping[str, tuple[type[DatabaseError], str]] = {
    "SQLITE_NOTADB": (NotADatabaseError, "is not a SQLite database; choose another file"),
    "SQLITE_CORRUPT": (NotADatabaseError, "is damaged; restore a backup of it"),
    "SQLITE_CANTOPEN": (UnreachableError, "cannot be opened: no such file, or no permission"),
    "SQLITE_PERM": (UnreachableError, "cannot be opened: no permission"),
    "SQLITE_READONLY": (UnreachableError, "cannot be written: the file or its folder is read-only"),
    "SQLITE_FULL": (UnreachableError, "cannot be written: no space left on its disk"),
    "SQLITE_IOERR": (UnreachableError, "cannot be read or written: its disk reports an error"),
    "SQLITE_BUSY": (UnreachableError, "is locked by another program; try again when it is done"),
}


def explain(cause: BaseException, name: str) -> DatabaseError | None:
    """The error of ours that a driver's error stands for, or None for a bug of ours."""
    if isinstance(cause, sqlite3.Error):
        return _explain_sqlite(cause, name)
    return _explain_postgresql(cause, name)


def _explain_sqlite(cause: sqlite3.Error, name: str) -> DatabaseError | None:
    # SQLITE_IOERR_WRITE and the like: the first two words are the kind.
    code = "_".join((getattr(cause, "sqlite_errorname", None) or "").split("_")[:2])
    kind, reason = _SQLITE.get(code, (None, ""))
    return kind(f"{name} {reason}") if kind else None


# Classes of SQLSTATE: connection, authorization, no such database, resources, shutdown.
_UNREACHABLE_STATES = ("08", "28", "3D", "53", "57P")


def _explain_postgresql(cause: BaseException, name: str) -> DatabaseError | None:
    state = getattr(cause, "sqlstate", None) or ""
    message = " ".join(str(cause).split())[:400]
    if state == "42501" or state.startswith(_UNREACHABLE_STATES):
        return UnreachableError(f"{name}: {message}")
    if not state and type(cause).__name__ == "OperationalError":
        return UnreachableError(f"{name}: {message}")
    if not state and type(cause).__name__ == "ProgrammingError":
        return NotADatabaseError(f"{name}: {message}")
    return None


def refuse_network_filesystem(
    path: Path, allowed: bool | None = None, mountinfo: str | None = None
) -> None:
    """Raises NetworkFilesystemError if the file is, or would be, on a network file system.

    `allowed`: None asks $ADVISOR_ALLOW_NETWORK_FILESYSTEM. `mountinfo`: None reads this process's.
    """
    if allowed is None:
        allowed = os.environ.get(ALLOW_NETWORK_VARIABLE) == "1"
    filesystem = None if allowed else filesystem_of(path, mountinfo)
    if filesystem:
        raise NetworkFilesystemError(
            f"{path} is on a network file system ({filesystem}), where SQLite's locks fail: "
            f"choose a local file or postgresql://user@host/database, or set "
            f"{ALLOW_NETWORK_VARIABLE}=1 if one machine alone uses it"
        )


def filesystem_of(path: Path, mountinfo: str | None = None) -> str | None:
    """The network file system that holds `path`, or None; None too where /proc is missing."""
    if mountinfo is None:
        source = Path("/proc/self/mountinfo")
        mountinfo = source.read_text(errors="replace") if source.exists() else ""
    return network_filesystem(PurePosixPath(os.path.realpath(path)), mountinfo)
