"""A SLURM that binds the processes of each step to its cores, as most clusters' do."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.measure.harness import processes_with
from tests.slurm.cluster import SlurmCluster
from tests.slurm.conftest import needed
from tests.slurm.running import SLURM, begun, ended, training, wait_until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.soak,
    pytest.mark.timeout(600),
    pytest.mark.xdist_group("slurm"),
    pytest.mark.skipif(
        len(os.sched_getaffinity(0)) < 2, reason="binding to one core of one says nothing"
    ),
]
CORES = 2


class BindingSlurm(SlurmCluster):
    """Each task gets the cores that its step was given, and no other."""

    def _configured(self, text: str) -> str:
        return text.replace("TaskPlugin=task/none", "TaskPlugin=task/affinity")


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    needed()
    with (
        tempfile.TemporaryDirectory(prefix="advisor-slurm-") as folder,
        BindingSlurm(Path(folder), nodes=2) as cluster,
    ):
        monkeypatch.setenv("SLURM_CONF", cluster.environment()["SLURM_CONF"])
        yield cluster


def test_a_step_of_one_core_is_bound_to_it(slurm: SlurmCluster) -> None:
    """Else the next test says nothing."""
    told = slurm.run(
        "srun", "-n1", "-c1", "--exact", "grep", "Cpus_allowed_list", "/proc/self/status"
    )
    assert told.split()[1].isdigit()


def test_ranks_on_every_node_have_all_its_cores(
    slurm: SlurmCluster, mark: str, tmp_path: Path
) -> None:
    options = (
        *("--architecture", "a2", "--profile", "smoke", "--world-size", "4", "--nodes", "2"),
        *("--device", "cpu", "--cluster", "tiny", "--mechanism", "ft9", "--trace", "none"),
        *("--steps", "3000000", *SLURM),
    )
    controller = begun(mark, tmp_path, *options)
    wait_until(lambda: bool(training(tmp_path)), "a run that trains")
    cores = cores_of_ranks(mark)
    slurm.run("scancel", "--user=root")
    ended(controller)
    assert {node: set(of) for node, of in cores.items()} == {"n1": {CORES}, "n2": {CORES}}
    assert {node: len(of) >= 2 for node, of in cores.items()} == {"n1": True, "n2": True}


def cores_of_ranks(mark: str) -> dict[str, list[int]]:
    """How many cores each process of each node's job steps may use."""
    found: dict[str, list[int]] = {}
    for pid in processes_with(mark):
        with suppress(OSError):  # ended meanwhile
            environ = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            nodes = [each for each in environ if each.startswith(b"SLURMD_NODENAME=")]
            for node in nodes:
                cores = len(os.sched_getaffinity(pid))
                found.setdefault(node.partition(b"=")[2].decode(), []).append(cores)
    return found
