"""What monitors are worth: the shares with their limits, and the command."""

import csv
import io
import json
from pathlib import Path

import pytest
from scipy.stats import binomtest

from advisor import cli
from advisor.detectors import detectors
from db.detector_queries import DetectorRow, detector_rows
from db.ingest import ingest
from db.session import open_engine, reading
from tests.db import run_records


def row(checks: int, struck: int, noticed: int, false_alarms: int) -> DetectorRow:
    counts = (10, checks, 0.001, 0.0005, 0.02, struck, noticed, noticed, false_alarms)
    return DetectorRow("mybox", "a2", "resnet50", 4, "digest", 10, *counts, 0.5, 5.0, 5)


@pytest.mark.parametrize(("struck", "noticed"), [(20, 20), (20, 17), (1, 0)])
def test_a_share_has_exact_limits(struck: int, noticed: int) -> None:
    (found,) = detectors([row(100, struck, noticed, 3)])
    limits = binomtest(struck - noticed, struck).proportion_ci(0.95, method="exact")
    assert found.missed == struck - noticed
    assert (found.missed_low, found.missed_high) == pytest.approx((limits.low, limits.high))
    alarms = binomtest(3, 100).proportion_ci(0.95, method="exact")
    assert (found.false_low, found.false_high) == pytest.approx((alarms.low, alarms.high))


def test_of_nothing_no_share_is_known() -> None:
    (found,) = detectors([row(0, 0, 0, 0)])
    assert (found.missed_high, found.false_high) == (None, None)


def test_more_alarms_than_checks_are_all_of_them() -> None:
    """A monitor may suspect before its first check."""
    (found,) = detectors([row(2, 0, 0, 3)])
    assert found.false_high == 1.0


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    path.write_bytes(shipped_database.read_bytes())
    made = run_records.record(monitoring=[run_records.monitoring()])
    run_records.write(tmp_path / "records", run_records.of_kind("flip-parameter", made))
    engine = open_engine(str(path))
    assert ingest(engine, tmp_path / "records").refused == ()
    with reading(engine) as connection:
        assert detector_rows(connection, "mybox") == detector_rows(connection, None)
        assert detector_rows(connection, "matilda-8xv100") == ()
    engine.dispose()
    return path


def test_the_command(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["detectors", "--cluster", "mybox", "--db", str(database)]) == 0
    header, line, *notes = capsys.readouterr().out.splitlines()
    assert header.split()[:4] == ["cluster", "monitor", "on", "every"]
    assert "digest" in line
    assert "1 of 1" in line
    assert "0 in 3 checks" in line
    assert len(notes) == 2


def test_the_command_for_programs(database: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["detectors", "--format", "json", "--db", str(database)]) == 0
    (found,) = json.loads(capsys.readouterr().out)["detectors"]
    assert (found["struck"], found["noticed"], found["missed"]) == (1, 1, 0)
    assert found["missed_high"] == pytest.approx(0.975)
    assert cli.run(["detectors", "--format", "csv", "--db", str(database)]) == 0
    (line,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (line["monitor"], line["overhead_fraction"], line["after_steps"]) == (
        "digest",
        "0.02",
        "5.0",
    )


def test_without_monitors_it_says_how_to_get_some(
    shipped_database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["detectors", "--db", str(shipped_database)]) == 0
    assert "advisor measure" in capsys.readouterr().out
    assert cli.run(["detectors", "--cluster", "nosuch", "--db", str(shipped_database)]) == 2
    assert "matilda-8xv100" in capsys.readouterr().err
