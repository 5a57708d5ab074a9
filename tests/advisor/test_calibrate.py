"""`advisor calibrate` and `advisor clusters NAME` with a harness that only pretends."""

import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from advisor import cli
from advisor.errors import AdvisorError
from db.migrate import downgrade
from tests.db.calibration_records import LINES, SESSION, record, write

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]
ROOT = Path(__file__).resolve().parents[2]
Called = Callable[..., tuple[int, str, str]]
_COMMAND = "advisor.commands.calibrate.harness_command"


def fake(folder: Path, end: str) -> list[str]:
    return [sys.executable, "-m", "tests.advisor.fake_calibration", str(folder), end]


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    shutil.copy(shipped_database, path)
    return path


@pytest.fixture
def call(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Called:
    """Runs `advisor calibrate` with a fake harness; gives exit code, stdout and stderr."""

    def called(end: str, *options: str) -> tuple[int, str, str]:
        monkeypatch.setattr(_COMMAND, lambda *_: fake(tmp_path / "runs", end))
        given = ["calibrate", "--cluster", "mybox", "--db", str(database), *options]
        code = cli.run(given)
        out, err = capsys.readouterr()
        return code, out, err

    return called


def stored(database: Path) -> int:
    """Calibrations of the cluster under test; shipped ones are in every database."""
    asked = "SELECT COUNT(*) FROM calibration_sessions WHERE cluster = 'mybox'"
    with closing(sqlite3.connect(database)) as connection:
        (count,) = connection.execute(asked).fetchone()
    return int(count)


def test_what_was_measured_is_fitted_shown_and_stored(call: Called, database: Path) -> None:
    code, out, err = call("done")
    assert code == 0, err
    rows = [line.split() for line in out.splitlines()]
    (write_row,) = [row for row in rows if row[:1] == ["storage_write"]]
    assert write_row[:4] == ["storage_write", "1", "2", "ms"]
    assert "size / 800 MB/s (800 MB/s to 800 MB/s)" in out
    (start,) = [line for line in out.splitlines() if line.startswith("process_start")]
    assert "25 ms (" in start
    assert "storage       8 MB  1   12.5 ms     9.4 ms  -24.8 %" in out
    assert "median error 24.8 % over 1 path and size (target: 15 %)" in out
    assert "host_to_device not measured: no GPU" in out
    assert f"stored as calibration {SESSION}" in out
    assert "33 samples on mybox" in err
    assert "sample 33 of 33" in err
    assert max(map(len, out.splitlines()[:12])) <= 120
    assert stored(database) == 1


def test_json_has_every_number(call: Called) -> None:
    code, out, _ = call("done", "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert (document["session"], document["stored"], document["samples"]) == (SESSION, True, 33)
    fits = {fit["path"]: fit for fit in document["fits"]}
    assert set(fits) == {*LINES, "process_start"}
    assert fits["peer"]["s_per_byte"]["value"] == pytest.approx(7e-10)
    assert fits["process_start"]["s_per_byte"] is None
    (check,) = document["checks"]
    assert check["error_fraction"] == pytest.approx(document["median_error_fraction"] * -1)


@pytest.mark.parametrize(
    ("end", "code", "said"),
    [
        ("usage", 2, "'5' is not a size with its unit"),
        ("other", 2, "there is another cluster called 'matilda-8xv100'"),
        ("failed", 1, "a process was silent for 120 s"),
        ("bug", 1, "the measuring harness failed (exit code 1): "),
        ("silent", 1, "ended without a calibration"),
        ("few", 2, "nothing can be fitted: a fit needs 4 samples or more"),
    ],
)
def test_what_goes_wrong_is_said_and_nothing_is_stored(
    call: Called, database: Path, end: str, code: int, said: str
) -> None:
    found, out, err = call(end)
    assert (found, out) == (code, "")
    assert said in err.splitlines()[-1]
    assert ("Traceback" in err) == (end == "bug")
    assert stored(database) == 0


def test_a_record_from_elsewhere_is_stored_once(
    database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path, record())
    given = ["calibrate", "--record", str(path), "--db", str(database)]
    assert cli.run(given) == 0
    assert f"stored as calibration {SESSION}" in capsys.readouterr().out
    assert cli.run(given) == 0
    assert f"was stored already as calibration {SESSION}" in capsys.readouterr().out
    assert stored(database) == 1


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "name this machine: --cluster NAME"),
        (["--record", "x.json", "--quick"], "leave --quick away"),
        (["--record", "x.json", "--cluster", "a", "--seed", "3"], "leave --cluster, --seed away"),
        (["--record", "x.json"], "x.json: cannot be read"),
    ],
)
def test_a_mistake_is_one_line(
    database: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    assert cli.run(["calibrate", "--db", str(database), *options]) == 2
    out, err = capsys.readouterr()
    assert (out, len(err.splitlines())) == ("", 1)
    assert said in err


def test_an_older_database_is_refused_before_anything_is_measured(
    call: Called, database: Path, tmp_path: Path
) -> None:
    downgrade(str(database), "0003")
    code, _, err = call("done")
    assert code == 2
    assert "advisor db upgrade" in err
    assert not (tmp_path / "runs").exists()


def test_a_record_that_cannot_be_stored_is_kept_and_said(call: Called, tmp_path: Path) -> None:
    assert call("done")[0] == 0
    shutil.rmtree(tmp_path / "runs")
    made = record(seed=99)
    path = write(tmp_path / "other", made)
    code, _, err = call_record(tmp_path, path)
    assert code == 2
    assert "is stored already, from a record that differs" in err
    assert f"`advisor calibrate --record {path}` stores it" in err
    assert path.exists()


def call_record(tmp_path: Path, path: Path) -> tuple[int, str, str]:
    ran = subprocess.run(
        [
            *(sys.executable, "-m", "advisor", "calibrate", "--record", str(path)),
            *("--db", str(tmp_path / "advisor.db")),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    return ran.returncode, ran.stdout, ran.stderr


def test_options_reach_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[list[str]] = []

    def refuse(_: str, command: list[str]) -> None:
        seen.append(command)
        raise AdvisorError("enough")

    monkeypatch.setattr("advisor.commands.calibrate.calibrate", refuse)
    given = ["--cluster", "mybox", "--sizes", "1MB,2MB", "--repeats", "3", "--seed", "5"]
    flags = ["--quick", "--check", "--folder", str(tmp_path)]
    assert cli.run(["calibrate", *given, *flags]) == 1
    capsys.readouterr()
    _, _, measure, verb, *arguments, noted, events = seen[0]
    assert (measure, verb, events) == ("measure", "calibrate", "--events")
    assert arguments == [
        *("--cluster=mybox", "--sizes=1MB,2MB", "--repeats=3", "--seed=5"),
        *(f"--folder={tmp_path}", "--quick", "--check"),
    ]
    assert noted.startswith("--command=advisor calibrate --cluster=mybox ")
    monkeypatch.chdir(tmp_path)
    assert cli.run(["calibrate", "--cluster", "mybox", "--folder", "runs", "--quick"]) == 1
    capsys.readouterr()
    assert f"--folder={tmp_path / 'runs'}" in seen[1]
    assert "--command=advisor calibrate --cluster=mybox --folder=runs --quick" in seen[1]


def test_ctrl_c_stores_nothing(database: Path, tmp_path: Path) -> None:
    code = (
        "from advisor import cli\n"
        "import advisor.commands.calibrate as command\n"
        f"command.harness_command = lambda *_: {fake(tmp_path / 'runs', 'slow')!r}\n"
        f"cli.main(['calibrate', '--cluster', 'mybox', '--db', {str(database)!r}])\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert process.stderr is not None
    for line in process.stderr:
        if "sample 9 of 33" in line:
            break
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == "advisor: interrupted: nothing is stored"
    assert stored(database) == 0


def test_clusters_shows_calibrations_newest_first(
    call: Called, database: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call("done")
    later = record(session="20261201-000000-ab12cd34", started_at="2026-12-01T00:00:00Z")
    call_record(tmp_path, write(tmp_path, later))
    assert cli.run(["clusters", "mybox", "--db", str(database)]) == 0
    out = capsys.readouterr().out
    titles = [line for line in out.splitlines() if line.startswith("calibration ")]
    assert titles == [
        "calibration 20261201-000000-ab12cd34, 2026-12-01T00:00:00Z",
        f"calibration {SESSION}, 2026-11-30T06:15:00Z",
    ]
    assert out.count("storage_write") == 2
    assert cli.run(["clusters", "mybox", "--db", str(database), "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert len(document["calibrations"]) == 2 * (len(LINES) + 1)
    assert cli.run(["clusters", "mybox", "--db", str(database), "--format", "csv"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    peer = next(row for row in rows if row["path"] == "peer")
    assert float(peer["s_per_byte_low"]) <= float(peer["s_per_byte"]) == pytest.approx(7e-10)
    assert peer["s_per_rank"] == ""


def test_clusters_without_a_calibration_says_how_to_make_one(
    database: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["clusters", "matilda-8xv100", "--db", str(database)]) == 0
    assert "`advisor calibrate --cluster matilda-8xv100` makes one" in capsys.readouterr().out
    assert cli.run(["clusters", "moon", "--db", str(database)]) == 2
    assert (
        "there is 2-cores-8-ranks, 2-epyc-cores-8-ranks, matilda-8xv100" in capsys.readouterr().err
    )
