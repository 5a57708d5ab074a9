"""Campaigns of real runs that are killed with `kill -9` here and there, and gone on with."""

import json
import os
import signal
import sqlite3
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.integration.campaigns import (
    LONG,
    MOMENTS,
    SMALL,
    arguments,
    ask,
    assert_whole,
    finished,
    started,
    the_campaign,
)
from tests.measure.harness import processes_with, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]


@pytest.fixture
def mark() -> Iterator[str]:
    """Marks the processes of a test; none may be left at its end."""
    name = uuid.uuid4().hex
    yield name
    assert wait_until_gone(name, 60.0) == []


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_killed_controller_loses_nothing_and_repeats_nothing(
    mark: str, tmp_path: Path, moment: str
) -> None:
    code, _, _ = finished(mark, arguments(tmp_path, *SMALL, "--seeds", "2"), MOMENTS[moment])
    assert code == -signal.SIGKILL
    done = ask(tmp_path, "SELECT run_id FROM runs")
    code, out, err = finished(mark, arguments(tmp_path, "--resume", the_campaign(tmp_path)))
    assert code == 0, err
    assert "4 of 4 runs stored" in out
    assert_whole(tmp_path, 4)
    rows = ask(tmp_path, "SELECT run_id, attempts FROM campaign_cells")
    attempts = {run_id: int(str(number)) for run_id, number in rows}
    assert {attempts[run_id] for (run_id,) in done} <= {1}
    # A record that was there was taken; only a cell that had just been claimed began once more.
    assert sorted(attempts.values()) == ([1, 1, 1, 2] if moment == "claimed" else [1] * 4)


def said(process: "subprocess.Popen[str]", words: str, times: int) -> None:
    """Waits until the process has said it so many times on stderr."""
    assert process.stderr is not None
    for line in process.stderr:
        times -= words in line
        if times == 0:
            return
    raise AssertionError(f"it ended without saying {words!r}")


def training(mark: str, folder: Path, *options: str) -> "subprocess.Popen[str]":
    """A controller in the middle of a run that would last for ever."""
    strike = (
        "from advisor.launchers.local import LocalLauncher\n"
        "real = LocalLauncher._take\n"
        "def take(self, run, event, child):\n"
        "    if event.get('phase') == 'training': print('training', file=sys.stderr, flush=True)\n"
        "    real(self, run, event, child)\n"
        "LocalLauncher._take = take"
    )
    process = started(mark, arguments(folder, *options), strike)
    said(process, "training", 1)
    return process


def shorten(folder: Path, where: str = "ordinal > 0") -> None:
    """The planned cells with few steps, so that they can be run to their end."""
    with closing(sqlite3.connect(folder / "advisor.db", timeout=60)) as connection:
        statement = f"SELECT ordinal, parameters FROM campaign_cells WHERE {where}"
        for ordinal, text in connection.execute(statement).fetchall():
            cell = json.loads(text)
            cell["job"]["steps"] = 12
            connection.execute(
                "UPDATE campaign_cells SET parameters = ? WHERE ordinal = ?",
                (json.dumps(cell), ordinal),
            )
        connection.commit()


@pytest.mark.parametrize("whom", ["controller", "controller and harness"])
def test_a_controller_that_is_killed_in_a_run_has_it_run_again(
    mark: str, tmp_path: Path, whom: str
) -> None:
    process = training(mark, tmp_path, *LONG, "--seeds", "2")
    everybody = processes_with(mark)
    os.kill(process.pid, signal.SIGKILL)
    if whom == "controller and harness":
        for pid in everybody:
            if pid != process.pid:
                os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=60)
    shorten(tmp_path)
    # Not even waiting for the old harness, which may still be ending its run.
    code, _, err = finished(mark, arguments(tmp_path, "--resume", the_campaign(tmp_path)))
    assert code == 0, err
    assert_whole(tmp_path, 2)
    assert len(list(tmp_path.glob("runs/*/*.aside-1"))) == 1, "what was half made is put aside"
    attempts = ask(tmp_path, "SELECT attempts FROM campaign_cells ORDER BY ordinal")
    assert attempts == [(2,), (1,)]


def harness_of(process: "subprocess.Popen[str]") -> int:
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text("ascii")
    (pid,) = children.split()
    return int(pid)


def test_a_killed_harness_is_replaced_and_its_cell_fails_at_the_second_time(
    mark: str, tmp_path: Path
) -> None:
    process = training(mark, tmp_path, *LONG, "--seeds", "2")
    os.kill(harness_of(process), signal.SIGKILL)
    said(process, "training", 1)
    shorten(tmp_path, "ordinal = 2")
    os.kill(harness_of(process), signal.SIGKILL)
    out, err = process.communicate(timeout=110)
    assert process.returncode == 0, err
    assert "1 of 2 runs stored" in out
    rows = ask(tmp_path, "SELECT status, attempts, reason FROM campaign_cells ORDER BY ordinal")
    assert rows == [("failed", 2, "the harness was killed in it 2 times"), ("complete", 1, "")]


def test_a_killed_rank_is_a_failed_cell_with_its_reason(mark: str, tmp_path: Path) -> None:
    process = training(mark, tmp_path, *LONG, "--mechanism", "ft9", "--seeds", "1")
    shorten(tmp_path, "ordinal = 2")
    (log,) = tmp_path.glob("runs/*/*/rank-1.jsonl")
    os.kill(json.loads(log.read_text("utf-8").splitlines()[0])["pid"], signal.SIGKILL)
    _, err = process.communicate(timeout=110)
    assert process.returncode == 0, err
    first, second = ask(tmp_path, "SELECT status, reason FROM campaign_cells ORDER BY ordinal")
    assert first[0] == "failed"
    assert "rank 1 ended unplanned: SIGKILL" in str(first[1])
    assert second == ("complete", "")


def test_an_interruption_leaves_a_campaign_that_can_be_gone_on_with(
    mark: str, tmp_path: Path
) -> None:
    process = training(mark, tmp_path, *LONG, "--seeds", "2")
    campaign = the_campaign(tmp_path)
    process.terminate()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"go on with `advisor measure --resume {campaign}`" in err.splitlines()[-1]
    assert ask(tmp_path, "SELECT status FROM campaigns") == [("stale",)]
    shorten(tmp_path)
    assert finished(mark, arguments(tmp_path, "--resume", campaign))[0] == 0
    assert_whole(tmp_path, 2)


def test_a_second_controller_says_that_the_campaign_is_running(mark: str, tmp_path: Path) -> None:
    process = training(mark, tmp_path, *LONG, "--seeds", "1")
    campaign = the_campaign(tmp_path)
    other = f"{mark}-second"
    code, out, err = finished(other, arguments(tmp_path, "--resume", campaign))
    assert (code, out) == (2, "")
    assert err.startswith(f"advisor: campaign {campaign} is running: process {process.pid} on ")
    assert len(err.splitlines()) == 1
    process.terminate()
    process.communicate(timeout=60)
    code, out, err = finished(other, arguments(tmp_path, "--resume", "nothing"))
    assert (code, err) == (
        2,
        "advisor: no campaign 'nothing': `advisor campaigns` lists those there are\n",
    )


def test_two_campaigns_at_once_do_not_meet(mark: str, tmp_path: Path) -> None:
    """One database, one folder of records, one machine."""
    both = [started(mark, arguments(tmp_path, *SMALL, "--seeds", "1")) for _ in range(2)]
    for process in both:
        _, err = process.communicate(timeout=110)
        assert process.returncode == 0, err
    assert_whole(tmp_path, 4)


def test_a_finished_campaign_has_nothing_left_to_run(mark: str, tmp_path: Path) -> None:
    assert finished(mark, arguments(tmp_path, *SMALL, "--seeds", "1"))[0] == 0
    code, out, err = finished(mark, arguments(tmp_path, "--resume", the_campaign(tmp_path)))
    assert code == 0, err
    assert "2 of 2 runs stored" in out
    assert ask(tmp_path, "SELECT attempts FROM campaign_cells") == [(1,), (1,)]
