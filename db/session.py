"""Engines, and transactions for reading and for writing. Only SQLAlchemy's core is imported here.

engine = open_engine(database_url(None))
with reading(engine) as connection: ...   # one consistent snapshot
write(engine, change)                     # `change` in a transaction, again after an outage
with writing(engine) as connection: ...   # a transaction that is not tried again
"""

import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, TypeVar
from urllib.parse import quote

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from db.errors import (
    DatabaseError,
    NetworkFilesystemError,
    NotADatabaseError,
    ReadOnlyError,
    UnreachableError,
)
from db.network_filesystem import network_filesystem
from db.outages import again, is_outage
from db.refusals import refusal_state
from db.urls import database_url, default_path, parse, shown, sqlite_path

__all__ = [
    "database_url",
    "default_path",
    "engine_name",
    "open_engine",
    "read",
    "reading",
    "shown",
    "sqlite_path",
    "write",
    "writing",
]

ALLOW_NETWORK_VARIABLE = "ADVISOR_ALLOW_NETWORK_FILESYSTEM"
BUSY_TIMEOUT_S = 30.0
READ_PATIENCE_S = 10.0
"""How long a database that was there before is waited for by somebody who wants to read."""
WRITE_PATIENCE_S = 60.0
"""The same for what would be lost otherwise."""

_POSTGRESQL: Mapping[str, Any] = {
    "connect_timeout": 10,
    "application_name": "failbench-advisor",
    # A firewall that forgets idle connections, and a server that is gone without a word.
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 60_000,
}
"""Of every connection, unless the URL says otherwise; in seconds, but tcp_user_timeout in ms."""

_SESSION: dict[str, str] = {
    # The server's side of the same: what a client that is gone holds is free after a minute.
    "tcp_keepalives_idle": "30s",
    "tcp_keepalives_interval": "10s",
    "tcp_keepalives_count": "3",
    "idle_in_transaction_session_timeout": "60s",
    # Whoever waits for a lock for longer begins again (db/outages.py), and says so in the end.
    "lock_timeout": f"{BUSY_TIMEOUT_S:g}s",
}
"""Of every session, where neither the URL nor the role nor the server says otherwise."""
# Not by the connection's `options`: poolers refuse them, and they would go before the role's own.
_SET = """
SELECT set_config(s.name, ours.value, false)
FROM unnest(%s::text[], %s::text[]) AS ours (name, value)
JOIN pg_settings s ON s.name = ours.name AND s.source = 'default'
"""

T = TypeVar("T")
_reached: set[URL] = set()
"""The PostgreSQL databases to which this process had a connection."""


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
        return _open_postgresql(parsed)
    if path.is_dir():
        raise NotADatabaseError(f"{path} is a folder: name a file in it, such as advisor.db")
    refuse_network_filesystem(path, allow_network_filesystem)
    engine = create_engine(
        parsed, creator=lambda: _connect_sqlite(path, foreign_keys), poolclass=NullPool
    )
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _open_postgresql(url: URL) -> Engine:
    """Looks at a connection before it is used again: it may have been dropped meanwhile."""
    arguments = {name: value for name, value in _POSTGRESQL.items() if name not in url.query}
    engine = create_engine(url, connect_args=arguments, pool_pre_ping=True)
    event.listen(engine, "connect", lambda connection, _: _begin_session(connection, url))
    return engine


def _begin_session(connection: Any, url: URL) -> None:
    """Of a connection of the driver that was made just now."""
    _reached.add(url)
    try:
        connection.autocommit = True
        connection.execute(_SET, ([*_SESSION], [*_SESSION.values()]))
        connection.autocommit = False
    except BaseException:
        connection.close()  # nobody else will
        raise


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
    """A read-only transaction: every statement sees the same state of the database.

    A database that was there before and is away is waited for, for READ_PATIENCE_S.
    """
    options: dict[str, Any] = {}
    if engine.dialect.name == "postgresql":
        options = {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
    with (
        one_line_errors(engine),
        _again(engine, engine.connect, READ_PATIENCE_S) as connection,
    ):
        yield connection.execution_options(**options)


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is committed at the end, and rolled back when anything is raised."""
    with one_line_errors(engine), engine.connect() as connection:
        writer = connection.execution_options(advisor_write=True)
        with writer.begin():
            yield writer


def read(engine: Engine, look: Callable[[Connection], T]) -> T:
    """What `look` finds in a transaction of `reading`; it looks again after an outage."""

    def once() -> T:
        with reading(engine) as connection:
            return look(connection)

    return _again(engine, once, WRITE_PATIENCE_S)


def write(engine: Engine, change: Callable[[Connection], T]) -> T:
    """Runs `change` in a transaction of `writing`, and returns what it returns.

    Where the connection is dropped, the server restarts, or two transactions stand in each other's
    way, `change` is run again, for WRITE_PATIENCE_S at most. The answer to a commit can be lost as
    well, so that it may run again after it was committed: it has to find by keys what is there.
    """

    def once() -> T:
        with writing(engine) as connection:
            return change(connection)

    return _again(engine, once, WRITE_PATIENCE_S)


def _again(engine: Engine, action: Callable[[], T], patience_s: float) -> T:
    """Only a server can be away for a moment: SQLite's own waiting for a lock is enough."""
    if engine.dialect.name != "postgresql":
        return action()

    def passes(error: Exception) -> bool:
        return is_outage(error, engine.url in _reached, lambda: refusal_state(engine))

    return again(action, passes, patience_s)


def require_writable(engine: Engine) -> None:
    """Raises ReadOnlyError where PostgreSQL lets this role only read; before hours of measuring.

    SQLite's permissions are found out at the first write.
    """
    if engine.dialect.name != "postgresql":
        return
    with reading(engine) as connection:
        may = connection.exec_driver_sql(_MAY_WRITE).scalar()
    if may is False:  # None: there is no such table yet
        raise ReadOnlyError(_only_reads(engine_name(engine)))


_MAY_WRITE = """
SELECT has_table_privilege(to_regclass('runs'), 'INSERT')
  AND current_setting('default_transaction_read_only') = 'off' AND NOT pg_is_in_recovery()
"""


def _only_reads(name: str) -> str:
    return f"{name} may only be read, by this role or on this server: name a role that may write"


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
_IN_THE_WAY = "another session was in the way, and nothing was changed: try again"
_HINDERED: Mapping[str, str] = {
    "40001": _IN_THE_WAY,
    "40P01": _IN_THE_WAY,
    "55P03": "another session holds what this one needs: try again when it is done",
    "57014": "ask for less, or let the statements of this role run for longer "
    "(`advisor db reader NAME --time-limit`)",
}
"""What to do about an error that is no mistake of anybody, by SQLSTATE."""


def _explain_postgresql(cause: BaseException, name: str) -> DatabaseError | None:
    state = getattr(cause, "sqlstate", None) or ""
    message = " ".join(str(cause).split())[:400]
    if state == "25006":  # a statement that writes, in a transaction that may only read
        return ReadOnlyError(_only_reads(name))
    if state == "42501":
        return UnreachableError(f"{name}: {message}: name a role that may")
    if state in _HINDERED:
        return UnreachableError(f"{name}: {_primary(cause) or message}: {_HINDERED[state]}")
    if state == "25P03" or state.startswith(_UNREACHABLE_STATES):
        return UnreachableError(f"{name}: {message}")
    if not state and type(cause).__name__ == "OperationalError":
        return UnreachableError(f"{name}: {message}")
    if not state and type(cause).__name__ == "ProgrammingError":
        return NotADatabaseError(f"{name}: {message}")
    return None


def _primary(cause: BaseException) -> str | None:
    """The server's message without what it adds: the statement, who waited for whom."""
    found: str | None = getattr(getattr(cause, "diag", None), "message_primary", None)
    return found


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
