"""`advisor measure` with a harness that only pretends: what is stored, shown and said."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from advisor import cli, harness
from advisor.commands.measure import measure
from advisor.errors import AdvisorError, UserError
from advisor.harness import Harness, harness_command, harness_environment
from db.errors import DatabaseError, SchemaMismatchError
from db.migrate import upgrade
from tests.db.run_records import CAMPAIGN

ROOT = Path(__file__).resolve().parents[2]


def fake(folder: Path, runs: int, end: str = "done") -> list[str]:
    return [sys.executable, "-m", "tests.advisor.fake_harness", str(folder), str(runs), end]


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    shutil.copy(shipped_database, path)
    return path


def ask(database: Path, statement: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(statement).fetchall()


Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def call(
    database: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Called:
    """Runs `advisor measure` with a fake harness; gives exit code, stdout and stderr."""

    def called(runs: int, end: str, *options: str) -> tuple[int, str, str]:
        command = "advisor.commands.measure.harness_command"
        monkeypatch.setattr(command, lambda _: fake(tmp_path / "runs", runs, end))
        place = ["--db", str(database), "--folder", str(tmp_path / "runs")]
        code = cli.run(["measure", "--architecture", "a2", *place, *options])
        out, err = capsys.readouterr()
        return code, out, err

    return called


def test_every_run_is_stored_and_the_summary_says_what_it_showed(
    call: Called, database: Path, tmp_path: Path
) -> None:
    code, out, err = call(3, "done")
    assert code == 0, err
    header, row, stored, harvested, drift = filter(None, out.splitlines())
    assert header.split("  ")[0] == "architecture"
    assert row.split() == (
        "a2 ft9 F1 3 halted 41 ± 2.48 5.12 s 10.2 s 0 100 % 3 of 3".split()  # noqa: SIM905
    )
    assert stored == (
        f"3 of 3 runs stored as campaign {CAMPAIGN}, records in {tmp_path / 'runs' / CAMPAIGN}"
    )
    assert harvested == "mybox: 1 operating point, 1 added, 0 updated"
    assert drift.startswith("drift of the machine: step time -")
    assert "run 2 of 3: a2 ft9 F1 seed 1" in err
    assert "halted (valid), 21.5 s; about 43 s left" in err
    assert ask(database, "SELECT status, finished_at IS NULL FROM campaigns") == [("complete", 0)]
    assert ask(database, "SELECT COUNT(*), COUNT(point_id) FROM runs") == [(3, 3)]


def test_the_summary_of_mechanisms_fits_a_terminal(call: Called) -> None:
    code, out, err = call(4, "mechanisms")
    assert code == 0, err
    table, _ = out.split("\nbefore, after: ")
    assert max(map(len, out.split("\n\n")[0].splitlines())) <= 100
    header, calm, struck, infeasible = table.splitlines()
    assert header.split() == (
        "tuple way n outcome before overhead detected recovery lost after".split()  # noqa: SIM905
    )
    assert struck.split() == (
        "a2 ft1 F1 spare 2 recovered 40 500 ms 2 s 10 40".split()  # noqa: SIM905
    )
    assert calm.split() == "a2 ft1 none spare 1 completed 40 2 %".split()  # noqa: SIM905
    assert infeasible.split() == "a6 ft2 F1 spare 1 infeasible".split()  # noqa: SIM905
    assert "a6 ft2 F1: infeasible: no group of all ranks to replicate over" in out


def test_json_of_mechanisms(call: Called) -> None:
    code, out, _ = call(4, "mechanisms", "--format", "json")
    assert code == 0
    calm, struck, infeasible = json.loads(out)["tuples"]
    assert struck["recovery_total_s"] == {"median": 2.0, "n": 2}
    assert (struck["way"], struck["lost_steps"]["mean"]) == ("spare", 10.0)
    assert calm["overhead_fraction"]["mean"] == 0.02
    assert infeasible["infeasible_reason"] == "no group of all ranks to replicate over"


def test_json_is_clean_and_has_the_same(call: Called) -> None:
    code, out, _ = call(2, "done", "--format", "json")
    assert code == 0
    document = json.loads(out)
    assert (document["campaign"], document["planned"], len(document["stored"])) == (CAMPAIGN, 2, 2)
    (each,) = document["tuples"]
    assert each["samples_per_s_per_rank"]["mean"] == 40.5
    assert each["detection_s"]["n"] == 2
    assert (each["outcomes"], each["valid"], each["censored"]) == ({"halted": 2}, 2, 0)
    assert document["clusters"] == [
        {
            "cluster": "mybox",
            "points": 1,
            "added": 1,
            "updated": 0,
            "kept": 0,
            "superseded": [],
            "contradicted": [],
        }
    ]


def test_what_the_harness_refuses_is_one_line_and_writes_nothing(
    call: Called, database: Path, tmp_path: Path
) -> None:
    before = database.read_bytes()
    code, out, err = call(1, "usage")
    assert (code, out) == (2, "")
    assert err == "advisor: unknown architecture 'a9': known are a1-sync, a2\n"
    assert database.read_bytes() == before
    assert not (tmp_path / "runs").exists()


def test_a_database_that_is_not_there_is_made_once_the_options_are_accepted(tmp_path: Path) -> None:
    new = tmp_path / "new" / "advisor.db"
    with pytest.raises(UserError):
        measure(str(new), fake(tmp_path / "runs", 1, "usage"), tmp_path / "runs")
    assert not new.parent.exists()
    measure(str(new), fake(tmp_path / "runs", 1), tmp_path / "runs")
    assert ask(new, "SELECT COUNT(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("kind", ["older", "strange", "folder"])
def test_the_database_is_looked_at_before_anything_runs(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "advisor.db"
    if kind == "older":
        upgrade(str(path), "0001")
    elif kind == "strange":
        path.write_text("not a database, " * 100)
    else:
        path.mkdir()
    error = SchemaMismatchError if kind == "older" else DatabaseError
    with pytest.raises(error):
        measure(str(path), fake(tmp_path / "runs", 1), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("failed", "the measuring harness failed (exit code 1): no space left on the disk"),
        ("bug", "the measuring harness failed (exit code 1): "),
        ("garbage", "the measuring harness wrote a line that is no event: 'hello'"),
    ],
)
def test_when_the_harness_fails_what_is_done_is_kept(
    call: Called, database: Path, end: str, words: str
) -> None:
    code, out, err = call(2, end)
    assert (code, out) == (1, "")
    assert f"advisor: {words}" in err
    assert ("Traceback" in err) == (end == "bug")
    assert ask(database, "SELECT COUNT(*) FROM runs") == [(2,)]
    assert ask(database, "SELECT status FROM campaigns") == [("complete",)]


def test_a_record_that_is_refused_does_not_stop_the_others(call: Called, database: Path) -> None:
    code, out, err = call(3, "wrong-record")
    assert code == 2
    assert "2 of 3 runs stored" in out
    assert "wall_s: " in err
    assert "advisor: not everything could be stored (" in err
    assert ask(database, "SELECT COUNT(*) FROM runs") == [(2,)]
    (second,) = ask(database, "SELECT status, reason FROM campaign_cells WHERE ordinal = 2")
    assert second[0] == "failed"
    assert "wall_s: " in str(second[1])


def test_a_cell_that_fails_is_data_and_the_campaign_goes_on(call: Called, database: Path) -> None:
    code, _, err = call(3, "cell-failed")
    assert code == 0
    assert "failed: ValueError: a bug in one cell" in err
    assert ask(database, "SELECT status, reason FROM campaign_cells ORDER BY ordinal") == [
        ("complete", ""),
        ("failed", "ValueError: a bug in one cell"),
        ("complete", ""),
    ]
    assert ask(database, "SELECT status FROM campaigns") == [("complete",)]


def test_every_cell_is_a_row_with_who_ran_it(call: Called, database: Path) -> None:
    assert call(2, "done")[0] == 0
    columns = "ordinal, seed, status, attempts, pid > 0, wall_s"
    assert ask(database, f"SELECT {columns} FROM campaign_cells ORDER BY ordinal") == [
        (1, 0, "complete", 1, 1, 21.5),
        (2, 1, "complete", 1, 1, 21.5),
    ]
    assert ask(database, "SELECT order_seed, term, pid FROM campaign_plans") == [(7, 1, None)]


def started(database: Path, folder: Path, runs: int, end: str) -> subprocess.Popen[str]:
    """`measure` in a process group of its own, as a terminal starts it."""
    code = (
        "import sys\n"
        "from advisor import cli, harness\n"
        "import advisor.commands.measure as command\n"
        "harness._KILL_AFTER_S = 0.2\n"
        f"command.harness_command = lambda _: {fake(folder, runs, end)!r}\n"
        f"place = ['--db', {str(database)!r}, '--folder', {str(folder)!r}]\n"
        "cli.main(['measure', '--architecture', 'a2', *place])\n"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(process: subprocess.Popen[str], words: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it ended without saying {words!r}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_the_current_run_and_keeps_what_is_done(
    database: Path, tmp_path: Path, number: signal.Signals
) -> None:
    process = started(database, tmp_path / "runs", 5, "slow")
    wait_for(process, "run 2 of 5")
    if number is signal.SIGINT:
        os.killpg(process.pid, number)
    else:
        process.send_signal(number)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err.splitlines()[-1] == (
        f"advisor: interrupted: 1 of 5 runs are stored as campaign {CAMPAIGN}, their records in "
        f"{tmp_path / 'runs' / CAMPAIGN}; go on with `advisor measure --resume {CAMPAIGN}`"
    )
    assert "Traceback" not in err
    assert ask(database, "SELECT COUNT(*), COUNT(point_id) FROM runs") == [(1, 1)]
    assert ask(database, "SELECT status, finished_at FROM campaigns") == [("stale", None)]
    statuses = ask(database, "SELECT status FROM campaign_cells ORDER BY ordinal")
    assert statuses == [("complete",), ("stale",), ("pending",), ("pending",), ("pending",)]


def test_a_second_ctrl_c_does_not_wait(database: Path, tmp_path: Path) -> None:
    process = started(database, tmp_path / "runs", 1, "deaf")
    wait_for(process, "run 1 of 1")
    os.killpg(process.pid, signal.SIGINT)
    wait_for(process, "interrupted: the current run is being ended")
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted: 0 of 1 runs are stored" in err
    assert ask(database, "SELECT status FROM campaign_cells") == [("stale",)]


def test_no_child_is_left_behind_when_something_goes_wrong_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness, "_KILL_AFTER_S", 0.2)
    children: list[Harness] = []

    def fail() -> None:
        with Harness(fake(tmp_path, 1, "deaf")) as child:
            children.append(child)
            next(iter(child.events()))
            raise ValueError("here")

    with pytest.raises(ValueError, match="here"):
        fail()
    assert children[0].exit_code is not None


def test_the_child_finds_the_same_packages_and_no_others(tmp_path: Path) -> None:
    """A folder called `measure` in the current directory is not run instead."""
    (tmp_path / "measure").mkdir()
    (tmp_path / "measure" / "__main__.py").write_text("print('not ours')")
    command = [sys.executable, "-c", "import measure; print(measure.__file__)"]
    environment = harness_environment({**os.environ, "PYTHONPATH": "/nowhere"})
    assert environment["PYTHONPATH"] == f"{ROOT}:/nowhere"
    ran = subprocess.run(
        command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert Path(ran.stdout.strip()) == ROOT / "measure" / "__init__.py"
    assert harness_command(["--seeds=2"])[1:] == [
        *("-m", "measure", "run", "--seeds=2", "--events", "--on-demand")
    ]


def test_options_reach_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[list[str]] = []

    def refuse(_: str, command: list[str], *_others: object, **_more: object) -> None:
        seen.append(command)
        raise AdvisorError("enough")

    monkeypatch.setattr("advisor.commands.measure.measure", refuse)
    options = {
        "--mechanism": "ft9",
        "--trace": "Mine.json",
        "--profile": "smoke",
        "--seeds": "3",
        "--first-seed": "10",
        "--world-size": "4",
        "--detector": "group-timeout",
        "--workload": "linear",
        "--device": "cpu",
        "--steps": "60",
        "--cluster": "mybox",
        "--folder": str(tmp_path),
    }
    given = [word for pair in options.items() for word in pair]
    names = ["--architecture", "A2,a6", "--architecture", "a3"]
    assert cli.run(["measure", *names, "--pg-timeout", "1m30s", *given]) == 1
    capsys.readouterr()
    _, _, measure_, run, *arguments, noted, events, on_demand = seen[0]
    assert (measure_, run, events, on_demand) == ("measure", "run", "--events", "--on-demand")
    assert set(arguments) == {
        *("--architecture=a2", "--architecture=a6", "--architecture=a3", "--pg-timeout=90s"),
        *(f"{name}={value}" for name, value in options.items()),
    }
    assert noted.startswith("--command=advisor measure --architecture=a2 ")


def test_the_command_that_is_kept_has_places_as_they_were_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[list[str]] = []

    def refuse(_: str, command: list[str], *_others: object, **_more: object) -> None:
        seen.append(command)
        raise AdvisorError("enough")

    monkeypatch.setattr("advisor.commands.measure.measure", refuse)
    monkeypatch.chdir(tmp_path)
    places = ["--campaign-file", "mine.toml", "--folder", "runs"]
    assert cli.run(["measure", *places, "--target", "5%"]) == 1
    assert cli.run(["measure", "--architecture", "a2"]) == 1
    capsys.readouterr()
    kept = "advisor measure --campaign-file=mine.toml --folder=runs --target=5%"
    assert set(seen[0]) >= {
        *(f"--campaign-file={tmp_path / 'mine.toml'}", f"--folder={tmp_path / 'runs'}"),
        f"--command={kept}",
    }
    assert "--command=advisor measure --architecture=a2" in seen[1]


def test_several_mechanisms_and_traces_reach_the_harness(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen: list[list[str]] = []

    def refuse(_: str, command: list[str], *_others: object, **_more: object) -> None:
        seen.append(command)
        raise AdvisorError("enough")

    monkeypatch.setattr("advisor.commands.measure.measure", refuse)
    mechanisms = ["--mechanism", "FT1,ft2", "--mechanism", "ft4+ft2+ft1"]
    traces = ["--trace", "none,F1", "--trace", "Mine.json"]
    how = ["--interval", "20", "--replicas", "2", "--way", "restart", "--lead", "None"]
    how += ["--nodes", "2"]
    assert cli.run(["measure", "--architecture", "all", *mechanisms, *traces, *how]) == 1
    capsys.readouterr()
    assert {word for word in seen[0] if not word.startswith(("--folder", "--command"))} >= {
        *("--architecture=all", "--mechanism=ft1", "--mechanism=ft2", "--mechanism=ft4+ft2+ft1"),
        *("--trace=none,F1", "--trace=Mine.json", "--interval=20", "--replicas=2"),
        *("--way=restart", "--lead=none", "--nodes=2"),
    }
    assert cli.run(["measure", "--architecture", "a2", "--lead", "2s"]) == 1
    assert "--lead=2s" in seen[1]
    assert cli.run(["measure", "--architecture", "a2", "--lead", "soon"]) == 2
    assert "'soon' is not a duration" in capsys.readouterr().err


def test_the_harness_knows_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    from advisor.commands import launcher_options
    from advisor.commands.measure import command
    from measure.cli import _parser

    of_the_database = {"--format", "--db", "--target", "--max-seeds", "--resume"}
    params = [p for p in command.params if p.name not in launcher_options.NAMES]
    ours = {o for p in params for o in p.opts} - of_the_database
    with pytest.raises(SystemExit):
        _parser().parse_args(["run", "--help"])
    said = capsys.readouterr().out
    assert [option for option in ours if option not in said] == []


def test_the_defaults_that_the_help_names_are_those_of_the_harness() -> None:
    from advisor.commands.measure import command
    from measure.campaign_file import requests_of

    usual = asdict(requests_of({"architecture": "a2"})[0])
    named = ("profile", "seeds", "first_seed", "world_size", "detector", "device")
    for option in command.params:
        if option.name in named:
            said = getattr(option, "help", None) or ""
            assert f"[default: {usual[option.name]}]" in said, option.name


def test_time_flies_only_where_something_is_left() -> None:
    from advisor.commands.progress import TimeLeft

    left = TimeLeft()
    about = {"architecture": "a2", "mechanism": "ft1", "trace": None}
    left.event({"event": "planned", "runs": 2, "left": ["a2 ft1 none"] * 2, "done": {}})
    assert (left.words(), left.done) == ("", 0)
    left.event({"event": "run-started", **about})
    left.event({"event": "run-finished", "wall_s": 30.0})
    assert (left.words(), left.done) == ("about 30 s left", 1)
    left.event({"event": "run-started", **about})
    left.event({"event": "run-finished", "wall_s": 10.0})
    assert (left.words(), left.done) == ("", 2)


def test_a_terminal_gets_a_live_line(database: Path, tmp_path: Path) -> None:
    """Under a pseudo-terminal: what is said stays, the bar is drawn over and over."""
    reader, writer = os.openpty()
    code = (
        "from advisor.commands.measure import measure\n"
        "from pathlib import Path\n"
        f"folder = Path({str(tmp_path / 'runs')!r})\n"
        f"measure({str(database)!r}, {fake(tmp_path / 'runs', 2)!r}, folder)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], cwd=ROOT, stderr=writer, stdout=subprocess.DEVNULL
    ) as process:
        os.close(writer)
        shown = b""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            try:
                shown += os.read(reader, 4096)
            except OSError:  # the other side is closed
                break
    os.close(reader)
    assert process.returncode == 0, shown
    assert b"a2 ft9 F1 seed 1: halted (valid), 21.5 s" in shown
    assert b"2/2" in shown
