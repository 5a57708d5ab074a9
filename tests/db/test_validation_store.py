"""Validations: predictions first, observations from the runs, and never evidence themselves."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from db.export import export
from db.files import write_bundle
from db.harvest import harvest
from db.ingest import ingest
from db.load import load
from db.queries import cluster_evidence, validated_runs
from db.rebuild import rebuild
from db.records import ValidatedRun
from db.session import open_engine, reading, writing
from db.validation_store import settle, store_trial, store_validation, unplanned
from tests.db import run_records

VALIDATION: dict[str, Any] = {
    "validation": "20261130-090000-aaaaaaaa",
    "name": "mine",
    "cluster": run_records.CLUSTER,
    "created_at": "2026-11-30T09:00:00Z",
    "architecture": "a2",
    "scenario": "{}",
    "mtbf_s": 20.0,
    "step_time_s": 0.2,
    "steps": 300,
    "arrivals": "weibull",
    "shape": 0.7,
    "seed": 3,
    "covered_s": 90.0,
    "advisor_version": "0.1.0",
    "data_version": "",
}


def validating(record: dict[str, Any]) -> dict[str, Any]:
    """The record of a run whose campaign was started to check a prediction."""
    name = "20261130-090000-bbbbbbbb"
    campaign = {"campaign": name, "command": "advisor validate --scenario=job.toml"}
    run_id = f"{name}/{record['run_id'].partition('/')[2]}"
    return {**record, "run_id": run_id, "campaign": {**record["campaign"], **campaign}}


TRIED = validating(run_records.mechanism_record())
HALTED = validating(run_records.record())
INVALID = validating(run_records.invalid(run_records.mechanism_record("ft2")))


def trial(record: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "validation": VALIDATION["validation"],
        "mechanism": record["cell"]["mechanism"],
        "run_id": record["run_id"],
        "role": "selected",
        "interval_steps": 10,
        "step_time_s": 0.25,
        "evidence": "M",
        "predicted_s": 20.0,
        "failures_expected": 1.0,
    } | changes


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


def tried(engine: Engine) -> dict[str, ValidatedRun]:
    with reading(engine) as connection:
        runs = validated_runs(connection, run_records.CLUSTER)
    return {run.mechanism: run for run in runs}


def test_predictions_are_there_before_their_runs(engine: Engine) -> None:
    store_validation(engine, VALIDATION, [trial(TRIED)])
    (run,) = tried(engine).values()
    assert (run.predicted_s, run.observed_s, run.error_fraction, run.outcome) == (
        20.0,
        None,
        None,
        "",
    )
    assert settle(engine) == 0


def test_a_step_time_belongs_to_a_prediction(engine: Engine) -> None:
    reference = {"role": "reference", "predicted_s": None, "failures_expected": None}
    older = trial(INVALID, role="runner_up", step_time_s=None)
    store_validation(engine, VALIDATION, [trial(TRIED), older, trial(HALTED, **reference)])
    expected = {"ft1": 0.25, "ft2": 0.2, "ft9": None}
    assert {name: run.step_time_s for name, run in tried(engine).items()} == expected
    assert {run.planned_step_time_s for run in tried(engine).values()} == {0.2}
    with reading(engine) as connection:
        view = connection.exec_driver_sql(
            "SELECT mechanism, step_time_s FROM validation_view WHERE cluster = 'mybox'"
        ).all()
    assert {row[0]: row[1] for row in view} == expected


def test_a_trial_is_stored_anew_when_its_run_is_planned(engine: Engine, tmp_path: Path) -> None:
    name = VALIDATION["validation"]
    to_come = trial(TRIED, run_id=unplanned(name, "ft1"), predicted_s=18.0, step_time_s=0.2)
    other = trial(HALTED, role="runner_up", run_id=unplanned(name, "ft9"))
    store_validation(engine, VALIDATION, [other, to_come])
    take(engine, tmp_path / "runs", TRIED, HALTED)
    assert settle(engine) == 0
    before = tried(engine)
    assert (before["ft1"].predicted_s, before["ft1"].step_time_s) == (18.0, 0.2)
    store_trial(engine, trial(TRIED))
    after = tried(engine)
    assert (after["ft1"].predicted_s, after["ft1"].step_time_s) == (20.0, 0.25)
    assert after["ft9"] == before["ft9"]
    assert settle(engine) == 1
    assert tried(engine)["ft1"].outcome == "recovered"
    assert tried(engine)["ft9"].outcome == ""


def test_what_was_observed_comes_from_the_runs_once(engine: Engine, tmp_path: Path) -> None:
    reference = {"role": "reference", "predicted_s": None, "failures_expected": None}
    trials = [trial(TRIED), trial(HALTED, **reference), trial(INVALID, role="runner_up")]
    store_validation(engine, VALIDATION, trials)
    take(engine, tmp_path / "runs", TRIED, HALTED, INVALID)
    assert settle(engine) == 3
    found = tried(engine)
    assert found["ft1"].observed_s == pytest.approx(21.5)
    assert found["ft1"].error_fraction == pytest.approx(20.0 / 21.5 - 1.0)
    assert (found["ft1"].failures, found["ft1"].outcome) == (1, "recovered")
    assert (found["ft9"].observed_s, found["ft9"].outcome) == (None, "halted")
    assert (found["ft2"].observed_s, found["ft2"].outcome) == (None, "invalid")
    assert settle(engine) == 0
    with reading(engine) as connection:
        view = connection.exec_driver_sql(
            "SELECT mechanism, observed_s, error_fraction, outlasted_faults FROM validation_view"
            " WHERE observed_s IS NOT NULL AND cluster = 'mybox'"
        ).one()
    assert tuple(view) == ("ft1", 21.5, pytest.approx(20.0 / 21.5 - 1.0), 0)


def test_a_run_that_checks_a_prediction_is_no_evidence(engine: Engine, tmp_path: Path) -> None:
    store_validation(engine, VALIDATION, [trial(TRIED)])
    assert harvest(engine, run_records.CLUSTER).added == 1
    with reading(engine) as connection:
        before = cluster_evidence(connection, run_records.CLUSTER).points
    take(engine, tmp_path / "runs", TRIED)
    assert harvest(engine, run_records.CLUSTER).updated == 0
    with reading(engine) as connection:
        assert cluster_evidence(connection, run_records.CLUSTER).points == before


def test_observations_are_computed_again_by_a_rebuild(engine: Engine, tmp_path: Path) -> None:
    store_validation(engine, VALIDATION, [trial(TRIED)])
    take(engine, tmp_path / "runs", TRIED)
    settle(engine)
    assert rebuild(engine).validated == 0
    with writing(engine) as connection:
        connection.exec_driver_sql("UPDATE validation_runs SET observed_s = 1.0")
    assert rebuild(engine).validated == 1
    assert tried(engine)["ft1"].observed_s == pytest.approx(21.5)


def test_a_bundle_carries_what_was_seen_to_be_off(
    engine: Engine, shipped_url: str, sqlite_templates: dict[str, Path], tmp_path: Path
) -> None:
    store_validation(engine, VALIDATION, [trial(TRIED)])
    take(engine, tmp_path / "runs", TRIED)
    settle(engine)
    path, fresh = tmp_path / "bundle.json", tmp_path / "fresh.db"
    write_bundle(export(shipped_url, run_records.CLUSTER), path)
    shutil.copy(sqlite_templates["schema"], fresh)
    load(str(fresh), path)
    other = open_engine(str(fresh))
    try:
        with reading(engine) as here, reading(other) as there:
            mine = cluster_evidence(here, run_records.CLUSTER)
            theirs = cluster_evidence(there, run_records.CLUSTER)
    finally:
        other.dispose()
    assert theirs.validations == mine.validations != ()
