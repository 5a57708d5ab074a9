"""Calibrations in both databases: stored whole, once, carried by bundles, shown by the views."""

import shutil
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from advisor.calibration_fits import Origin, checks_of, fits_of
from db.calibration_record import CalibrationFile, read_calibration
from db.calibration_store import check_cluster, store_calibration
from db.errors import InvalidDataError
from db.export import export
from db.files import write_bundle
from db.load import load
from db.queries import calibration_fits, cluster_evidence, evidence_version
from db.records import CalibrationFit, ClusterEvidence
from db.run_rows import source_id
from db.session import open_engine, reading
from tests.db.calibration_records import LINES, RESTORED_S, SESSION, record, write


def stored(engine: Engine, file: CalibrationFile) -> tuple[bool, list[CalibrationFit]]:
    """Stores a file with its fits and checks."""
    read = file.record
    samples = read.measured()
    origin = Origin(
        read.session, read.started_at, source_id(read.cluster.cluster), read.conditions()
    )
    fits = fits_of(samples, origin)
    return store_calibration(engine, file, fits, checks_of(samples, fits, origin)), fits


def store(url: str, path: Path) -> tuple[bool, list[CalibrationFit]]:
    engine = open_engine(url)
    try:
        return stored(engine, read_calibration(path))
    finally:
        engine.dispose()


def ask(url: str, statement: str) -> list[tuple[Any, ...]]:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = [tuple(row) for row in connection.exec_driver_sql(statement).all()]
    engine.dispose()
    return found


def evidence(url: str) -> ClusterEvidence:
    engine = open_engine(url)
    with reading(engine) as connection:
        found = cluster_evidence(connection, "mybox")
    engine.dispose()
    return found


def test_it_is_stored_whole_and_comes_back_as_it_was(shipped_url: str, tmp_path: Path) -> None:
    path = write(tmp_path, record())
    is_new, fits = store(shipped_url, path)
    assert is_new
    assert evidence(shipped_url).fits == tuple(fits)
    ((session, stack, note, environment),) = ask(
        shipped_url,
        "SELECT session, software_stack, note, environment FROM calibration_sessions"
        " WHERE cluster = 'mybox'",
    )
    assert (session, stack) == (SESSION, "mybox/torch-2.13.0+cpu")
    assert note == "host_to_device not measured: no GPU"
    assert '"kernel": "6.1.0"' in environment
    samples = f"SELECT COUNT(*), MIN(ordinal) FROM calibration_samples WHERE session = '{SESSION}'"
    (counted,) = ask(shipped_url, samples)
    assert counted == (len(record()["samples"]), 0)


def test_storing_it_again_changes_nothing(shipped_url: str, tmp_path: Path) -> None:
    path = write(tmp_path, record())
    assert store(shipped_url, path)[0]
    before = evidence_version(evidence(shipped_url))
    assert not store(shipped_url, path)[0]
    assert evidence_version(evidence(shipped_url)) == before


def test_another_record_under_the_same_name_is_refused(shipped_url: str, tmp_path: Path) -> None:
    store(shipped_url, write(tmp_path / "a", record()))
    with pytest.raises(InvalidDataError, match="is stored already, from a record that differs"):
        store(shipped_url, write(tmp_path / "b", record(seed=8)))


def test_a_second_calibration_stands_beside_the_first(shipped_url: str, tmp_path: Path) -> None:
    store(shipped_url, write(tmp_path, record()))
    later = {"session": "20261201-000000-ab12cd34", "started_at": "2026-12-01T00:00:00Z"}
    store(shipped_url, write(tmp_path, record(**later)))
    assert len(evidence(shipped_url).fits) == 2 * (len(LINES) + 1)
    newest = (
        "SELECT session, is_newest FROM calibration_fit_view"
        " WHERE path = 'peer' AND cluster = 'mybox' ORDER BY 1"
    )
    assert ask(shipped_url, newest) == [(SESSION, 0), (later["session"], 1)]


def test_a_cluster_of_other_hardware_is_refused_before_and_while_storing(
    shipped_url: str, tmp_path: Path
) -> None:
    store(shipped_url, write(tmp_path, record()))
    other = read_calibration(write(tmp_path, record(session="other", cluster__device="H200")))
    engine = open_engine(shipped_url)
    with pytest.raises(InvalidDataError, match="another cluster called 'mybox', with device"):
        check_cluster(engine, other.record.cluster)
    with pytest.raises(InvalidDataError, match="measure under another name"):
        stored(engine, other)
    check_cluster(engine, record_of(tmp_path, "cluster__ranks_per_node", 2).record.cluster)
    check_cluster(engine, record_of(tmp_path, "cluster__cluster", "new").record.cluster)
    engine.dispose()
    count = "SELECT COUNT(*) FROM calibration_sessions WHERE cluster = 'mybox'"
    assert ask(shipped_url, count) == [(1,)]


def record_of(folder: Path, key: str, value: Any) -> CalibrationFile:
    return read_calibration(write(folder, record(**{"session": key, key: value})))


def test_a_bundle_carries_it_to_another_database(
    shipped_url: str, sqlite_templates: dict[str, Path], tmp_path: Path
) -> None:
    store(shipped_url, write(tmp_path, record()))
    bundle = export(shipped_url, "mybox")
    kinds = bundle["kinds"]
    assert len(kinds["calibration_samples"]) == len(record()["samples"])
    exact = Decimal(repr(record()["samples"][0]["duration_s"]))
    assert kinds["calibration_samples"][0]["duration_s"] == exact
    assert [row["session"] for row in kinds["calibration_checks"]] == [SESSION]
    write_bundle(bundle, tmp_path / "b.json")
    fresh = tmp_path / "fresh.db"
    shutil.copy(sqlite_templates["schema"], fresh)
    loaded = load(str(fresh), tmp_path / "b.json")
    assert loaded.kinds["calibration_fits"].added == len(LINES) + 1
    assert evidence(str(fresh)).fits == evidence(shipped_url).fits
    assert export(str(fresh), "mybox") == bundle
    assert not load(shipped_url, tmp_path / "b.json").changed


def test_a_check_of_a_sample_that_is_not_there_is_refused(shipped_url: str, tmp_path: Path) -> None:
    store(shipped_url, write(tmp_path, record()))
    bundle = export(shipped_url, "mybox")
    bundle["kinds"]["calibration_checks"][0]["ordinal"] = 999
    write_bundle(bundle, tmp_path / "b.json")
    with pytest.raises(InvalidDataError, match=f"session/ordinal: no such row '{SESSION}/999'"):
        load(shipped_url, tmp_path / "b.json")


def test_another_clusters_calibration_stays_out_of_a_bundle(
    shipped_url: str, tmp_path: Path
) -> None:
    store(shipped_url, write(tmp_path, record()))
    kinds = export(shipped_url, "matilda-8xv100")["kinds"]
    assert not any(name.startswith("calibration_") for name in kinds)


def test_the_views_say_rates_and_errors(shipped_url: str, tmp_path: Path) -> None:
    store(shipped_url, write(tmp_path, record()))
    ((rate, low, high, latency_s, conditions),) = ask(
        shipped_url,
        "SELECT bytes_per_s, bytes_per_s_low, bytes_per_s_high, latency_s, conditions"
        " FROM calibration_fit_view WHERE cluster = 'mybox' AND path = 'storage_write'",
    )
    assert rate == pytest.approx(8e8)
    assert low <= rate <= high
    assert latency_s == pytest.approx(2e-3)
    assert conditions == "how storage_write was measured"
    ((start,),) = ask(
        shipped_url,
        "SELECT bytes_per_s FROM calibration_fit_view"
        " WHERE cluster = 'mybox' AND path = 'process_start'",
    )
    assert start is None
    ((measured, predicted, error, words),) = ask(
        shipped_url,
        "SELECT measured_s, predicted_s, error_fraction, conditions FROM calibration_check_view"
        " WHERE cluster = 'mybox'",
    )
    assert words == "how restore_storage was measured"
    expected = 1e-3 + 8e-10 * 8e6 + 1e-3 + 1.25e-10 * 8e6
    assert (measured, predicted) == (RESTORED_S, pytest.approx(expected))
    assert error == pytest.approx(expected / RESTORED_S - 1)


def test_there_are_no_fits_of_an_unknown_cluster(shipped_url: str) -> None:
    engine = open_engine(shipped_url)
    with reading(engine) as connection:
        assert calibration_fits(connection, "moon") == ()
    engine.dispose()
