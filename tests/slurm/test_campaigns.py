"""Campaigns through a real slurmctld and three slurmd: what they store, and what they survive."""

import json
import os
import random
import signal
from pathlib import Path

import pytest

from advisor import cli
from tests.integration.campaigns import ask, assert_whole
from tests.slurm.cluster import SlurmCluster
from tests.slurm.running import (
    ENDLESS,
    MANY,
    SLURM,
    SMOKE,
    begun,
    ended,
    events,
    past_a_run,
    reasons,
    restarted,
    resumed,
    shapes,
    stopped,
    training,
    wait_until,
)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("slurm"),
]
_SEED = 20261130
_ROWS = ("run_values:quantity", "fault_events:kind, outcome", "recovery_phases:phase")


def test_the_rows_of_24_cells_are_those_of_the_local_launcher(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    code, out, err = ended(begun(mark, there, *MANY, *SLURM, "--seeds", "6"))
    assert code == 0, err
    assert "24 of 24 runs stored" in out
    assert_whole(there, 24)
    assert {str(each["node"]) for each in events(there, "task-started")} == set(slurm.nodes)
    assert ask(there, "SELECT DISTINCT attempts FROM campaign_cells") == [(1,)]
    code, _, err = ended(begun(mark, here, *MANY))
    assert code == 0, err
    wanted, found = shapes(here, _ROWS), shapes(there, _ROWS)
    assert len(wanted) == 4
    for key, seen in wanted.items():
        assert found[key] == seen, key


def test_cancelled_tasks_a_crashed_node_and_a_requeue_leave_24_complete_rows(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    random_ = random.Random(_SEED)
    controller = begun(mark, tmp_path, *MANY, *SLURM, "--seeds", "6", "--group", "3")
    wait_until(lambda: len(training(tmp_path)) >= 3, "three tasks that train")
    cancelled = random_.sample(slurm.tasks("PENDING", "RUNNING"), 3)
    slurm.run("scancel", *cancelled)
    wait_until(lambda: len(slurm.tasks("RUNNING")) >= 2, "two running tasks")
    requeued = random_.choice(slurm.tasks("RUNNING"))
    slurm.run("scontrol", "requeue", requeued)

    early: set[str] = set()

    def is_early() -> bool:
        in_first = training(tmp_path) - past_a_run(tmp_path) - {requeued}
        early.update(in_first.intersection(slurm.tasks("RUNNING")))
        return bool(early)

    wait_until(is_early, "a task in its first cell, which has seconds to go")
    struck = min(early)
    slurm.crash(slurm.run("squeue", "-h", f"--jobs={struck}", "-o", "%N").strip())
    code, _, err = ended(controller)
    assert {requeued, struck} <= restarted(tmp_path)
    left = reasons(tmp_path)
    assert (code, len(left)) == (1, 24), err
    assert "is not finished" in err.splitlines()[-1]
    is_open = {run_id: why for run_id, (status, why) in left.items() if status != "complete"}
    assert is_open, "some of the cancelled tasks had cells that were not done"
    assert all("its task was cancelled (CANCELLED" in why for why in is_open.values()), is_open
    slurm.mend()
    code, out, err = resumed(mark, tmp_path)
    assert code == 0, err
    assert "24 of 24 runs stored" in out
    assert_whole(tmp_path, 24)


def tell(slurm: SlurmCluster, folder: Path, name: str, task: str) -> None:
    """Sends a signal to a task until it says that it stops: scancel fails now and then, mute."""

    def has_stopped() -> bool:
        slurm.run("scancel", "--batch", f"--signal={name}", task, check=False)
        return task in stopped(folder)

    wait_until(has_stopped, f"the end of {task}")


@pytest.mark.soak
def test_each_way_to_end_a_task_is_the_reason_of_its_cell(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    options = (*ENDLESS, *SLURM, "--group", "1", "--sbatch=--no-requeue")
    controller = begun(mark, tmp_path, *options, "--seeds", "5")
    wait_until(lambda: len(training(tmp_path)) == 3, "three tasks that train")
    limited, cancelled, told = sorted(training(tmp_path))
    slurm.run("scontrol", "update", f"jobid={limited}", "timelimit=1")
    slurm.run("scancel", cancelled)
    tell(slurm, tmp_path, "USR1", told)
    wait_until(lambda: len(training(tmp_path)) == 5, "the other two")
    asked, lost = sorted(training(tmp_path) - {limited, cancelled, told})
    tell(slurm, tmp_path, "TERM", asked)
    slurm.crash(slurm.run("squeue", "-h", f"--jobs={lost}", "-o", "%N").strip())
    code, _, err = ended(controller)
    assert code == 1, err
    whys = [why for _, why in reasons(tmp_path).values()]
    wanted = {
        limited: "its task's time limit passed",
        cancelled: "its task was cancelled (CANCELLED",
        told: "it was told to stop by SIGUSR1",
        asked: "it was told to stop by SIGTERM",
        lost: "its node failed (NODE_FAIL",
    }
    for task, words in wanted.items():
        (why,) = [why for why in whys if why.endswith(f"SLURM job {task}")]
        assert why.startswith(words), why
    assert {status for status, _ in reasons(tmp_path).values()} == {"stale"}


@pytest.mark.soak
def test_a_controller_that_is_killed_finds_its_tasks_again(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    options = (*MANY, *SLURM, "--seeds", "2", "--group", "1")
    controller = begun(mark, tmp_path, *options)
    wait_until(lambda: bool(events(tmp_path, "run-finished")), "a run that is done")
    wait_until(lambda: len(slurm.tasks("RUNNING")) >= 2, "two running tasks")
    os.kill(controller.pid, signal.SIGKILL)
    controller.communicate(timeout=60)
    # As if it had been killed before it could note which job it had made.
    (answer,) = tmp_path.glob("runs/*/slurm/job-1.id")
    answer.write_text("")
    code, out, err = resumed(mark, tmp_path)
    assert code == 0, err
    assert "still at it, sent by an earlier command" in err
    assert "8 of 8 runs stored" in out
    assert_whole(tmp_path, 8)
    assert len(list(tmp_path.glob("runs/*/slurm/job-*.json"))) == 1, "nothing was sent twice"
    assert not list(tmp_path.glob("runs/*/*.aside-*")), "nothing was run twice"
    assert len(events(tmp_path, "run-started")) == 8


@pytest.mark.soak
def test_what_ends_while_nobody_looks_is_stored_by_the_next(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    strike = "import advisor.launchers.slurm.following as f\nstrike(f.Follower, '_look', False, 1)"
    controller = begun(mark, tmp_path, *MANY, *SLURM, "--seeds", "1", strike=strike)
    assert ended(controller)[0] == -signal.SIGKILL
    wait_until(lambda: not slurm.tasks("PENDING", "RUNNING", "COMPLETING"), "the tasks' end")
    assert ask(tmp_path, "SELECT COUNT(*) FROM runs") == [(0,)]
    code, _, err = resumed(mark, tmp_path, "--partition", "nowhere")
    assert code == 2, err
    assert "SLURM could not run this: " in err
    code, _, err = resumed(mark, tmp_path)
    assert code == 0, err
    assert_whole(tmp_path, 4)
    assert len(events(tmp_path, "run-started")) == 4


@pytest.mark.soak
def test_an_interruption_leaves_the_tasks_in_the_hands_of_slurm(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    controller = begun(mark, tmp_path, *ENDLESS, *SLURM, "--seeds", "2", "--group", "1")
    wait_until(lambda: len(training(tmp_path)) == 2, "two tasks that train")
    controller.terminate()
    code, _, err = ended(controller)
    assert code == 130
    job = slurm.tasks("RUNNING")[0].partition("_")[0]
    said, last = err.splitlines()[-2:]
    assert said == (f"2 tasks are in SLURM's hands, and go on: `scancel {job}` would end them")
    assert "go on with `advisor measure --resume " in last
    assert len(slurm.tasks("RUNNING")) == 2


@pytest.mark.soak
def test_a_cell_that_breaks_its_task_twice_has_failed(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    controller = begun(mark, tmp_path, *ENDLESS, *SLURM)
    for times in (1, 2):
        wait_until(lambda: len(training(tmp_path)) == times, "training")  # noqa: B023
        os.kill(int(str(events(tmp_path, "task-started")[-1]["pid"])), signal.SIGKILL)
    code, _, err = ended(controller)
    assert code == 0, err
    ((status, why),) = reasons(tmp_path).values()
    assert status == "failed"
    assert why.startswith("its task broke in it 2 times, at last: its task failed (FAILED, on n")
    assert ask(tmp_path, "SELECT attempts FROM campaign_cells") == [(2,)]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--partition", "nowhere"], "SLURM could not run this: "),
        (["--gpus-per-node", "4"], "SLURM could not run this: "),
        (["--sbatch=--mem=2T"], "SLURM could not run this: "),
        (["--share-nodes"], "SLURM could not run this: "),  # three ranks, nodes of two cores
        (["--nodes", "9", "--world-size", "9"], "SLURM could not run this: "),
        (["--sbatch=--array=3"], "--array cannot be given to sbatch"),
        (["--sbatch", "constraint"], "is no option of sbatch: write it as --constraint=h200"),
        (["--time", "60"], "60 has no unit: write 60s, 60m or 60h"),
        (["--architecture", "a9"], "unknown architecture 'a9'"),
        (["--folder", "/nowhere/a%b"], "has a character that sbatch reads in its own way"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_sent(
    slurm: SlurmCluster,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    said: str,
) -> None:
    before = slurm.tasks()
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    assert cli.run(["measure", *SMOKE, *SLURM, *place, *options]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []
    assert slurm.tasks() == before


@pytest.mark.soak
def test_a_plan_that_cannot_be_made_on_the_node_says_why(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    cuda = ["--device", "cuda"]  # accepted here, since the node could have a GPU
    code, _, err = ended(begun(mark, tmp_path, *SMOKE, *cuda, *SLURM))
    assert code == 2, err
    assert err.splitlines()[-1].startswith("advisor: no GPU is at hand")
    assert not (tmp_path / "advisor.db").exists()


def test_a_dry_run_prints_what_would_be_sent(
    slurm: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = slurm.tasks()
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    more = ["--seeds", "10", "--time", "90m", "--partition", "debug", "--dry-run"]
    assert cli.run(["measure", *SMOKE, *SLURM, *place, *more]) == 0
    out, err = capsys.readouterr()
    parts = out.split("==> ")
    names = [part.partition(" <==\n")[0].rpartition("/")[2] for part in parts[1:]]
    assert names == ["job-plan.sh", "job-1.sh", "job-1.json"]
    script, tasks = (part.partition(" <==\n")[2] for part in parts[2:])
    assert "#SBATCH --array=0-1%8\n" in script
    assert "#SBATCH --time=0-01:30:00\n" in script
    assert [len(task) for task in json.loads(tasks)["tasks"]] == [8, 2]
    assert err.startswith("nothing was sent")
    assert list(tmp_path.iterdir()) == []
    assert slurm.tasks() == before


def test_tasks_and_plan_on_shared_nodes_have_a_core_a_rank(
    slurm: SlurmCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    more = ["--world-size", "2", "--trace", "none", "--share-nodes", "--dry-run"]
    assert cli.run(["measure", *SMOKE, *SLURM, *place, *more]) == 0
    assert capsys.readouterr().out.count("#SBATCH --cpus-per-task=2\n") == 2
