"""Upgrades, downgrades and checks a schema. Alembic without its ini file, so a wheel can do it.

SQLite: a copy of the file is made first, and the whole migration is one transaction that other
processes wait for. PostgreSQL: one transaction under a lock, begun again after an outage.
"""

import errno
import os
import secrets
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, Engine, create_engine, inspect, text

from db.errors import NotADatabaseError, NotFoundError, UnreachableError
from db.models import Base
from db.resources import resource_dir
from db.schema import HEAD, VERSION_TABLE, check_schema, read_revision
from db.session import (
    explain,
    filesystem_of,
    one_line_errors,
    open_engine,
    reading,
    refuse_network_filesystem,
    sqlite_path,
    write,
)
from db.views import VIEWS

# Any number will do, as long as nobody else takes the same one in the same database.
_ADVISORY_LOCK = 4_671_206


@dataclass(frozen=True, slots=True)
class Migrated:
    """What an upgrade or a downgrade did; equal revisions mean that there was nothing to do."""

    before: str | None
    after: str | None
    backup: Path | None


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The revision of a sound database, and every difference from what it should be."""

    revision: str
    problems: tuple[str, ...]


def upgrade(url: str, to: str = HEAD) -> Migrated:
    """Brings the schema up to a revision; makes it in an empty database.

    A SQLite file that does not exist is made, empty of data. An older SQLite file is backed up
    beside it first, as <file>.backup-<revision>. Raises every error of `db.errors`.
    """
    path = sqlite_path(url)
    if path is not None:
        _create_empty(path)
    return _migrate(url, HEAD if to == "head" else to, command.upgrade)


def downgrade(url: str, to: str) -> Migrated:
    """Takes the schema back to a revision, or to `base`: nothing left. Backs up as `upgrade`."""
    return _migrate(url, to, command.downgrade)


def _create_empty(path: Path) -> None:
    """An empty SQLite file, if there is none; in WAL mode, which lets readers and a writer be."""
    refuse_network_filesystem(path)
    # WAL needs memory that the readers share, so never on a network file system.
    mode = "DELETE" if filesystem_of(path) else "WAL"
    path = Path(os.path.realpath(path))  # a link may lead to where there is no file yet
    partial = path.with_name(f"{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        if path.exists():
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(partial)) as connection:
            connection.execute(f"PRAGMA journal_mode={mode}")
        _publish(partial, path)
    except OSError as error:
        raise UnreachableError(f"{path} cannot be made: {error.strerror}") from error
    except sqlite3.Error as error:
        raise explain(error, str(path)) or error from error
    finally:
        with suppress(OSError):  # the folder may be none
            partial.unlink()


def _publish(partial: Path, path: Path) -> None:
    """Gives a file its name unless there is one of that name: of several processes that make one
    database at once, the first does. (SQLite does not wait for its turn to set the mode.)"""
    try:
        path.hardlink_to(partial)
    except FileExistsError:
        return
    except OSError as error:
        if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK):
            raise
        with suppress(FileExistsError), path.open("xb") as made:  # no hard links here
            made.write(partial.read_bytes())


def _migrate(url: str, to: str, run: Callable[[Config, str], None]) -> Migrated:
    engine = open_engine(url, foreign_keys=False)

    def change(connection: Connection) -> None:
        _lock(connection)
        run(_config(connection), to)
        _refuse_dangling(connection)

    try:
        before = read_revision(engine)
        _require_known(before, to)
        if before == (None if to == "base" else to):
            return Migrated(before, before, None)  # which takes no right to write
        backup = _back_up(sqlite_path(url), before) if before else None
        write(engine, change)
        return Migrated(before, read_revision(engine), backup)
    finally:
        engine.dispose()


def _require_known(before: str | None, to: str) -> None:
    """Raises unless this program knows both the revision to leave and the one to reach."""
    known = [script.revision for script in ScriptDirectory(_folder()).walk_revisions()]
    if to not in (*known, "base", "head"):
        raise NotFoundError(f"no revision {to!r}: there is {', '.join(sorted(known))}, head, base")
    if before is not None and before not in known:
        raise NotFoundError(
            f"the database has revision {before}, which this program does not know: upgrade the "
            "program (pip install --upgrade failbench-advisor)"
        )


def _folder() -> str:
    return str(resource_dir("migrations"))


def _config(connection: Connection) -> Config:
    config = Config()
    config.set_main_option("script_location", _folder().replace("%", "%%"))
    config.attributes.update(connection=connection, target_metadata=Base.metadata)
    return config


def _lock(connection: Connection) -> None:
    """Two migrations at once would both make the same tables.

    Where there is a version table this is a lock on it, which needs the right to write; an advisory
    lock any role can take and keep.
    """
    # SQLite's transaction has begun IMMEDIATE, which is a lock already.
    if connection.dialect.name != "postgresql":
        return
    if not _has_version_table(connection):
        connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _ADVISORY_LOCK})
    if _has_version_table(connection):  # perhaps made while this one waited
        connection.execute(text(f"LOCK TABLE {VERSION_TABLE} IN SHARE ROW EXCLUSIVE MODE"))


def _has_version_table(connection: Connection) -> bool:
    found = connection.execute(text("SELECT to_regclass(:name)"), {"name": VERSION_TABLE})
    return found.scalar() is not None


def _refuse_dangling(connection: Connection) -> None:
    """Foreign keys are off while SQLite rebuilds tables, so they are checked before the commit."""
    if connection.dialect.name == "sqlite":
        dangling = connection.exec_driver_sql("PRAGMA foreign_key_check").all()
        if dangling:
            raise NotADatabaseError(f"the migration would leave {len(dangling)} dangling rows")


def _back_up(path: Path | None, revision: str) -> Path | None:
    """Copies a SQLite file beside itself, as it is now, WAL included; never overwrites a copy."""
    if path is None:
        return None
    target = _free_name(path, revision)
    partial = target.with_name(target.name + f".{os.getpid()}.tmp")
    try:
        with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(partial)) as copy:
            source.backup(copy)
        partial.replace(target)
    except (OSError, sqlite3.Error) as error:
        partial.unlink(missing_ok=True)
        raise UnreachableError(f"no backup could be written to {target}: {error}") from error
    return target


def _free_name(path: Path, revision: str) -> Path:
    target = path.with_name(f"{path.name}.backup-{revision}")
    number = 1
    while target.exists():
        number += 1
        target = path.with_name(f"{path.name}.backup-{revision}-{number}")
    return target


def check(url: str) -> CheckReport:
    """Compares a database with what this code expects of it.

    Tables, columns and keys by Alembic; CHECKs and views, which Alembic does not see, by their
    stored text; SQLite's own integrity and foreign keys besides. Raises as `check_schema` does.
    """
    engine = open_engine(url)
    try:
        check_schema(engine)
        with reading(engine) as connection:
            problems = [*_structure(connection), *_sqlite_integrity(connection)]
            actual = described(connection)
        problems += _differences(actual, _expected(engine))
    finally:
        engine.dispose()
    return CheckReport(HEAD, tuple(problems))


def _structure(connection: Connection) -> Iterator[str]:
    options = {
        "target_metadata": Base.metadata,
        "compare_type": True,
    }
    context = MigrationContext.configure(connection, opts=options)
    for difference in compare_metadata(context, Base.metadata):
        yield f"schema differs: {difference}"


def _sqlite_integrity(connection: Connection) -> Iterator[str]:
    if connection.dialect.name != "sqlite":
        return
    for (line,) in connection.exec_driver_sql("PRAGMA integrity_check").all():
        if line != "ok":
            yield f"integrity: {line}"
    for table, row, parent, _ in connection.exec_driver_sql("PRAGMA foreign_key_check").all():
        yield f"row {row} of {table} refers to a row of {parent} that is not there"


def _differences(actual: dict[str, str], expected: dict[str, str]) -> Iterator[str]:
    for name in sorted(actual.keys() | expected.keys()):
        if name not in actual:
            yield f"{name} is missing"
        elif name not in expected:
            yield f"{name} is not part of the schema"
        elif actual[name] != expected[name]:
            yield f"{name} is {actual[name]!r}, should be {expected[name]!r}"


def described(connection: Connection) -> dict[str, str]:
    """Text of every CHECK and view of the database, by `check ...` and `view ...`."""
    if connection.dialect.name == "sqlite":
        return _described_sqlite(connection)
    return _described_postgresql(connection)


def _described_sqlite(connection: Connection) -> dict[str, str]:
    inspector = inspect(connection)
    found = {
        f"check {check['name']} of {table}": _spaced(check["sqltext"])
        for table in inspector.get_table_names()
        for check in inspector.get_check_constraints(table)
    }
    views = connection.exec_driver_sql("SELECT name, sql FROM sqlite_master WHERE type = 'view'")
    return found | {f"view {name}": _spaced(sql) for name, sql in views.all()}


# Where new objects go is the first schema of the search path, so this serves the real schema
# and the temporary one of `_expected` alike.
_POSTGRESQL_CHECKS = """
SELECT c.relname, k.conname, pg_get_constraintdef(k.oid)
FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
WHERE k.contype = 'c' AND c.relnamespace = COALESCE(
  (SELECT oid FROM pg_namespace WHERE nspname = current_schema()), pg_my_temp_schema())
"""
_POSTGRESQL_VIEWS = """
SELECT c.relname, pg_get_viewdef(c.oid)
FROM pg_class c
WHERE c.relkind = 'v' AND c.relnamespace = COALESCE(
  (SELECT oid FROM pg_namespace WHERE nspname = current_schema()), pg_my_temp_schema())
"""


def _described_postgresql(connection: Connection) -> dict[str, str]:
    checks = connection.exec_driver_sql(_POSTGRESQL_CHECKS).all()
    views = connection.exec_driver_sql(_POSTGRESQL_VIEWS).all()
    return {f"check {name} of {table}": _spaced(rule) for table, name, rule in checks} | {
        f"view {name}": _spaced(select) for name, select in views
    }


def _spaced(sql: str) -> str:
    return " ".join(sql.split())


def _expected(engine: Engine) -> dict[str, str]:
    """What `described` should say: the models and views, made anew where they leave no trace."""
    with _scratch(engine) as connection:
        Base.metadata.create_all(connection, checkfirst=False)
        for name, select in VIEWS.items():
            connection.exec_driver_sql(f"CREATE VIEW {name} AS {select}")
        return described(connection)


@contextmanager
def _scratch(engine: Engine) -> Iterator[Connection]:
    """A connection whose new tables vanish: SQLite in memory, or PostgreSQL's temporary schema."""
    if engine.dialect.name == "sqlite":
        memory = create_engine("sqlite://")
        try:
            with memory.connect() as connection:
                yield connection
        finally:
            memory.dispose()
        return
    with one_line_errors(engine), engine.connect() as connection:
        connection.exec_driver_sql("SET LOCAL search_path TO pg_temp")
        yield connection
        connection.rollback()
