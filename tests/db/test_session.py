"""URLs, engines, transactions; everything a user can mend is one line that says how."""

import json
import multiprocessing
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from db.errors import DatabaseError, NotADatabaseError, UnreachableError
from db.first_use import ensure_ready
from db.queries import cluster_names
from db.schema import check_schema
from db.session import database_url, open_engine, reading, shown, writing
from db.urls import default_path, parse
from tests.db.nobody import as_nobody


def line(caught: pytest.ExceptionInfo[DatabaseError]) -> str:
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_explicit_before_variable_before_default(tmp_path: Path) -> None:
    home = {"HOME": "/home/me"}
    assert (
        database_url(None, home) == "sqlite:////home/me/.local/share/failbench-advisor/advisor.db"
    )
    assert default_path({**home, "XDG_DATA_HOME": "/data"}) == Path(
        "/data/failbench-advisor/advisor.db"
    )
    assert database_url(None, {**home, "ADVISOR_DB_URL": "/a/b.db"}) == "sqlite:////a/b.db"
    assert database_url("/c.db", {**home, "ADVISOR_DB_URL": "/a/b.db"}) == "sqlite:////c.db"


def test_a_bare_path_and_a_relative_url_are_sqlite_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert database_url("x.db") == f"sqlite:///{tmp_path}/x.db"
    assert database_url("sqlite:///x.db") == f"sqlite:///{tmp_path}/x.db"
    assert database_url("sqlite:////etc/x.db") == "sqlite:////etc/x.db"
    strange = f"{tmp_path}/a b?c#d%20:x@y.db"
    assert parse("a b?c#d%20:x@y.db").database == strange
    assert parse(database_url(strange)).database == strange
    assert shown(database_url(strange)) == strange
    assert ensure_ready(strange)
    assert Path(strange).exists()


def test_postgresql_goes_through_psycopg() -> None:
    assert database_url("postgresql://me@host/d") == "postgresql+psycopg://me@host/d"
    assert database_url("postgres://me@host/d") == "postgresql+psycopg://me@host/d"


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("mysql://me@host/d", "unknown kind of database 'mysql'"),
        ("sqlite://", "not a database file"),
        ("sqlite:///:memory:", "not a database file"),
        ("sqlite:///x.db?mode=ro", "takes no options"),
        ("postgresql://me:secret@host", "names no database"),
        ("postgresql://me:secret@host:port/d", "malformed database URL"),
        ("\udcff.db", r"\udcff.db' is no text in UTF-8"),
        ("sqlite:///\udcff.db", "is no text in UTF-8"),
        ("postgresql://me:secret@host/\udcff", "is no text in UTF-8"),
    ],
)
def test_what_is_no_database_is_told_what_would_be(url: str, says: str) -> None:
    with pytest.raises(NotADatabaseError) as caught:
        database_url(url)
    assert says in line(caught)
    assert "postgresql://user@host/database" in line(caught)
    assert "secret" not in line(caught)


def test_passwords_are_never_shown() -> None:
    assert shown("postgresql+psycopg://me:s3cr:et@host/d") == "postgresql://me:***@host/d"
    hidden = shown("postgresql://host/d?user=me&password=s3cret&sslpassword=t0p")
    assert hidden == "postgresql://host/d?user=me&password=***&sslpassword=***"
    assert shown("postgresql://me:s3/cr@et@host/d") == "postgresql://me:***@host/d"
    assert shown("postgresql://me@host/d") == "postgresql://me@host/d"
    assert shown("sqlite:////a/b.db") == "/a/b.db"


def test_no_server_is_one_line_without_the_password() -> None:
    engine = open_engine("postgresql://me:s3cret@127.0.0.1:1/d")
    with pytest.raises(UnreachableError) as caught:
        check_schema(engine)
    engine.dispose()
    assert "refused" in line(caught)
    assert "postgresql://me:***@127.0.0.1:1/d" in line(caught)
    assert "s3cret" not in line(caught)


def test_an_unknown_option_in_the_url_is_one_line() -> None:
    engine = open_engine("postgresql://me@127.0.0.1:1/d?nonsense=1")
    with pytest.raises(NotADatabaseError, match="nonsense"):
        check_schema(engine)
    engine.dispose()


@pytest.mark.parametrize("content", [b"a,b\n1,2\n" * 200, bytes(range(256)) * 20, b"short"])
def test_a_file_that_is_no_database(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "table.csv"
    path.write_bytes(content)
    engine = open_engine(str(path))
    with pytest.raises(NotADatabaseError, match="is not a SQLite database"):
        check_schema(engine)
    engine.dispose()
    assert path.read_bytes() == content


def test_a_truncated_database_is_damaged(sqlite_file: Path) -> None:
    with sqlite_file.open("r+b") as file:
        file.truncate(sqlite_file.stat().st_size // 2)
    engine = open_engine(str(sqlite_file))
    with pytest.raises(NotADatabaseError, match="is damaged"), reading(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM evidence_view").all()
    engine.dispose()


def test_a_strange_database_is_not_ours(tmp_path: Path) -> None:
    path = tmp_path / "mine.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE recipes (name TEXT)")
    engine = open_engine(str(path))
    with pytest.raises(NotADatabaseError) as caught:
        check_schema(engine)
    engine.dispose()
    assert "recipes" in line(caught)


@pytest.mark.parametrize("name", ["nothing.db", "no/such/folder.db"])
def test_a_missing_file_is_not_created_by_opening(tmp_path: Path, name: str) -> None:
    engine = open_engine(str(tmp_path / name))
    with pytest.raises(UnreachableError, match="cannot be opened"):
        check_schema(engine)
    engine.dispose()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(NotADatabaseError, match="is a folder: name a file in it"):
        open_engine(str(tmp_path))


def test_an_error_in_the_middle_takes_everything_back(shipped_url: str) -> None:
    engine = open_engine(shipped_url)

    def fail_halfway() -> None:
        with writing(engine) as connection:
            connection.exec_driver_sql("UPDATE clusters SET description = 'gone'")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail_halfway()
    with reading(engine) as connection:
        assert connection.exec_driver_sql("SELECT description FROM clusters").scalar() != "gone"
    engine.dispose()


def test_a_reader_sees_one_state_while_others_write(shipped_url: str) -> None:
    engine, other = open_engine(shipped_url), open_engine(shipped_url)
    with reading(engine) as connection:
        before = cluster_names(connection)
        with writing(other) as writer:
            writer.execute(
                text("INSERT INTO clusters (cluster, nodes, ranks_per_node) VALUES ('other', 1, 1)")
            )
        assert cluster_names(connection) == before
    with reading(engine) as connection:
        assert cluster_names(connection) == tuple(sorted([*before, "other"]))
    engine.dispose()
    other.dispose()


def test_a_bug_keeps_its_traceback(shipped_url: str) -> None:
    engine = open_engine(shipped_url)
    with pytest.raises(Exception, match="no_such_table"), reading(engine) as connection:
        connection.exec_driver_sql("SELECT * FROM no_such_table")
    engine.dispose()


def test_foreign_keys_are_on(sqlite_file: Path) -> None:
    engine = open_engine(str(sqlite_file))
    with reading(engine) as connection:
        assert connection.exec_driver_sql("PRAGMA foreign_keys").scalar() == 1
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    engine.dispose()


WRITES = 20
WRITERS = 8


def write_many(url: str, writer: int) -> None:
    """Each write reads first, which is what makes two of them collide without BEGIN IMMEDIATE."""
    engine = open_engine(url)
    for number in range(WRITES):
        with writing(engine) as connection:
            count = connection.execute(text("SELECT COUNT(*) FROM published_counts")).scalar()
            connection.execute(
                text(
                    "INSERT INTO published_counts (name, count, source_id)"
                    " SELECT :name, :count, MIN(source_id) FROM sources"
                ),
                {"name": f"{writer}/{number}", "count": count},
            )
    engine.dispose()


def test_eight_processes_write_at_once(sqlite_file: Path) -> None:
    engine = open_engine(str(sqlite_file))
    with writing(engine) as connection:
        connection.exec_driver_sql("DELETE FROM published_counts")
    context = multiprocessing.get_context("spawn")
    writers = [
        context.Process(target=write_many, args=(str(sqlite_file), number))
        for number in range(WRITERS)
    ]
    for process in writers:
        process.start()
    for process in writers:
        process.join(60)
    assert [process.exitcode for process in writers] == [0] * WRITERS
    with reading(engine) as connection:
        counts = connection.exec_driver_sql("SELECT count FROM published_counts").scalars().all()
    engine.dispose()
    # Each saw all that were before it: no write was lost, none was made on an old state.
    assert sorted(counts) == list(range(WRITERS * WRITES))


def test_a_lock_that_is_never_released_is_one_line(
    sqlite_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.session.BUSY_TIMEOUT_S", 0.05)
    first, second = open_engine(str(sqlite_file)), open_engine(str(sqlite_file))
    with (
        writing(first),
        pytest.raises(UnreachableError, match="locked by another program"),
        writing(second),
    ):
        pass
    first.dispose()
    second.dispose()


@pytest.fixture
def read_only_folder(sqlite_templates: dict[str, Path]) -> Iterator[Path]:
    """A folder that this process may not write to, though it is root, with a database in it."""
    folder = Path(tempfile.mkdtemp())
    shutil.copy(sqlite_templates["shipped"], folder / "advisor.db")
    folder.chmod(0o555)
    (folder / "advisor.db").chmod(0o444)
    with as_nobody():
        yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_a_read_only_folder_can_be_read(read_only_folder: Path) -> None:
    engine = open_engine(str(read_only_folder / "advisor.db"))
    check_schema(engine)
    with reading(engine) as connection:
        assert cluster_names(connection)
    with pytest.raises(UnreachableError, match="read-only"), writing(engine) as connection:
        connection.exec_driver_sql("DELETE FROM recommendation_points")
    engine.dispose()
    assert [file.name for file in read_only_folder.iterdir()] == ["advisor.db"]


SCRIPT = """
import json, sys
from db.first_use import ensure_ready
from db.queries import cluster_evidence, cluster_names
from db.read_only import run_read_only
from db.recommendation_store import save_recommendation
from db.session import open_engine, reading
ensure_ready(sys.argv[1])
engine = open_engine(sys.argv[1])
with reading(engine) as connection:
    cluster_evidence(connection, cluster_names(connection)[0])
save_recommendation(engine, cluster="c", inputs={}, result={}, points={}, advisor_version="1")
engine.dispose()
run_read_only(sys.argv[1], "SELECT 1")
print(json.dumps(sorted(sys.modules)))
"""


def test_advice_imports_neither_orm_nor_alembic_nor_pydantic(sqlite_file: Path) -> None:
    """They take longer to import than the whole answer takes."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(sqlite_file)],
        check=True,
        capture_output=True,
        text=True,
        cwd=Path(__file__).parents[2],
    )
    modules = set(json.loads(done.stdout))
    slow = {"sqlalchemy.orm", "alembic", "pydantic", "pandas", "psycopg", "torch", "numpy"}
    assert modules & slow == set()
    assert "sqlalchemy" in modules


@pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)
def test_a_locked_out_role_is_one_line(shipped_url: str) -> None:
    engine = open_engine(shipped_url)
    with pytest.raises(UnreachableError) as caught, reading(engine) as connection:
        connection.exec_driver_sql("SET ROLE pg_monitor; SELECT * FROM clusters")
    assert "permission denied" in line(caught)
    engine.dispose()


def test_errors_of_the_driver_are_not_swallowed(sqlite_file: Path) -> None:
    engine = open_engine(str(sqlite_file))
    with pytest.raises(OperationalError, match="syntax error"), reading(engine) as connection:
        connection.exec_driver_sql("SELEKT 1")
    engine.dispose()


ON_POSTGRESQL = pytest.mark.parametrize("shipped_url", ["postgresql"], indirect=True)


@ON_POSTGRESQL
def test_a_statement_that_takes_longer_than_a_role_may_is_one_line(shipped_url: str) -> None:
    engine = open_engine(shipped_url)

    def ask() -> None:
        with reading(engine) as connection:
            connection.exec_driver_sql("SET LOCAL statement_timeout = '20ms'")
            connection.exec_driver_sql("SELECT pg_sleep(60)")

    with pytest.raises(UnreachableError) as caught:
        ask()
    engine.dispose()
    assert "statement timeout: ask for less" in line(caught)
    assert "`advisor db reader NAME --time-limit`" in line(caught)


@ON_POSTGRESQL
def test_a_deadlock_outside_of_write_is_one_line(shipped_url: str) -> None:
    engine = open_engine(shipped_url)
    with psycopg.connect(shipped_url) as other:
        other.execute("SET LOCAL deadlock_timeout = '1min'")  # so that it is not the one to end
        other.execute("LOCK TABLE sources")
        waiting = threading.Thread(target=other.execute, args=("LOCK TABLE clusters",))

        def lock_each_other_out() -> None:
            with writing(engine) as connection:
                connection.exec_driver_sql("SET LOCAL deadlock_timeout = '10ms'")
                connection.exec_driver_sql("LOCK TABLE clusters")
                waiting.start()
                connection.exec_driver_sql("LOCK TABLE sources")

        with pytest.raises(UnreachableError) as caught:
            lock_each_other_out()
        waiting.join(30.0)
    engine.dispose()
    assert "deadlock detected: another session was in the way" in line(caught)
