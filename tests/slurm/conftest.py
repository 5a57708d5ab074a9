"""A SLURM of three nodes for the tests of a worker, started at first use."""

import os
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.measure.harness import wait_until_gone
from tests.slurm.cluster import SlurmCluster, missing_program, unavailable
from tests.slurm.running import end_all


def needed() -> None:
    """Skips, or fails where services are required, without a SLURM that can be started."""
    missing = missing_program()
    if missing or os.geteuid() != 0:
        why = f"no {missing} is installed (apt-get install slurm-wlm munge)" if missing else ""
        unavailable(why or "SLURM's daemons are started as root")


@pytest.fixture(scope="session")
def running_slurm() -> Iterator[SlurmCluster]:
    """The cluster, gone at the end with its files."""
    needed()
    # Not in pytest's folder, which nobody else may enter: SLURM's programs look at the way to it.
    with (
        tempfile.TemporaryDirectory(prefix="advisor-slurm-") as folder,
        SlurmCluster(Path(folder), nodes=3) as cluster,
    ):
        yield cluster


@pytest.fixture
def slurm(running_slurm: SlurmCluster, monkeypatch: pytest.MonkeyPatch) -> Iterator[SlurmCluster]:
    """The cluster, idle and whole, as that which this process's commands speak to."""
    monkeypatch.setenv("SLURM_CONF", running_slurm.environment()["SLURM_CONF"])
    running_slurm.wait_for_nodes()
    yield running_slurm
    running_slurm.run("scancel", "--user=root")
    running_slurm.mend()


@pytest.fixture
def mark(slurm: SlurmCluster) -> Iterator[str]:
    """Marks the processes of a test, those of its jobs, agents and ranks too; none may be left at
    its end."""
    name = uuid.uuid4().hex
    yield name
    end_all()
    slurm.run("scancel", "--user=root")
    assert wait_until_gone(name, 60.0) == []
