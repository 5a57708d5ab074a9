"""The text of batch scripts."""

import shlex
from pathlib import Path

import pytest

from advisor.errors import UserError
from advisor.launchers.slurm.script import Script, check_path
from advisor.launchers.slurm.settings import SlurmSettings


def made(**changes: object) -> list[str]:
    told: dict[str, object] = {
        "name": "failbench-c-1",
        "tasks": 24,
        "at_once": 8,
        "log": Path("/shared/my runs/c/slurm/job-1-%a.log"),
        "command": ["/venv/bin/python", "-m", "measure", "task", "/shared/my runs/c/job-1.json"],
        "environment": {"PYTHONPATH": "/home/a b"},
        "options": SlurmSettings(partition="gpu").options(),
    }
    return Script(**{**told, **changes}).text().splitlines()  # type: ignore[arg-type]


def test_the_whole_script() -> None:
    assert made() == [
        "#!/bin/bash",
        "#SBATCH --job-name=failbench-c-1",
        "#SBATCH --array=0-23%8",
        '#SBATCH --output="/shared/my runs/c/slurm/job-1-%a.log"',
        "#SBATCH --open-mode=append",
        "#SBATCH --nodes=1",
        "#SBATCH --ntasks=1",
        "#SBATCH --exclusive",
        "#SBATCH --mem=0",
        "#SBATCH --requeue",
        "#SBATCH --partition=gpu",
        "export PYTHONPATH='/home/a b'",
        "exec /venv/bin/python -m measure task '/shared/my runs/c/job-1.json'"
        ' "$SLURM_ARRAY_TASK_ID"',
    ]


def test_the_script_of_tasks_on_two_nodes_differs_in_what_it_asks_for_only() -> None:
    one, two = made(), made(options=SlurmSettings(partition="gpu").options(2))
    added = [line for line in two if line not in one]
    assert added == ["#SBATCH --nodes=2", "#SBATCH --ntasks=2", "#SBATCH --ntasks-per-node=1"]
    # The task has its agents started, and draws their key.
    assert not any("FAILBENCH" in line or "srun" in line for line in two)


def test_a_shell_reads_the_command_as_it_was_meant() -> None:
    command = ["a", "it's", "$HOME", "x;y", '"']
    last = made(command=command, takes_number=False)[-1]
    assert shlex.split(last) == ["exec", *command]


@pytest.mark.parametrize("name", ["a%b", 'a"b', "a'b", "a\\b", "a\nb", "a\tb"])
def test_folders_that_sbatch_would_misread(name: str) -> None:
    with pytest.raises(UserError, match="choose a folder"):
        check_path(Path("/shared") / name)


@pytest.mark.parametrize("name", ["a b", "a,b", "é", "a#b", "$x", "日本"])
def test_other_folders_are_taken(name: str) -> None:
    check_path(Path("/shared") / name)
