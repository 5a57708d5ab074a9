"""Many processes write at once while their sessions are ended and the server restarts: every run is
there, once, with all that belongs to it."""

import time
from pathlib import Path
from typing import Any

import psycopg
import pytest

from db.harvest import harvest
from db.ingest import ingest
from db.load import load
from db.migrate import check, upgrade
from db.session import open_engine, reading
from tests.db.postgres import PostgresServer
from tests.integration.writers import Killer, exit_codes, started, write_records

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

SEED = 20261130
_EVERYTHING = (
    *("run_records", "run_values", "fault_events", "detections", "recovery_phases"),
    *("run_recoveries", "run_saves", "emergency_saves", "run_monitors"),
)


def counts(url: str) -> dict[str, int]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = {
            table: int(connection.exec_driver_sql(f"SELECT COUNT(*) FROM {table}").scalar_one())
            for table in ("runs", *_EVERYTHING)
        }
    engine.dispose()
    return found


def assert_whole(url: str, folder: Path, tmp_path: Path, runs: int) -> None:
    """As one process alone would have left it: the same rows, and the same operating points."""
    alone = str(tmp_path / "alone.db")
    upgrade(alone)
    load(alone)
    engine = open_engine(alone)
    assert len(ingest(engine, folder).new) == runs
    harvest(engine, "mybox")
    engine.dispose()
    engine = open_engine(url)
    assert len(ingest(engine, folder).known) == runs
    harvest(engine, "mybox")
    engine.dispose()
    assert counts(url) == counts(alone)
    assert counts(url)["runs"] == runs
    points = "SELECT point_id, quantity, value, n FROM operating_point_values ORDER BY 1, 2"
    assert sorted(map(repr, asked(url, points))) == sorted(map(repr, asked(alone, points)))
    assert check(url).problems == ()


def asked(url: str, statement: str) -> list[tuple[Any, ...]]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = [tuple(row) for row in connection.exec_driver_sql(statement).all()]
    engine.dispose()
    return found


def reached(url: str, runs: int) -> int:
    """Waits until so many runs are stored; how many there are then."""
    deadline = time.monotonic() + 120.0
    while time.monotonic() < deadline:
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                row = connection.execute("SELECT COUNT(*) FROM runs").fetchone()
        except psycopg.OperationalError:  # our own session was ended
            continue
        stored = row[0] if row else 0
        if stored >= runs:
            return int(stored)
        time.sleep(0.01)
    raise AssertionError(f"not even {runs} runs were stored")


def test_sixteen_into_postgresql_through_kills_and_restarts(
    own_postgres: PostgresServer, tmp_path: Path
) -> None:
    writers, runs = 16, 50
    folder = tmp_path / "runs"
    write_records(folder, writers, runs)
    url = own_postgres.create_database()
    upgrade(url)
    load(url)
    processes = started(url, folder, writers)
    killer = Killer(own_postgres, url.rpartition("/")[2], SEED)
    killer.start()
    for mode, after in (("fast", 200), ("immediate", 500)):
        stored = reached(url, after)
        assert stored < writers * runs, "the writers were done before the server restarted"
        own_postgres.stop(mode)
        own_postgres.start()
    codes = exit_codes(processes, 150.0)
    killer.stop()
    assert codes == [0] * writers
    assert killer.killed > 10
    assert_whole(url, folder, tmp_path, writers * runs)


def test_eight_into_sqlite(tmp_path: Path) -> None:
    writers, runs = 8, 20
    folder = tmp_path / "runs"
    write_records(folder, writers, runs)
    url = str(tmp_path / "advisor.db")
    upgrade(url)
    load(url)
    assert exit_codes(started(url, folder, writers), 150.0) == [0] * writers
    assert_whole(url, folder, tmp_path, writers * runs)
