"""The step of a SLURM job that has its agents; tests/slurm has real ones."""

import os
from pathlib import Path

import pytest

from measure.nodes.command import AT, KEY, NODE
from measure.nodes.slurm_step import (
    agents_of_job,
    most_nodes,
    node_address,
    step_command,
    step_environment,
)


def test_one_task_a_node_beside_the_batch_script_and_no_key_in_it() -> None:
    command = step_command(3)
    assert command[:5] == ["srun", "--overlap", "--nodes=3", "--ntasks=3", "--ntasks-per-node=1"]
    assert {"--export=ALL", "--kill-on-bad-exit=0", "--wait=0"} <= set(command)
    assert command[-3:] == ["-m", "measure.nodes", "--keep"]
    assert not any("FAILBENCH" in word for word in command)


def test_an_agent_has_all_cores_of_its_node_whatever_the_job_was_sent_with() -> None:
    assert "--cpu-bind=none" in step_command(2)
    narrow = {"SLURM_EXACT": "1", "SLURM_CPUS_PER_TASK": "1", "SRUN_CPUS_PER_TASK": "1"}
    job = {"SLURM_JOB_ID": "7", KEY: "secret"}
    assert step_environment({**job, **narrow, NODE: "0"}) == {**job, "SLURM_WHOLE": "1"}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("NodeName=n2 Arch=x86_64 NodeAddr=10.0.0.2 NodeHostName=n2 Version=22.05", "10.0.0.2"),
        ("NodeName=n2\n   NodeAddr=n2-ib NodeHostName=n2\n", "n2-ib"),
        ("NodeName=n2 State=DOWN", "n2"),
    ],
)
def test_the_address_of_a_node(text: str, address: str) -> None:
    assert node_address(text, "n2") == address


def test_how_many_nodes_a_task_needs() -> None:
    def handed(**job: int) -> dict[str, object]:
        return {"cell": {"job": {"seed": 0, **job}}}

    assert most_nodes([]) == 1
    assert most_nodes([handed()]) == 1
    assert most_nodes([handed(), handed(nodes=3), handed(nodes=2)]) == 3


@pytest.mark.parametrize(("nodes", "job"), [(1, "7"), (2, "")])
def test_on_one_node_and_outside_of_slurm_nothing_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: int, job: str
) -> None:
    for name in (AT, KEY, "SLURM_JOB_ID"):
        monkeypatch.delenv(name, raising=False)
    if job:
        monkeypatch.setenv("SLURM_JOB_ID", job)
    with agents_of_job(nodes, tmp_path / "nodes.log"):
        assert {AT, KEY}.isdisjoint(os.environ)
    assert list(tmp_path.iterdir()) == []
