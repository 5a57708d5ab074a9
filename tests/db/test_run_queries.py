"""Runs as they are read: filtered, with their numbers, and what a lost worker does."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, Engine, text

from db.errors import NotFoundError
from db.harvest import harvest
from db.ingest import ingest
from db.records import Detector, Evidence, RunOutcome, RunQuantity, RunValidity
from db.run_queries import (
    RunFilter,
    count_runs,
    exposure_that_counts,
    first_detections,
    list_runs,
    run_choices,
    run_record,
)
from db.session import open_engine, reading
from tests.db import run_records

RECORDS = [
    *(run_records.record(seed=seed, rate=40.0 + seed) for seed in (0, 1)),
    run_records.invalid(run_records.record(seed=2)),
    run_records.record("a6", seed=3, rate=10.0, after_rate=12.0),
    run_records.record(trace=None, seed=4),
    run_records.record("a3", seed=5, detected_s=120.0, censored=True, outcome="hang"),
]


@pytest.fixture
def engine(shipped_url: str, tmp_path: Path) -> Iterator[Engine]:
    made = open_engine(shipped_url)
    run_records.write(tmp_path, *RECORDS)
    assert ingest(made, tmp_path).refused == ()
    harvest(made, "mybox")
    yield made
    made.dispose()


@pytest.fixture
def connection(engine: Engine) -> Iterator[Connection]:
    with reading(engine) as opened:
        yield opened


def test_runs_newest_first_with_their_numbers(connection: Connection) -> None:
    found = list_runs(connection)
    assert [run.seed for run in found] == [5, 4, 3, 2, 1, 0]
    hang, calm, graceful, invalid, *_ = found
    assert hang.outcome is RunOutcome.HANG
    assert (hang.censored_at_s, hang.values[RunQuantity.DETECTION]) == (120.0, None)
    assert hang.detector is Detector.GROUP_TIMEOUT
    assert (calm.trace, calm.censored_at_s, calm.ranks_after) == (None, None, None)
    assert RunQuantity.DETECTION not in calm.values
    assert graceful.values[RunQuantity.POST_FAILURE_THROUGHPUT] == 12.0
    assert graceful.point_id is not None
    assert (invalid.validity, invalid.validity_reason) == (
        RunValidity.INVALID,
        "the machine was busy",
    )
    assert invalid.point_id is None
    assert [run.seed for run in list_runs(connection, limit=2)] == [5, 4]


@pytest.mark.parametrize(
    ("wanted", "seeds"),
    [
        (RunFilter(cluster="mybox"), [5, 4, 3, 2, 1, 0]),
        (RunFilter(cluster="matilda-8xv100"), []),
        (RunFilter(architecture="a2", validity=RunValidity.VALID), [4, 1, 0]),
        (RunFilter(architecture="a2", trace="F1"), [2, 1, 0]),
        (RunFilter(trace=""), [4]),
        (RunFilter(outcome=RunOutcome.GRACEFUL), [3]),
        (RunFilter(mechanism="ft1"), []),
        (RunFilter(profile="cpu", outcome=RunOutcome.HANG), [5]),
        (RunFilter(profile="smoke"), []),
        (RunFilter(campaign=run_records.CAMPAIGN, outcome=RunOutcome.INVALID), [2]),
        (RunFilter(cluster="x' OR '1'='1"), []),
    ],
)
def test_filters(connection: Connection, wanted: RunFilter, seeds: list[int]) -> None:
    assert [run.seed for run in list_runs(connection, wanted)] == seeds
    assert count_runs(connection, wanted) == len(seeds)


def test_the_whole_record(connection: Connection) -> None:
    assert run_record(connection, RECORDS[0]["run_id"]) == RECORDS[0]
    with pytest.raises(NotFoundError, match=r"no record of a run 'x'; the newest are .*a3-ft9"):
        run_record(connection, "x")


def test_a_record_of_no_run(reading_url: str) -> None:
    engine = open_engine(reading_url)
    with reading(engine) as connection, pytest.raises(NotFoundError, match="no run was ingested"):
        run_record(connection, "x")
    engine.dispose()


def test_exposure_of_the_paper(connection: Connection) -> None:
    """Table V."""
    exposures = exposure_that_counts(connection, "matilda-8xv100").exposures
    found = {e.architecture: e for e in exposures}
    assert list(found) == ["a1-async", "a1-sync", "a2", "a3", "a4", "a5", "a6", "a7"]
    assert {name for name, e in found.items() if not e.halts} == {"a1-async", "a6"}
    a6 = found["a6"]
    assert (a6.n, a6.backend, a6.group_timeout_s) == (7, None, None)
    assert a6.throughput is not None
    assert (a6.throughput.value, a6.throughput.dispersion) == (10.68, 0.59)
    assert a6.post_failure_throughput.value == 14.38
    assert a6.aggregate_slowdown is not None
    assert a6.aggregate_slowdown.value == pytest.approx(-0.1787)
    assert a6.detection is not None
    assert (a6.detection.value, a6.detection.table_ref) == (0.5, "Table V")


def test_exposure_of_a_measured_cluster(connection: Connection) -> None:
    a2, a3, a6 = exposure_that_counts(connection, "mybox").exposures
    assert [e.architecture for e in (a2, a3, a6)] == ["a2", "a3", "a6"]
    assert (a2.n, a2.backend, a2.detector, a2.halts) == (2, "gloo", "group-timeout", True)
    assert a2.throughput is not None
    assert (a2.throughput.value, a2.throughput.evidence) == (40.5, Evidence.MEASURED)
    assert a3.detection is not None
    assert a3.detection.value is None
    assert a6.halts is False
    assert a6.resumed is not None
    assert a6.resumed.value == 1.0
    assert exposure_that_counts(connection, "nowhere").exposures == ()


def test_what_there_is_to_choose_from(connection: Connection) -> None:
    choices = run_choices(connection, "mybox")
    assert choices.clusters == ("mybox",)
    assert choices.architectures == ("a2", "a3", "a6")
    assert choices.traces == ("", "F1")
    assert choices.outcomes == ("completed", "graceful", "halted", "hang", "invalid")
    assert (choices.validities, choices.profiles) == (("invalid", "valid"), ("cpu",))
    assert choices.campaigns == (run_records.CAMPAIGN,)
    assert run_choices(connection, "nowhere").architectures == ()


def test_when_the_first_rank_knew(connection: Connection) -> None:
    """The mean over the valid runs of a point; a censored one has none."""
    found = first_detections(connection, "mybox")
    exposures = exposure_that_counts(connection, "mybox").exposures
    points = {e.point_id: e.architecture for e in exposures}
    assert sorted(points[point_id] for point_id in found) == ["a2", "a6"]
    assert {(mean.value, mean.n) for mean in found.values()} == {(5.125, 2), (5.125, 1)}
    assert first_detections(connection, "matilda-8xv100") == {}


def test_exposure_under_newer_software(engine: Engine, tmp_path: Path) -> None:
    """A2 was measured again, which sets the older point aside; the others are marked."""
    newer = run_records.record(seed=10, rate=80.0, environment__torch="2.14.0+cpu")
    run_records.write(tmp_path / "newer", newer)
    assert ingest(engine, tmp_path / "newer").refused == ()
    harvest(engine, "mybox")
    with reading(engine) as connection:
        rows = "SELECT COUNT(*) FROM exposure_view WHERE cluster = 'mybox'"
        assert connection.execute(text(rows)).scalar_one() == 4
        found = exposure_that_counts(connection, "mybox")
        paper = exposure_that_counts(connection, "matilda-8xv100")
    assert found.set_aside == 1
    new = "mybox/torch-2.14.0+cpu"
    marks = [(each.architecture, each.superseded_by) for each in found.exposures]
    assert marks == [("a2", None), ("a3", new), ("a6", new)]
    assert found.exposures[0].throughput is not None
    assert found.exposures[0].throughput.value == 80.0
    assert (len(paper.exposures), paper.set_aside) == (8, 0)
