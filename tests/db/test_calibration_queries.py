"""The newest calibration of a cluster, read whole, on both databases."""

from pathlib import Path

from advisor import cli
from db.calibration_queries import newest_calibration
from db.records import CalibrationPath, SamplePurpose
from db.session import open_engine, reading
from tests.db import calibration_records


def stored(url: str, folder: Path, **changes: object) -> None:
    path = calibration_records.write(folder, calibration_records.record(**changes))
    assert cli.run(["calibrate", "--record", str(path), "--db", url]) == 0


def test_the_newest_one_whole(shipped_url: str, tmp_path: Path) -> None:
    stored(shipped_url, tmp_path, session="b", started_at="2026-11-30T07:00:00Z", quick=False)
    stored(shipped_url, tmp_path, session="z", started_at="2026-11-29T07:00:00Z")
    engine = open_engine(shipped_url)
    with reading(engine) as connection:
        found = newest_calibration(connection, calibration_records.record()["cluster"]["cluster"])
    engine.dispose()
    assert found is not None
    assert (found.session, found.is_quick, found.seed, found.wall_s) == ("b", False, 7, 4.5)
    made = calibration_records.record()["samples"]
    assert [sample.duration_s for sample in found.samples] == [each["duration_s"] for each in made]
    assert found.samples[-1].path is CalibrationPath.RESTORE_STORAGE
    assert found.samples[-1].purpose is SamplePurpose.CHECK
    assert {fit.session for fit in found.fits} == {"b"}
    assert len(found.fits) == len(calibration_records.LINES) + 1
    (check,) = found.checks
    assert found.samples[check.ordinal].duration_s == calibration_records.RESTORED_S
    assert check.predicted_s > 0.0
    assert found.note == "host_to_device not measured: no GPU"


def test_none_of_a_cluster_that_was_not_calibrated(reading_url: str) -> None:
    engine = open_engine(reading_url)
    with reading(engine) as connection:
        assert newest_calibration(connection, "matilda-8xv100") is None
        assert newest_calibration(connection, "nowhere") is None
    engine.dispose()
