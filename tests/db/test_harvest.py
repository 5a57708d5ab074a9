"""Harvesting: runs become operating points, again and again the same, new runs included."""

import json
import multiprocessing
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.export import export
from db.files import bundle_rows, bundle_text
from db.harvest import harvest
from db.ingest import ingest
from db.load import load_rows
from db.migrate import check
from db.queries import change_token, cluster_evidence
from db.records import Evidence, OperatingPoint, Quantity
from db.session import open_engine, reading
from tests.db import run_records

A2 = "mybox/a2/ft9/resnet50-cpu/cpu/f1/w8/t10/round5/group-timeout/cpu-gloo/torch-2.13.0+cpu"


@pytest.fixture
def engine(shipped_url: str) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    yield made
    made.dispose()


def rows(engine: Engine, statement: str) -> list[tuple[Any, ...]]:
    with reading(engine) as connection:
        return [tuple(row) for row in connection.exec_driver_sql(statement).all()]


def stored(engine: Engine) -> list[list[tuple[Any, ...]]]:
    tables = ("operating_points", "operating_point_values", "runs")
    return [sorted(rows(engine, f"SELECT * FROM {table}"), key=repr) for table in tables]


def token(engine: Engine) -> str:
    """SQLite's file as it was last written; PostgreSQL counts every transaction, so nothing."""
    if engine.dialect.name == "postgresql":
        return ""
    with reading(engine) as connection:
        return change_token(connection)


def points(engine: Engine) -> dict[str, OperatingPoint]:
    with reading(engine) as connection:
        return {p.point_id: p for p in cluster_evidence(connection, "mybox").points}


def take(engine: Engine, folder: Path, *records: dict[str, Any]) -> None:
    run_records.write(folder, *records)
    assert ingest(engine, folder).refused == ()


def test_valid_runs_become_points(engine: Engine, shipped_url: str, tmp_path: Path) -> None:
    take(
        engine,
        tmp_path,
        *(run_records.record(seed=seed, rate=39.0 + seed) for seed in range(3)),
        run_records.invalid(run_records.record(seed=3, rate=1.0)),
        run_records.record("a6", rate=10.0, after_rate=12.0),
        run_records.record(trace=None),
    )
    report = harvest(engine, "mybox")
    assert (report.added, report.updated, report.unchanged, report.points) == (3, 0, 0, 3)
    found = points(engine)
    point = found[A2]
    assert (point.group_timeout_s, point.world_size, point.trace) == (10.0, 8, "F1")
    assert (point.state_bytes, point.batch_per_rank) == (2_000_000, 8)
    throughput = point.values[Quantity.THROUGHPUT]
    assert (throughput.value, throughput.n) == (40.0, 3)
    assert throughput.evidence is Evidence.MEASURED
    assert throughput.source_id == "measured/mybox"
    assert "detector group-timeout, group timeout 10 s" in throughput.conditions
    assert rows(engine, "SELECT seed FROM runs WHERE point_id IS NULL") == [(3,)]
    linked = f"SELECT COUNT(*) FROM runs WHERE point_id = '{A2}'"
    assert rows(engine, linked) == [(3,)]
    assert check(shipped_url).problems == ()


def test_runs_of_a_mechanism_give_what_advice_needs(engine: Engine, tmp_path: Path) -> None:
    take(
        engine,
        tmp_path,
        *(run_records.mechanism_record(seed=seed, restore_s=0.25 + seed) for seed in range(2)),
        run_records.mechanism_record(trace=None),
        run_records.infeasible(),
    )
    assert harvest(engine, "mybox").points == 2
    (point,) = [point for point in points(engine).values() if point.trace == "F1"]
    assert (point.interval_steps, point.replicas, point.outcome) == (10, 0, "complete")
    assert "/spare/" in point.point_id
    found = {quantity: value.value for quantity, value in point.values.items()}
    assert found[Quantity.OVERHEAD] == 0.02
    assert found[Quantity.SAVE] == 0.125
    assert found[Quantity.RESTORE] == 0.75
    assert found[Quantity.RECOVERY] == 1.75
    assert found[Quantity.LOST_STEPS] == 10.0
    assert found[Quantity.RESUMED] == 1.0
    assert harvest(engine, "mybox").unchanged == 2


def test_again_changes_nothing_and_new_runs_are_counted_in(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path, run_records.record(), run_records.record("a6", after_rate=12.0))
    harvest(engine, "mybox")
    before = stored(engine), token(engine)
    again = harvest(engine, "mybox")
    assert (again.added, again.updated, again.unchanged) == (0, 0, 2)
    assert (stored(engine), token(engine)) == before
    take(engine, tmp_path, run_records.record(seed=1, rate=50.0))
    more = harvest(engine, "mybox")
    assert (more.added, more.updated, more.unchanged) == (0, 1, 1)
    value = points(engine)[A2].values[Quantity.THROUGHPUT]
    assert (value.value, value.n) == (45.0, 2)


def test_what_was_published_stays(engine: Engine, tmp_path: Path) -> None:
    published = "SELECT * FROM operating_point_values WHERE point_id LIKE 'matilda%%'"
    if engine.dialect.name == "sqlite":
        published = published.replace("%%", "%")
    before = sorted(rows(engine, published), key=repr)
    take(engine, tmp_path, run_records.record())
    harvest(engine, "mybox")
    assert harvest(engine, "matilda-8xv100").points == 0
    assert sorted(rows(engine, published), key=repr) == before


def test_a_deadline_is_no_detection(engine: Engine, tmp_path: Path) -> None:
    late = run_records.record(detected_s=120.0, censored=True, outcome="hang")
    take(engine, tmp_path, late, run_records.record(seed=1))
    harvest(engine, "mybox")
    detection = points(engine)[A2].values[Quantity.DETECTION]
    assert (detection.value, detection.n) == (10.25, 1)
    assert "not detected within 120 s in 1 of 2 runs" in detection.conditions


def test_a_bundle_carries_measured_points(
    engine: Engine, shipped_url: str, tmp_path: Path, sqlite_templates: dict[str, Path]
) -> None:
    take(engine, tmp_path, *(run_records.record(seed=seed, rate=40.1 + seed) for seed in range(3)))
    harvest(engine, "mybox")
    bundle = export(shipped_url, "mybox")
    target = tmp_path / "other.db"
    target.write_bytes(sqlite_templates["shipped"].read_bytes())
    read = json.loads(bundle_text(bundle), parse_float=Decimal)
    load_rows(str(target), bundle_rows(read, "bundle"))
    other = open_engine(str(target))
    assert points(other) == points(engine)
    other.dispose()


def test_a_point_that_a_bundle_brought_is_not_replaced_by_fewer_runs(
    engine: Engine, shipped_url: str, tmp_path: Path, sqlite_templates: dict[str, Path]
) -> None:
    made = [run_records.record(seed=seed, rate=40.1 + seed) for seed in range(3)]
    take(engine, tmp_path / "first", *made)
    harvest(engine, "mybox")
    bundle = export(shipped_url, "mybox")
    target = tmp_path / "other.db"
    target.write_bytes(sqlite_templates["shipped"].read_bytes())
    load_rows(str(target), bundle_rows(bundle, "bundle"))
    other = open_engine(str(target))
    take(other, tmp_path / "here", run_records.record(seed=9), run_records.record("a6"))
    report = harvest(other, "mybox")
    assert (report.points, report.added, report.updated, report.kept) == (2, 1, 0, 1)
    assert points(other)[A2] == points(engine)[A2]
    assert rows(other, "SELECT COUNT(*) FROM runs WHERE point_id IS NULL") == [(1,)]
    # Where its own runs come after it, it is theirs, and goes on with what is measured.
    third = tmp_path / "third.db"
    third.write_bytes(sqlite_templates["shipped"].read_bytes())
    load_rows(str(third), bundle_rows(bundle, "bundle"))
    whole = open_engine(str(third))
    take(whole, tmp_path / "all", *made)
    assert harvest(whole, "mybox").unchanged == 1
    take(whole, tmp_path / "more", run_records.record(seed=9))
    assert harvest(whole, "mybox").updated == 1
    for each in (other, whole):
        each.dispose()


def harvest_at_once(url: str) -> None:
    engine = open_engine(url)
    harvest(engine, "mybox")
    engine.dispose()


def test_two_harvests_at_once(engine: Engine, shipped_url: str, tmp_path: Path) -> None:
    take(engine, tmp_path, *(run_records.record(seed=seed) for seed in range(3)))
    context = multiprocessing.get_context("spawn")
    both = [context.Process(target=harvest_at_once, args=(shipped_url,)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(100)
    assert [process.exitcode for process in both] == [0, 0]
    assert set(points(engine)) == {A2}


def test_a_run_with_monitors_makes_no_point(engine: Engine, tmp_path: Path) -> None:
    """Whatever named them: a file of a campaign stands in its command by its name only."""
    take(engine, tmp_path, run_records.record(monitoring=[run_records.monitoring()]))
    assert points(engine) == {}
    assert rows(engine, "SELECT COUNT(*) FROM runs WHERE cluster = 'mybox'") == [(1,)]
