"""What rows of monitors say together: cost, faults that struck and were noticed, false alarms."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.ingest import ingest
from db.rebuild import rebuild
from db.session import open_engine, reading
from tests.db import run_records


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def seen(engine: Engine) -> list[dict[str, Any]]:
    statement = "SELECT * FROM detector_view WHERE cluster = 'mybox' ORDER BY monitor"
    with reading(engine) as connection:
        return [dict(row) for row in connection.exec_driver_sql(statement).mappings()]


def flipped(seed: int, monitoring: dict[str, Any]) -> dict[str, Any]:
    """A run in which a bit was flipped, under one monitor."""
    return run_records.of_kind(
        "flip-parameter", run_records.record(seed=seed, monitoring=[monitoring])
    )


def test_what_struck_was_noticed_or_missed(engine: Engine, tmp_path: Path) -> None:
    missed = {**run_records.monitoring(), "suspicions": [], "overhead_fraction": 0.04}
    alarm = {**run_records.monitoring(fault=None, after_s=None, after_steps=None, right_rank=None)}
    made = [
        flipped(0, run_records.monitoring()),
        flipped(1, missed),
        run_records.record(trace=None, seed=2, monitoring=[{**alarm, "false_alarms": 1}]),
    ]
    run_records.write(tmp_path, *made)
    assert ingest(engine, tmp_path).refused == ()
    (row,) = seen(engine)
    assert (row["architecture"], row["monitor"], row["interval_steps"]) == ("a2", "digest", 10)
    assert (row["runs"], row["checks"]) == (3, 9)
    assert (row["struck"], row["noticed"], row["right_rank"]) == (2, 1, 1)
    assert (row["false_alarms"], row["after_steps"], row["after_s"]) == (1, 5, 0.5)
    assert row["overhead_fraction"] == pytest.approx((0.02 + 0.04 + 0.02) / 3)
    assert rebuild(engine).differed == ()


def test_a_crash_is_none_of_a_monitors_business(engine: Engine, tmp_path: Path) -> None:
    run_records.write(tmp_path, run_records.record(monitoring=[run_records.monitoring()]))
    assert ingest(engine, tmp_path).refused == ()
    assert [(row["struck"], row["noticed"]) for row in seen(engine)] == [(0, 0)]


def test_a_fault_is_noticed_once(engine: Engine, tmp_path: Path) -> None:
    twice = run_records.monitoring()
    twice["suspicions"] = [*twice["suspicions"], {**twice["suspicions"][0], "at_s": 4.5}]
    run_records.write(tmp_path, flipped(0, twice))
    assert ingest(engine, tmp_path).refused == ()
    assert [(row["noticed"], row["right_rank"]) for row in seen(engine)] == [(1, 1)]


def test_a_slow_rank_is_for_the_monitor_of_stragglers(engine: Engine, tmp_path: Path) -> None:
    both = [
        {**run_records.monitoring(), "monitor": name, "suspicions": []}
        for name in ("digest", "stragglers")
    ]
    made = run_records.record(monitoring=both)
    run_records.write(tmp_path, run_records.of_kind("straggler", made))
    assert ingest(engine, tmp_path).refused == ()
    assert [(row["monitor"], row["struck"]) for row in seen(engine)] == [
        ("digest", 0),
        ("stragglers", 1),
    ]
