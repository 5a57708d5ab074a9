"""Drills: what is expected first, results from the runs, and never evidence themselves."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.drill_queries import drills_of, drills_of_campaign, struck_runs
from db.drill_store import settle_drills, store_drills
from db.harvest import harvest
from db.ingest import ingest
from db.queries import cluster_evidence, evidence_version
from db.rebuild import rebuild
from db.records import Drilled, DrillResult
from db.session import open_engine, reading, writing
from tests.db import run_records
from tests.db.drill_rows import CAMPAIGN, crash, drilling, expected

PASSES, LOSES = crash(), crash("ft2", recoveries__0__lost_steps=11)
HALTS = drilling(run_records.record(cell__trace="drill-crash@1a2b3c4d"))
INVALID = run_records.invalid(crash("ft3"), "rank 1 ended unplanned: SIGSEGV")


@pytest.fixture
def engine(shipped_url: str, tmp_path: Path) -> Iterator[Engine]:
    """A cluster with one ordinary run."""
    made = open_engine(shipped_url)
    take(made, tmp_path / "before", run_records.mechanism_record(seed=5))
    yield made
    made.dispose()


def take(engine: Engine, folder: Path, *records: dict[str, Any]) -> None:
    run_records.write(folder, *records)
    assert ingest(engine, folder).refused == ()


def drills(engine: Engine) -> dict[str, Drilled]:
    with reading(engine) as connection:
        return {each.mechanism: each for each in drills_of_campaign(connection, CAMPAIGN)}


def test_results_come_from_the_runs_once(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", PASSES, LOSES, HALTS, INVALID)
    store_drills(engine, [expected(each) for each in (PASSES, LOSES, HALTS, INVALID)])
    assert {each.result for each in drills(engine).values()} == {DrillResult.PLANNED}
    with reading(engine) as connection:
        assert drills_of(connection, run_records.CLUSTER) == ()
    assert settle_drills(engine) == 4
    assert settle_drills(engine) == 0
    found = drills(engine)
    assert {name: (each.result.value, each.reason) for name, each in found.items()} == {
        "ft1": ("passed", ""),
        "ft2": ("failed", "it lost 11 steps, expected 10 at most"),
        "ft3": ("failed", "its run shows nothing: rank 1 ended unplanned: SIGSEGV"),
        "ft9": ("failed", "its outcome was halted, expected recovered"),
    }
    assert (found["ft1"].tried_at, found["ft1"].wall_s) == ("2026-11-29T22:15:00Z", 21.5)
    assert found["ft9"].outcome == "halted"
    with reading(engine) as connection:
        assert len(drills_of(connection, run_records.CLUSTER)) == 4
        assert drills_of(connection, "elsewhere") == ()


def test_what_is_still_to_run_is_planned(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", PASSES)
    later = expected(crash("ft6"))
    store_drills(engine, [expected(PASSES), later])
    assert settle_drills(engine) == 1
    found = drills(engine)["ft6"]
    assert (found.result, found.outcome, found.wall_s) == (DrillResult.PLANNED, None, None)
    assert found.tried_at == later["planned_at"]


def test_a_finding_of_a_monitor_is_read_from_the_record(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", PASSES)
    store_drills(engine, [expected(PASSES, noticed_by="digest")])
    settle_drills(engine)
    assert drills(engine)["ft1"].reason == "the monitor digest found nothing"
    found = json.dumps({"monitoring": [{"monitor": "digest:5", "suspicions": [{"step": 25}]}]})
    with writing(engine) as connection:
        statement = f"UPDATE run_records SET record = '{found}' WHERE run_id = '{PASSES['run_id']}'"
        connection.exec_driver_sql(statement)
    assert settle_drills(engine) == 1
    assert drills(engine)["ft1"].result is DrillResult.PASSED


def test_a_drill_is_no_evidence(engine: Engine, tmp_path: Path) -> None:
    harvest(engine, run_records.CLUSTER)
    with reading(engine) as connection:
        before = cluster_evidence(connection, run_records.CLUSTER)
    take(engine, tmp_path / "runs", PASSES, LOSES)
    store_drills(engine, [expected(PASSES), expected(LOSES)])
    settle_drills(engine)
    assert harvest(engine, run_records.CLUSTER).unchanged == 1
    with reading(engine) as connection:
        after = cluster_evidence(connection, run_records.CLUSTER)
    assert after.points == before.points
    assert [each.mechanism for each in after.drills] == ["ft1", "ft2"]
    # Answers say what drills showed, so theirs is another version of the evidence.
    assert evidence_version(after) != evidence_version(before)


def test_results_are_computed_again_by_a_rebuild(engine: Engine, tmp_path: Path) -> None:
    take(engine, tmp_path / "runs", PASSES)
    store_drills(engine, [expected(PASSES)])
    settle_drills(engine)
    assert rebuild(engine).drilled == 0
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE drills SET result = 'failed', reason = 'by hand'")
    assert rebuild(engine).drilled == 1
    assert drills(engine)["ft1"].result is DrillResult.PASSED


def test_a_scorecard_reads_every_run_that_was_struck(engine: Engine, tmp_path: Path) -> None:
    calm = run_records.mechanism_record(trace=None, seed=6)
    take(engine, tmp_path / "runs", PASSES, HALTS, INVALID, calm)
    store_drills(engine, [expected(PASSES)])
    with reading(engine) as connection:
        runs = struck_runs(connection, run_records.CLUSTER)
    assert [(run.mechanism, run.trace, run.is_drill) for run in runs] == [
        ("ft1", "drill-crash@1a2b3c4d", True),
        ("ft9", "drill-crash@1a2b3c4d", False),
        ("ft1", "F1", False),
    ]
    first, halted, _ = runs
    assert (first.sources, first.lost_steps, first.detection_s) == (("storage",), 10, 0.5)
    assert (halted.sources, halted.lost_steps, halted.outcome) == ((), None, "halted")


def test_nothing_to_store_is_nothing(engine: Engine) -> None:
    store_drills(engine, [])
    assert settle_drills(engine) == 0
