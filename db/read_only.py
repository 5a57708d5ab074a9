"""Runs one statement that a person typed. Read-only by construction, never by reading the text.

SQLite: the file is opened read-only, and an authorizer admits only what a SELECT needs.
PostgreSQL: a read-only transaction, and a cursor, whose grammar admits one SELECT. Functions with
effects of their own (advisory locks, lo_create) still pass there: docs/sql.md makes a role for it.
"""

import math
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from db.errors import QueryRefusedError, TooSlowError
from db.session import (
    explain,
    one_line_errors,
    open_engine,
    refuse_network_filesystem,
    sqlite_path,
    sqlite_uri,
)
from db.text import is_text

LARGEST_VALUE_BYTES = 1_000_000
LARGEST_RESULT_BYTES = 64_000_000
_BATCH_ROWS = 500
_STEPS_BETWEEN_CLOCKS = 10_000

_ADMITTED = (
    sqlite3.SQLITE_SELECT,
    sqlite3.SQLITE_READ,
    sqlite3.SQLITE_FUNCTION,
    sqlite3.SQLITE_RECURSIVE,
)
_FORBIDDEN_FUNCTIONS = ("load_extension", "fts3_tokenizer", "readfile", "writefile", "edit")

_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: LARGEST_VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 100_000,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 200,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 100,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 200,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}


class Cut(Enum):
    """The limit that a result ran into."""

    ROWS = "rows"
    BYTES = "bytes"


@dataclass(frozen=True, slots=True)
class QueryResult:
    """What a statement returned; `cut_by` is the limit beyond which there was more."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    cut_by: Cut | None


def run_read_only(
    url: str, statement: str, *, row_limit: int = 10_000, time_limit_s: float = 10.0
) -> QueryResult:
    """Runs one SELECT (or VALUES, or WITH ... SELECT), for at most `time_limit_s` seconds.

    Returns at most `row_limit` rows and about 64 MB. Raises QueryRefusedError in one line for a
    statement that writes or does not parse, TooSlowError for one that takes longer.
    """
    if not statement.strip():
        raise QueryRefusedError("the statement is empty: give one SELECT")
    if "\x00" in statement:
        raise QueryRefusedError("the statement holds a NUL character: take it out")
    if not is_text(statement):
        raise QueryRefusedError("the statement is not text: it holds bytes that are not UTF-8")
    run = _run_postgresql if sqlite_path(url) is None else _run_sqlite
    return run(url, statement, row_limit, time.monotonic() + time_limit_s)


def unique(columns: tuple[str, ...]) -> list[str]:
    """Column names told apart, for SQL allows two of one name."""
    names: list[str] = []
    for column in columns:
        name, number = column, 1
        while name in names or (number > 1 and name in columns):
            number += 1
            name = f"{column} ({number})"
        names.append(name)
    return names


def _run_sqlite(url: str, statement: str, row_limit: int, deadline: float) -> QueryResult:
    path = sqlite_path(url)
    assert path is not None
    refuse_network_filesystem(path)
    with _refusing(str(path)), closing(_connect_sqlite(path)) as connection:
        connection.set_progress_handler(
            lambda: int(time.monotonic() > deadline), _STEPS_BETWEEN_CLOCKS
        )
        cursor = connection.execute(statement)
        if cursor.description is None:
            raise QueryRefusedError("the statement returns no rows: give one SELECT")
        columns = tuple(column[0] for column in cursor.description)
        rows, cut_by = _bounded(cursor.fetchmany, row_limit)
    return QueryResult(columns, rows, cut_by)


def _connect_sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(sqlite_uri(path, read_only=True), uri=True, isolation_level=None)
    connection.execute("PRAGMA query_only=ON")
    connection.execute("PRAGMA trusted_schema=OFF")
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    connection.set_authorizer(_authorize)
    return connection


def _authorize(
    action: int,
    first: str | None,
    second: str | None,
    database: str | None,
    trigger: str | None,
) -> int:
    """SQLite asks this for everything that a statement is about to do, while it compiles it."""
    if action not in _ADMITTED:
        return sqlite3.SQLITE_DENY
    # Of a function, `second` is the name.
    if action == sqlite3.SQLITE_FUNCTION and (second or "").lower() in _FORBIDDEN_FUNCTIONS:
        return sqlite3.SQLITE_DENY
    return sqlite3.SQLITE_OK


@contextmanager
def _refusing(name: str) -> Iterator[None]:
    """SQLite's complaints about the statement in one line; those about the file as elsewhere."""
    try:
        yield
    except (sqlite3.Error, sqlite3.Warning, MemoryError, OverflowError) as error:
        translated = explain(error, name) if isinstance(error, sqlite3.Error) else None
        raise translated or _refusal(error) from error


def _refusal(error: BaseException) -> QueryRefusedError:
    if getattr(error, "sqlite_errorname", None) == "SQLITE_INTERRUPT":
        return TooSlowError()
    return QueryRefusedError(_reason(error))


def _reason(error: BaseException) -> str:
    code = getattr(error, "sqlite_errorname", None)
    message = " ".join(str(error).split()) or "out of memory"
    if code == "SQLITE_AUTH" or "prohibited" in message or "not authorized" in message:
        return f"only one SELECT is admitted here, nothing that writes ({message})"
    if "one statement at a time" in message:
        return "only one statement at a time: give one SELECT"
    if code == "SQLITE_TOOBIG":
        return f"a value would be larger than {LARGEST_VALUE_BYTES // 10**6} MB ({message})"
    return f"the database refuses the statement: {message}"


def _run_postgresql(url: str, statement: str, row_limit: int, deadline: float) -> QueryResult:
    engine = open_engine(url)
    try:
        with one_line_errors(engine), engine.connect() as connection:
            driver = connection.connection.driver_connection
            return _query_postgresql(driver, statement, row_limit, deadline)
    finally:
        engine.dispose()


def _query_postgresql(
    connection: Any, statement: str, row_limit: int, deadline: float
) -> QueryResult:
    from psycopg import Error

    try:
        connection.read_only = True
        with connection.cursor(name="advisor_sql") as cursor:
            _allow(connection, deadline)
            cursor.execute(statement)
            columns = tuple(column.name for column in cursor.description or ())
            rows, cut_by = _bounded(_fetching(connection, cursor, deadline), row_limit)
    except Error as error:
        raise _postgresql_refusal(error) from error
    return QueryResult(columns, rows, cut_by)


def _allow(connection: Any, deadline: float) -> None:
    """Renews the time limit before every statement: the one running could have lifted it."""
    remaining_ms = math.ceil((deadline - time.monotonic()) * 1000)
    if remaining_ms <= 0:
        raise TooSlowError
    connection.execute(f"SET LOCAL statement_timeout = {remaining_ms}")


def _fetching(
    connection: Any, cursor: Any, deadline: float
) -> Callable[[int], list[tuple[Any, ...]]]:
    def fetch(count: int) -> list[tuple[Any, ...]]:
        _allow(connection, deadline)
        return list(cursor.fetchmany(count))

    return fetch


def _postgresql_refusal(error: Any) -> QueryRefusedError:
    message = " ".join(str(error.diag.message_primary or error).split())
    if error.sqlstate == "57014":
        return TooSlowError()
    if error.sqlstate in ("25006", "42501"):
        return QueryRefusedError(
            f"only one SELECT is admitted here, nothing that writes ({message})"
        )
    return QueryRefusedError(f"the database refuses the statement: {message}; give one SELECT")


def _bounded(
    fetch: Callable[[int], list[tuple[Any, ...]]], row_limit: int
) -> tuple[tuple[tuple[Any, ...], ...], Cut | None]:
    """Fetches in batches that start small, and stops at the limit of rows or of bytes."""
    rows: list[tuple[Any, ...]] = []
    size, batch = 0, 1
    while len(rows) <= row_limit:
        found = fetch(min(batch, row_limit + 1 - len(rows)))
        if not found:
            return tuple(rows), None
        rows.extend(tuple(row) for row in found)
        size += sum(sys.getsizeof(value) for row in found for value in row)
        if size > LARGEST_RESULT_BYTES:
            return tuple(rows[:row_limit]), Cut.BYTES
        batch = min(batch * 2, _BATCH_ROWS)
    return tuple(rows[:row_limit]), Cut.ROWS
