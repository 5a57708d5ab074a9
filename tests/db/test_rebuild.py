"""What was computed from records equals what is computed from them again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from db.harvest import harvest
from db.ingest import ingest
from db.models import Base
from db.rebuild import rebuild
from db.session import open_engine, reading, writing
from tests.db import run_records

_TABLES = ("runs", "run_values", "fault_events", "recovery_phases", "run_recoveries", "run_saves")
_ROLLUPS = ("operating_points", "operating_point_values")


@pytest.fixture
def measured(shipped_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A database with runs of several kinds, pooled."""
    run_records.write(
        tmp_path / "runs",
        *(run_records.record(seed=seed, rate=39.0 + seed) for seed in range(3)),
        *(run_records.mechanism_record(seed=seed) for seed in range(2)),
        run_records.mechanism_record(trace=None),
        run_records.mechanism_record("ft4"),
        run_records.infeasible(),
    )
    engine = open_engine(shipped_url)
    assert ingest(engine, tmp_path / "runs").refused == ()
    harvest(engine, run_records.CLUSTER)
    yield engine
    engine.dispose()


def contents(engine: Engine) -> dict[str, list[str]]:
    with reading(engine) as connection:
        return {
            name: sorted(repr(tuple(row)) for row in connection.execute(table.select()))
            for name, table in Base.metadata.tables.items()
            if name in (*_TABLES, *_ROLLUPS)
        }


def test_what_is_stored_is_what_the_records_say(measured: Engine) -> None:
    before = contents(measured)
    report = rebuild(measured)
    assert (report.runs, report.differed, report.damaged) == (8, (), ())
    assert [(each.added, each.updated) for each in report.harvests] == [(0, 0)]
    assert contents(measured) == before


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE run_values SET value = value * 2 WHERE quantity = 'step_s'",
        "DELETE FROM recovery_phases",
        "DELETE FROM run_saves WHERE run_id LIKE '%s1'",
        "UPDATE runs SET wall_s = 1.0 WHERE seed = 1",
        "UPDATE operating_point_values SET value = 0.5 WHERE quantity = 'overhead_fraction'"
        " AND point_id LIKE 'mybox%'",
        "DELETE FROM operating_point_values WHERE quantity = 'restore_s'"
        " AND point_id LIKE 'mybox%'",
    ],
)
def test_whatever_was_changed_by_hand_is_as_it_was(measured: Engine, change: str) -> None:
    before = contents(measured)
    with writing(measured) as connection:
        assert connection.execute(text(change)).rowcount > 0
    report = rebuild(measured)
    assert contents(measured) == before
    assert report.differed or any(each.updated for each in report.harvests)


def test_a_record_that_was_changed_is_named_and_not_believed(measured: Engine) -> None:
    before = contents(measured)
    with writing(measured) as connection:
        statement = "UPDATE run_records SET record = REPLACE(record, '40.0', '80.0')"
        connection.execute(text(f"{statement} WHERE run_id LIKE '%ft9-f1-s1'"))
    report = rebuild(measured)
    (damaged,) = report.damaged
    assert damaged.endswith("ft9-f1-s1")
    assert contents(measured) == before
