"""`advisor campaigns`: what it says of campaigns that ran with a harness that only pretends."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from advisor import cli
from advisor.commands.measure import measure
from advisor.drift import Drift
from db.campaign_store import Target
from tests.advisor.test_measure import ROOT, fake, started, wait_for
from tests.db.run_records import CAMPAIGN

Called = Callable[..., tuple[int, str, str]]


@pytest.fixture
def database(shipped_database: Path, tmp_path: Path) -> Path:
    path = tmp_path / "advisor.db"
    shutil.copy(shipped_database, path)
    return path


@pytest.fixture
def call(database: Path, capsys: pytest.CaptureFixture[str]) -> Called:
    def called(*arguments: str) -> tuple[int, str, str]:
        code = cli.run([*arguments, "--db", str(database)])
        out, err = capsys.readouterr()
        return code, out, err

    return called


def test_a_finished_campaign(database: Path, tmp_path: Path, call: Called) -> None:
    measure(str(database), fake(tmp_path / "runs", 3, "cell-failed"), tmp_path / "runs")
    code, out, _ = call("campaigns")
    assert code == 0
    assert out.splitlines()[1].split()[:7] == [CAMPAIGN, "mybox", "complete", "3", "3", "1", "0"]
    code, out, _ = call("campaigns", "show", CAMPAIGN)
    lines = out.splitlines()
    assert lines[0] == f"{CAMPAIGN} complete: 3 of 3 cells done; 1 failed"
    assert (
        lines[2] == "order: shuffled, seed 7; drift of the machine: not known (too few baselines)"
    )
    assert lines[-1] == f"failed: {CAMPAIGN}/a2-ft9-f1-s1: ValueError: a bug in one cell"
    assert "halted" in out


def test_a_campaign_is_the_same_on_both_databases(
    shipped_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    measure(shipped_url, fake(tmp_path / "runs", 3, "cell-failed"), tmp_path / "runs")
    capsys.readouterr()
    for command, said in (
        (["campaigns", "show", CAMPAIGN], "complete: 3 of 3 cells done; 1 failed"),
        (["campaigns"], "complete"),
        (["db", "rebuild"], "2 records read: 0 runs and 0 of 1 operating points differed"),
        (["db", "check"], "sound"),
    ):
        assert cli.run([*command, "--db", shipped_url]) == 0
        assert said in capsys.readouterr().out


def test_seeds_are_added_up_to_the_cap_and_become_rows(
    database: Path, tmp_path: Path, call: Called
) -> None:
    target = Target(0.05, 2, 5)
    folder = tmp_path / "runs"
    measured = measure(str(database), fake(folder, 2, "varied"), folder, target=target)
    assert (measured.planned, len(measured.stored)) == (5, 5)
    shown = json.loads(call("campaigns", "show", CAMPAIGN, "--format", "json")[1])
    assert [cell["seed"] for cell in shown["cells"]] == [0, 1, 2, 3, 4]
    assert {cell["status"] for cell in shown["cells"]} == {"complete"}


def test_json_has_every_cell(database: Path, tmp_path: Path, call: Called) -> None:
    measure(str(database), fake(tmp_path / "runs", 4), tmp_path / "runs")
    (listed,) = json.loads(call("campaigns", "--format", "json")[1])
    shown = json.loads(call("campaigns", "show", CAMPAIGN, "--format", "json")[1])
    assert listed["counts"]["complete"] == shown["counts"]["complete"] == 4
    assert [cell["status"] for cell in shown["cells"]] == ["complete"] * 4
    assert shown["drift"]["n"] == 4
    assert shown["time_left_s"] == 0.0
    assert shown["tuples"][0]["runs"] == 4
    assert call("campaigns", "--format", "csv")[1].startswith("campaign,cluster,status,cells,done")


def test_it_can_be_followed_from_another_process_while_it_runs(
    database: Path, tmp_path: Path
) -> None:
    running = started(database, tmp_path / "runs", 3, "slow")
    wait_for(running, "run 2 of 3")
    command = ["-m", "advisor", "campaigns", "show", CAMPAIGN, "--follow", "--db", str(database)]
    with subprocess.Popen(
        [sys.executable, *command], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as watching:
        assert watching.stdout is not None
        first = watching.stdout.readline()
        assert first.startswith(f"{CAMPAIGN} running: 1 of 3 cells done; now a2 ft9 F1 seed 1")
        running.terminate()
        _, err = running.communicate(timeout=60)
        rest = watching.stdout.read()
    assert running.returncode == 130, err
    assert watching.returncode == 0
    assert f"{CAMPAIGN} stale: 1 of 3 cells done" in rest
    assert f"go on with `advisor measure --resume {CAMPAIGN}`" in rest


def test_a_campaign_whose_controller_was_killed_is_stale(
    database: Path, tmp_path: Path, call: Called
) -> None:
    running = started(database, tmp_path / "runs", 3, "slow")
    wait_for(running, "run 2 of 3")
    assert call("campaigns", "--format", "csv")[1].splitlines()[1].split(",")[2] == "running"
    running.kill()
    running.communicate(timeout=60)
    assert call("campaigns", "--format", "csv")[1].splitlines()[1].split(",")[2] == "stale"
    code, out, _ = call("campaigns", "show", CAMPAIGN, "--follow")
    assert code == 0
    assert f"{CAMPAIGN} stale: 1 of 3 cells done" in out


def test_records_that_were_put_aside_or_interrupted_are_not_ingested(
    database: Path, tmp_path: Path, call: Called
) -> None:
    running = started(database, tmp_path / "runs", 3, "slow")
    wait_for(running, "run 2 of 3")
    running.terminate()
    running.communicate(timeout=60)
    code, out, err = call("ingest", str(tmp_path / "runs"))
    assert code == 2
    assert "runs: 0 new, 1 already there" in out
    assert f"was interrupted: `advisor measure --resume {CAMPAIGN}` runs it again" in err
    half = tmp_path / "runs" / CAMPAIGN / "a2-ft9-f1-s1"
    half.rename(half.with_name(f"{half.name}.aside-1"))
    code, out, err = call("ingest", str(tmp_path / "runs"))
    assert (code, out.splitlines()[0]) == (0, "runs: 0 new, 1 already there")


def test_a_drift_says_whether_it_can_be_told_from_none() -> None:
    from advisor.reports.campaign_words import drift_words

    assert drift_words(Drift(0.02, 0.01, 12, 2.0)) == (
        "drift of the machine: step time 2 % ± 1 % an hour (95 %, 12 baselines over 2 h)"
    )
    assert drift_words(Drift(0.01, 0.02, 12, 2.0)).endswith("none that could be told from zero")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--resume", "x", "--seeds", "3"], "--resume goes on with a campaign as it was planned"),
        (["--resume", "x", "--matrix"], "leave other options"),
        (["--resume", "x", "--target", "5%"], "leave other options"),
        (["--architecture", "a2", "--max-seeds", "5"], "--max-seeds belongs to --target"),
        (["--architecture", "a2", "--target", "0%"], "--target must be above 0 %"),
        (["--architecture", "a2", "--target", "5"], "'--target'"),
        (
            ["--architecture", "a2", "--target", "5%", "--seeds", "9", "--max-seeds", "3"],
            "--max-seeds 3 is below --seeds 9",
        ),
    ],
)
def test_a_mistake_is_one_line(call: Called, options: list[str], said: str) -> None:
    code, out, err = call("measure", *options)
    assert (code, out) == (2, "")
    assert said in err
    assert len(err.splitlines()) == 1
