"""The history of the schema: up and down, and equal to the models."""

import multiprocessing
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from db.errors import (
    EmptyDatabaseError,
    NotADatabaseError,
    NotFoundError,
    SchemaMismatchError,
    UnreachableError,
)
from db.migrate import _create_empty, check, described, downgrade, upgrade
from db.models import Base
from db.resources import resource_dir
from db.schema import HEAD, REVISIONS, check_schema, read_revision, table_names
from db.session import open_engine, reading, writing
from db.views import VIEWS
from tests.db.good_rows import GOOD


def test_the_code_knows_every_revision_and_the_head() -> None:
    scripts = ScriptDirectory(str(resource_dir("migrations")))
    assert scripts.get_heads() == [HEAD]
    assert [script.revision for script in scripts.walk_revisions()][::-1] == list(REVISIONS)


def test_a_migrated_database_equals_the_models(database_url: str) -> None:
    """Tables, columns, keys, CHECKs and views."""
    assert check(database_url).problems == ()


def test_up_down_and_up_again(empty_url: str) -> None:
    assert upgrade(empty_url).after == HEAD
    assert names(empty_url) == {*Base.metadata.tables, *VIEWS, "alembic_version"}
    assert downgrade(empty_url, "base").after is None
    assert names(empty_url) == {"alembic_version"}
    assert upgrade(empty_url).before is None
    assert check(empty_url).problems == ()


def layout(url: str) -> dict[str, Any]:
    """Columns, keys, CHECKs, views and indexes, and on SQLite whether each table is STRICT."""
    engine = open_engine(url)
    with reading(engine) as connection:
        found: dict[str, Any] = dict(described(connection))
        inspector = inspect(connection)
        for table in inspector.get_table_names():
            columns = inspector.get_columns(table)
            found[table] = (
                sorted((c["name"], str(c["type"]), c["nullable"], c["default"]) for c in columns),
                sorted(str(key) for key in inspector.get_foreign_keys(table)),
                sorted(str(index) for index in inspector.get_indexes(table)),
                inspector.get_pk_constraint(table),
            )
        if connection.dialect.name == "sqlite":
            tables = "SELECT name, sql LIKE '%STRICT' FROM sqlite_master WHERE type = 'table'"
            found |= {f"strict {n}": s for n, s in connection.exec_driver_sql(tables).all()}
    engine.dispose()
    return found


@pytest.mark.parametrize("position", range(len(REVISIONS) - 1), ids=REVISIONS[:-1])
def test_a_downgrade_leaves_what_the_older_revision_made(empty_url: str, position: int) -> None:
    older = REVISIONS[position]
    upgrade(empty_url, older)
    made = layout(empty_url)
    upgrade(empty_url)
    assert layout(empty_url) != made
    downgrade(empty_url, older)
    assert layout(empty_url) == made


def test_0002_down_drops_runs_that_0001_cannot_hold(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
        digest = {"record_sha256": "1" * 64, "state_bytes": None, "run_id": "first/2"}
        connection.execute(Base.metadata.tables["runs"].insert(), {**GOOD["runs"], **digest})
        event = {**GOOD["fault_events"], "run_id": "first/2"}
        connection.execute(Base.metadata.tables["fault_events"].insert(), event)
    engine.dispose()
    downgrade(database_url, "0001")
    engine = open_engine(database_url)
    with reading(engine) as connection:
        runs = connection.exec_driver_sql("SELECT run_id, state_bytes FROM runs").all()
        events = connection.exec_driver_sql("SELECT run_id, detected_s FROM fault_events").all()
    engine.dispose()
    assert [tuple(row) for row in runs] == [("first/1", 204_700_000)]
    assert [tuple(row) for row in events] == [("first/1", 0.25)]
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0003_down_drops_the_numbers_that_0002_does_not_know(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
        overhead = {**GOOD["run_values"], "quantity": "overhead_fraction", "value": -0.5}
        connection.execute(Base.metadata.tables["run_values"].insert(), overhead)
    engine.dispose()
    downgrade(database_url, "0002")
    engine = open_engine(database_url)
    with reading(engine) as connection:
        found = connection.exec_driver_sql("SELECT quantity, value FROM run_values").all()
        runs = connection.exec_driver_sql("SELECT run_id FROM runs").scalars().all()
    engine.dispose()
    assert [tuple(row) for row in found] == [("step_s", 0.25)]
    assert runs == ["first/1"]
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0004_down_drops_calibrations_and_nothing_else(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    downgrade(database_url, "0003")
    assert not any(name.startswith("calibration_") for name in names(database_url))
    engine = open_engine(database_url)
    with reading(engine) as connection:
        published = connection.exec_driver_sql("SELECT calibration_id FROM calibrations").scalars()
        assert published.all() == ["tiny/read"]
        runs = connection.exec_driver_sql("SELECT run_id FROM runs").scalars().all()
    engine.dispose()
    assert runs == ["first/1"]
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0005_down_keeps_campaigns_and_runs_without_their_plans(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    downgrade(database_url, REVISIONS[REVISIONS.index("0005") - 1])
    engine = open_engine(database_url)
    with reading(engine) as connection:
        runs = connection.exec_driver_sql("SELECT run_id, campaign FROM runs").all()
        left = table_names(connection)
    engine.dispose()
    assert [tuple(row) for row in runs] == [("first/1", "first")]
    assert left.isdisjoint({"campaign_plans", "campaign_cells"})
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0006_down_keeps_the_runs_of_validations(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    downgrade(database_url, "0005")
    engine = open_engine(database_url)
    with reading(engine) as connection:
        runs = connection.exec_driver_sql("SELECT run_id FROM runs").scalars().all()
        left = table_names(connection)
    engine.dispose()
    assert runs == ["first/1"]
    assert left.isdisjoint({"validations", "validation_runs"})
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0007_down_drops_failure_estimates_and_nothing_else(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    downgrade(database_url, "0007")
    before = names(database_url)
    downgrade(database_url, "0006")
    assert before - names(database_url) == {"failure_estimates"}
    engine = open_engine(database_url)
    with reading(engine) as connection:
        kept = connection.exec_driver_sql("SELECT validation FROM validations").scalars().all()
    engine.dispose()
    assert kept == ["20260131-aaaaaaaa"]
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0008_gives_each_run_of_a_validation_its_step_time(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    assert step_times(database_url) == [0.051]
    downgrade(database_url, "0007")
    upgrade(database_url)
    assert check(database_url).problems == ()
    assert step_times(database_url) == [0.05]


def test_0010_keeps_runs_and_points_without_their_nodes(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    assert domains(database_url) == [(3, "node"), (3, "node")]
    downgrade(database_url, REVISIONS[REVISIONS.index("0010") - 1])
    upgrade(database_url)
    assert check(database_url).problems == ()
    assert domains(database_url) == [(None, None), (None, None)]


def test_0013_down_drops_what_monitors_did_and_up_makes_it_again(database_url: str) -> None:
    before = names(database_url)
    downgrade(database_url, "0012")
    assert before - names(database_url) == {"run_monitors", "detector_view"}
    upgrade(database_url)
    assert check(database_url).problems == ()


def test_0012_down_drops_drills_and_keeps_their_runs(database_url: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        for name, row in GOOD.items():
            connection.execute(Base.metadata.tables[name].insert(), row)
    engine.dispose()
    before = names(database_url)
    downgrade(database_url, "0011")
    later = {"run_monitors", "detector_view"}
    assert before - names(database_url) == {"drills", "drill_view"} | later
    engine = open_engine(database_url)
    with reading(engine) as connection:
        runs = connection.exec_driver_sql("SELECT run_id, campaign FROM runs").all()
    engine.dispose()
    assert [tuple(row) for row in runs] == [("first/1", "first")]
    upgrade(database_url)
    assert check(database_url).problems == ()


def domains(url: str) -> list[tuple[int | None, str | None]]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = [
            tuple(row)
            for table in ("runs", "operating_point_view")
            for row in connection.exec_driver_sql(f"SELECT nodes, failure_domain FROM {table}")
        ]
    engine.dispose()
    return found


def step_times(url: str) -> list[float]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = connection.exec_driver_sql("SELECT step_time_s FROM validation_view")
        times = [float(each) for each in found.scalars()]
    engine.dispose()
    return times


def test_a_second_upgrade_has_nothing_to_do(database_url: str) -> None:
    done = upgrade(database_url)
    assert (done.before, done.after, done.backup) == (HEAD, HEAD, None)


def names(url: str) -> set[str]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = table_names(connection)
        if connection.dialect.name == "sqlite":
            found |= {"alembic_version"} & set(found)
    engine.dispose()
    return found


def set_revision(url: str, revision: str) -> None:
    engine = open_engine(url)
    with writing(engine) as connection:
        connection.exec_driver_sql(f"UPDATE alembic_version SET version_num = '{revision}'")
    engine.dispose()


def problem(url: str, error: type[Exception]) -> str:
    engine = open_engine(url)
    with pytest.raises(error) as caught:
        check_schema(engine)
    engine.dispose()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_newer_schema_is_refused(database_url: str) -> None:
    set_revision(database_url, "9999")
    assert "upgrade the program" in problem(database_url, SchemaMismatchError)
    with pytest.raises(NotFoundError, match=r"9999.*upgrade the program"):
        upgrade(database_url)


def test_the_schema_of_another_program_is_not_called_newer(database_url: str) -> None:
    set_revision(database_url, "ae1027a6acf")
    assert "another program's database" in problem(database_url, NotADatabaseError)


def upgrade_at_once(url: str) -> None:
    upgrade(url)


def test_two_upgrades_at_once_make_one_schema(empty_url: str) -> None:
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=upgrade_at_once, args=(empty_url,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert check(empty_url).problems == ()


def test_many_that_make_one_sqlite_file_at_once_all_find_it(tmp_path: Path) -> None:
    """SQLite refuses without waiting where two set the mode of a new file."""
    paths = [tmp_path / f"{number}.db" for number in range(40) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(_create_empty, paths))
    for path in set(paths):
        with closing(sqlite3.connect(path)) as connection:
            assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert not list(tmp_path.glob("*.tmp"))


def test_an_older_schema_names_the_command(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("db.schema.REVISIONS", ("0000", HEAD))
    set_revision(database_url, "0000")
    assert "advisor db upgrade --db" in problem(database_url, SchemaMismatchError)


def test_an_empty_database_is_told_from_a_strange_one(database_url: str) -> None:
    downgrade(database_url, "base")
    assert "advisor db upgrade" in problem(database_url, EmptyDatabaseError)


def test_an_unknown_revision_lists_those_that_there_are(database_url: str) -> None:
    with pytest.raises(
        NotFoundError, match=f"no revision 'x': there is {', '.join(REVISIONS)}, head, base"
    ):
        upgrade(database_url, "x")


def test_a_downgrade_backs_the_file_up_and_never_overwrites_a_backup(sqlite_file: Path) -> None:
    first = downgrade(str(sqlite_file), "base").backup
    upgrade(str(sqlite_file))
    second = downgrade(str(sqlite_file), "base").backup
    assert first is not None
    assert second is not None
    assert [first.name, second.name] == [
        f"shipped.db.backup-{HEAD}",
        f"shipped.db.backup-{HEAD}-2",
    ]
    assert check(str(first)).problems == ()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ("DROP VIEW evidence_view", "view evidence_view is missing"),
        ("CREATE VIEW mine AS SELECT 1 AS one", "view mine is not part of the schema"),
        ("CREATE TABLE mine (a INTEGER)", "mine"),
        ("DROP INDEX ix_calibrations_cluster", "ix_calibrations_cluster"),
        ("ALTER TABLE clusters ADD COLUMN mood TEXT", "mood"),
    ],
)
def test_check_names_what_differs(database_url: str, change: str, named: str) -> None:
    engine = open_engine(database_url)
    with writing(engine) as connection:
        connection.exec_driver_sql(change)
    engine.dispose()
    problems = check(database_url).problems
    assert len(problems) == 1
    assert named in problems[0]


def test_check_sees_a_changed_constraint(sqlite_file: Path) -> None:
    engine = open_engine(str(sqlite_file))
    with writing(engine) as connection:
        connection.exec_driver_sql("PRAGMA writable_schema=ON")
        connection.exec_driver_sql(
            "UPDATE sqlite_master SET sql = replace(sql, 'nodes >= 1', 'nodes >= 0')"
            " WHERE name = 'clusters'"
        )
    engine.dispose()
    (only,) = check(str(sqlite_file)).problems
    assert "check ck_clusters_nodes_at_least_1 of clusters is 'nodes >= 0'" in only


def test_read_revision_of_a_database_without_tables(empty_url: str) -> None:
    if empty_url.startswith("sqlite"):
        Path(empty_url.removeprefix("sqlite:///")).touch()
    engine = open_engine(empty_url)
    assert read_revision(engine) is None
    engine.dispose()


def test_a_link_may_lead_to_a_database_that_is_not_there_yet(tmp_path: Path) -> None:
    link = tmp_path / "link.db"
    link.symlink_to(tmp_path / "there.db")
    assert upgrade(str(link)).after == HEAD
    assert link.is_symlink()
    assert check(str(tmp_path / "there.db")).problems == ()


def test_a_folder_that_is_a_file_is_said_in_the_words_of_the_user(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnreachableError, match=r"file/x\.db cannot be made"):
        upgrade(str(tmp_path / "file" / "x.db"))
