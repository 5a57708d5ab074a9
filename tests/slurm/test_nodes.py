"""Runs on two nodes of a real SLURM: a step of agents, a node that is lost in a fault, a node that
fails."""

import json
from contextlib import suppress
from pathlib import Path

import pytest

from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.nodes.command import KEY
from tests.integration.campaigns import ask, assert_whole
from tests.measure.harness import processes_with
from tests.slurm.cluster import SlurmCluster
from tests.slurm.running import (
    SLURM,
    begun,
    ended,
    events,
    reasons,
    training,
    wait_until,
)

pytestmark = [
    pytest.mark.integration,
    pytest.mark.soak,
    pytest.mark.timeout(900),
    pytest.mark.xdist_group("slurm"),
]
ON_TWO = (
    *("--architecture", "a2", "--profile", "smoke", "--world-size", "4", "--nodes", "2"),
    *("--device", "cpu", "--cluster", "tiny", *SLURM),
)
LONG = ("--mechanism", "ft9", "--trace", "none", "--steps", "3000000")


def lost_node(folder: Path) -> str:
    """A schedule that strikes the second node."""
    path = folder / "lost.json"
    crash = FaultEvent(2, FaultKind.NODE_CRASH, step=25)
    path.write_text(json.dumps(Schedule("lost", (crash,)).to_json()), encoding="utf-8")
    return str(path)


def test_runs_on_two_nodes_recover_from_the_loss_of_one_and_nobody_reads_their_key(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    faults = ("--trace", f"none,{lost_node(tmp_path)}", "--steps", "40")
    controller = begun(mark, tmp_path, *ON_TWO, "--mechanism", "ft1,ft2", *faults)
    wait_until(lambda: bool(training(tmp_path)), "a run that trains")
    keys = keys_of(mark)
    code, out, err = ended(controller)
    assert code == 0, err
    assert "4 of 4 runs stored" in out
    assert "1 task, on 2 nodes each, of up to 4 cells each" in err
    assert_whole(tmp_path, 4)
    assert len(events(tmp_path, "run-started")) == 4
    assert not list(tmp_path.glob("runs/*/*.aside-*"))
    assert "#SBATCH --nodes=2\n" in next(tmp_path.glob("runs/*/slurm/job-1.sh")).read_text()
    for path in tmp_path.glob("runs/*/*/record.json"):
        record = json.loads(path.read_text("utf-8"))
        lost = [member["lost"] for member in record["nodes"]["members"]]
        assert lost == [None, "node-crash" if record["faults"] else None]
    assert ask(tmp_path, "SELECT DISTINCT nodes FROM runs") == [(2,)]
    cluster = "SELECT nodes, ranks_per_node, interconnect FROM clusters WHERE cluster = 'tiny'"
    assert ask(tmp_path, cluster) == [(2, 2, "network")]
    (key,) = keys
    assert files_with(key, tmp_path, slurm.folder) == []


def keys_of(mark: str) -> set[bytes]:
    """The keys in the environment of the processes of a test."""
    found = set()
    for pid in processes_with(mark):
        try:
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found |= {each.partition(b"=")[2] for each in environ if each.startswith(KEY.encode())}
    return found


def files_with(key: bytes, *folders: Path) -> list[Path]:
    """The files in which it stands."""
    found = []
    for path in (path for folder in folders for path in folder.rglob("*")):
        with suppress(OSError):  # no file, or no more
            if path.is_file() and key in path.read_bytes():
                found.append(path)
    return found


def test_a_node_that_fails_leaves_its_cell_open_and_says_why(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    controller = begun(mark, tmp_path, *ON_TWO, *LONG, "--sbatch=--no-requeue")
    wait_until(lambda: bool(training(tmp_path)), "a run that trains")
    slurm.crash("n2")
    code, _, err = ended(controller)
    assert code == 1, err
    ((status, why),) = reasons(tmp_path).values()
    assert (status, why[:24]) == ("stale", "its node failed (NODE_FA"), why
    assert ask(tmp_path, "SELECT COUNT(*) FROM runs") == [(0,)]


def test_a_task_whose_node_fails_is_requeued_and_runs_again_on_others(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    steps = ("--mechanism", "ft1", "--trace", "none", "--steps", "600")
    controller = begun(mark, tmp_path, *ON_TWO, *steps)
    wait_until(lambda: bool(training(tmp_path)), "a run that trains")
    slurm.crash("n2")
    code, _, err = ended(controller)
    assert code == 0, err
    assert_whole(tmp_path, 1)
    assert [str(each["restarts"]) for each in events(tmp_path, "task-started")] == ["0", "1"]


def test_a_cancelled_task_leaves_its_cell_open(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    controller = begun(mark, tmp_path, *ON_TWO, *LONG)
    wait_until(lambda: bool(training(tmp_path)), "a run that trains")
    slurm.run("scancel", *training(tmp_path))
    code, _, err = ended(controller)
    assert code == 1, err
    ((status, why),) = reasons(tmp_path).values()
    assert status == "stale"
    assert why.startswith("its task was cancelled (CANCELLED, on n[1-2])"), why


def test_arrays_of_one_number_of_nodes_each_go_one_after_the_other(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    blocks = tmp_path / "blocks.toml"
    blocks.write_text("[[block]]\narchitecture = 'a2'\n[[block]]\narchitecture = 'a2'\nnodes = 2\n")
    usual = ("--profile", "smoke", "--world-size", "4", "--device", "cpu", "--cluster", "tiny")
    what = ("--campaign-file", str(blocks), "--mechanism", "ft9", "--trace", "none")
    order = ("--steps", "20", "--order", "fixed")
    controller = begun(mark, tmp_path, *what, *usual, *order, *SLURM)
    code, _, err = ended(controller)
    assert code == 0, err
    assert_whole(tmp_path, 2)
    asked = [path.read_text() for path in sorted(tmp_path.glob("runs/*/slurm/job-[12].sh"))]
    assert ["#SBATCH --nodes=1\n" in asked[0], "#SBATCH --nodes=2\n" in asked[1]] == [True, True]
