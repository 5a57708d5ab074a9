"""`run_read_only`: one SELECT and nothing else, in bounded time and memory, on both databases."""

import time
from pathlib import Path

import pytest

from db.errors import NotADatabaseError, QueryRefusedError, UnreachableError
from db.read_only import LARGEST_RESULT_BYTES, Cut, run_read_only
from db.session import open_engine, reading

WRITES = [
    "INSERT INTO architectures (architecture, name) VALUES ('x', 'x')",
    "UPDATE clusters SET device = 'x'",
    "DELETE FROM compatibility",
    "DROP TABLE compatibility",
    "CREATE TABLE mine (a INTEGER)",
    "CREATE TEMP TABLE mine (a INTEGER)",
    "VACUUM",
    "BEGIN",
    "COMMIT",
    "SAVEPOINT mine",
    "SELECT 1; DROP TABLE compatibility",
    "SELECT 1; SELECT 2",
    "COMMIT; DROP TABLE compatibility",
    "WITH gone AS (DELETE FROM compatibility RETURNING *) SELECT * FROM gone",
    "EXPLAIN ANALYZE DELETE FROM compatibility",
]
SQLITE = [
    "ATTACH DATABASE '/tmp/other.db' AS other",
    "PRAGMA writable_schema=ON",
    "PRAGMA query_only=OFF",
    "PRAGMA user_version",
    "SELECT * FROM pragma_database_list",
    "SELECT load_extension('libm.so')",
    "REINDEX",
    "DETACH DATABASE main",
    "INSERT INTO clusters SELECT * FROM clusters",
    "REPLACE INTO sources (source_id, citation) VALUES ('failbench-2026', 'x')",
]
POSTGRESQL = [
    "SELECT set_config('transaction_read_only', 'off', true), nextval('no_such_sequence')",
    "COPY clusters TO '/tmp/clusters'",
    "SET default_transaction_read_only = off",
    "DO $$ BEGIN DELETE FROM compatibility; END $$",
    "SELECT architecture INTO mine FROM compatibility",
    "SELECT * FROM compatibility FOR UPDATE",
    "LISTEN mine",
    "CALL mine()",
]


def refusal(url: str, statement: str, **limits: float) -> str:
    with pytest.raises(QueryRefusedError) as caught:
        run_read_only(url, statement, **limits)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
    return str(caught.value)


def count(url: str) -> int:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = connection.exec_driver_sql("SELECT COUNT(*) FROM compatibility").scalar_one()
    engine.dispose()
    return int(found)


def test_a_select_returns_its_columns_and_rows(reading_url: str) -> None:
    result = run_read_only(
        reading_url, "SELECT mechanism, 'a%s:b' AS text FROM mechanisms ORDER BY mechanism LIMIT 2"
    )
    assert result.columns == ("mechanism", "text")
    assert result.rows == (("ft1", "a%s:b"), ("ft2", "a%s:b"))
    assert result.cut_by is None


def test_other_reading_statements(reading_url: str) -> None:
    assert run_read_only(reading_url, "VALUES (1), (2)").rows == ((1,), (2,))
    recursive = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3)"
        " SELECT x FROM c"
    )
    assert run_read_only(reading_url, recursive + " -- a comment").rows == ((1,), (2,), (3,))
    assert run_read_only(reading_url, "SELECT * FROM mechanisms WHERE 1 = 0").rows == ()


@pytest.mark.parametrize("statement", WRITES)
def test_what_writes_is_refused(reading_url: str, statement: str) -> None:
    before = count(reading_url)
    refusal(reading_url, statement)
    assert count(reading_url) == before


@pytest.mark.parametrize("statement", SQLITE)
def test_what_only_sqlite_knows_is_refused(sqlite_file: Path, statement: str) -> None:
    content = sqlite_file.read_bytes()
    refusal(str(sqlite_file), statement)
    assert sqlite_file.read_bytes() == content


@pytest.mark.parametrize("statement", POSTGRESQL)
def test_what_only_postgresql_knows_is_refused(
    postgres_templates: dict[str, str], statement: str
) -> None:
    refusal(postgres_templates["shipped"], statement)


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("", "give one SELECT"),
        ("  \n", "give one SELECT"),
        ("SELEKT 1", "SELEKT"),
        ("SELECT nothing FROM clusters", "nothing"),
        ("SELECT * FROM no_such_table", "no_such_table"),
        ("SELECT 1\x00", "NUL character"),
    ],
)
def test_a_mistake_is_one_line(reading_url: str, statement: str, says: str) -> None:
    assert says in refusal(reading_url, statement)


def test_a_comment_alone_returns_no_rows(reading_url: str) -> None:
    assert "give one SELECT" in refusal(reading_url, "-- nothing")


def test_rows_are_limited(reading_url: str) -> None:
    statement = "SELECT architecture FROM compatibility"
    everything = run_read_only(reading_url, statement)
    exact = run_read_only(reading_url, statement, row_limit=len(everything.rows))
    assert (len(exact.rows), exact.cut_by) == (72, None)
    cut = run_read_only(reading_url, statement, row_limit=71)
    assert (len(cut.rows), cut.cut_by) == (71, Cut.ROWS)


ENDLESS = [
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT COUNT(*) FROM c",
    "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c WHERE x < 0",
    "SELECT COUNT(*) FROM evidence_view a, evidence_view b, evidence_view c, evidence_view d",
]


@pytest.mark.parametrize("statement", ENDLESS)
def test_what_never_ends_is_ended(reading_url: str, statement: str) -> None:
    start = time.monotonic()
    assert "took too long" in refusal(reading_url, statement, time_limit_s=0.3)
    assert time.monotonic() - start < 3.0


def test_endless_rows_are_cut_not_collected(reading_url: str) -> None:
    endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"
    result = run_read_only(reading_url, endless + " LIMIT 1000000", row_limit=50)
    assert result.rows[-1] == (50,)
    assert result.cut_by is Cut.ROWS


def test_the_time_limit_cannot_be_lifted_from_inside(postgres_templates: dict[str, str]) -> None:
    statement = (
        "SELECT set_config('statement_timeout', '0', false), pg_sleep(0.2)"
        " FROM generate_series(1, 1000)"
    )
    start = time.monotonic()
    refusal(postgres_templates["shipped"], statement, time_limit_s=0.5)
    assert time.monotonic() - start < 3.0


@pytest.mark.parametrize(
    "value", ["zeroblob(1000000000)", "randomblob(1000000000)", "hex(zeroblob(600000))"]
)
def test_a_huge_value_is_refused_by_sqlite(sqlite_file: Path, value: str) -> None:
    assert "larger than 1 MB" in refusal(str(sqlite_file), f"SELECT {value}")


@pytest.mark.parametrize("reading_url", ["sqlite"], indirect=True)
def test_many_large_values_are_cut(reading_url: str) -> None:
    many = (
        "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 1000)"
        " SELECT hex(zeroblob(400000)) FROM c"
    )
    result = run_read_only(reading_url, many)
    assert result.cut_by is Cut.BYTES
    assert len(result.rows) * 800_000 < 2 * LARGEST_RESULT_BYTES


def test_large_results_are_cut_on_postgresql(postgres_templates: dict[str, str]) -> None:
    many = "SELECT repeat('x', 4000000) FROM generate_series(1, 1000)"
    result = run_read_only(postgres_templates["shipped"], many)
    assert result.cut_by is Cut.BYTES
    assert len(result.rows) * 4_000_000 < 3 * LARGEST_RESULT_BYTES


def test_a_long_statement_is_refused(sqlite_file: Path) -> None:
    assert "\n" not in refusal(str(sqlite_file), "SELECT " + "1 + " * 100_000 + "1")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, " * 100)
    with pytest.raises(NotADatabaseError):
        run_read_only(str(path), "SELECT * FROM clusters")
    with pytest.raises(UnreachableError):
        run_read_only(str(tmp_path / "none.db"), "SELECT 1")
    assert [file.name for file in tmp_path.iterdir()] == ["notes.txt"]


def test_no_server(tmp_path: Path) -> None:
    with pytest.raises(UnreachableError) as caught:
        run_read_only("postgresql://me:s3cret@127.0.0.1:1/d", "SELECT 1")
    assert "s3cret" not in str(caught.value)
