"""Real files of every released schema can be upgraded and read. See tests/fixtures/README.md."""

import shutil
from pathlib import Path

import pytest

from db.migrate import check, upgrade
from db.queries import cluster_evidence, get_recommendation
from db.records import Quantity
from db.schema import REVISIONS, read_revision, table_names
from db.session import open_engine, reading
from db.views import VIEWS

FOLDER = Path(__file__).parents[1] / "fixtures" / "databases"
FILES = sorted(FOLDER.glob("schema-*.db"))


def test_there_is_a_file_of_every_schema() -> None:
    assert [file.stem.removeprefix("schema-") for file in FILES] == list(REVISIONS)


@pytest.fixture(params=FILES, ids=lambda file: str(file.stem))
def old_database(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    shutil.copy(request.param, path)
    return path


def test_it_has_the_schema_that_its_name_says(old_database: Path) -> None:
    engine = open_engine(str(old_database))
    assert read_revision(engine) in REVISIONS
    with reading(engine) as connection:
        for name in sorted(table_names(connection) - set(VIEWS)):
            assert connection.exec_driver_sql(f"SELECT COUNT(*) FROM {name}").scalar() == 1
    engine.dispose()


def test_it_is_upgraded_with_its_rows(old_database: Path) -> None:
    done = upgrade(str(old_database))
    assert (done.backup is None) == (done.before == REVISIONS[-1])
    assert check(str(old_database)).problems == ()
    engine = open_engine(str(old_database))
    with reading(engine) as connection:
        (point,) = cluster_evidence(connection, "tiny").points
        saved = get_recommendation(connection, "20260131-aaaaaaaa")
    engine.dispose()
    assert point.values[Quantity.OVERHEAD].value == 0.0048
    assert saved.summary.scenario_name == "mine"
