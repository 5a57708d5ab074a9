"""Options of `advisor measure` that choose a launcher, where there is no SLURM."""

from pathlib import Path
from typing import Any

import pytest

from advisor import cli
from advisor.commands import slurm_options
from advisor.launchers.slurm.scheduler import asking_environment, submitting_environment

_NOTHING: dict[str, Any] = {
    **dict.fromkeys(slurm_options.NAMES),
    "share_nodes": False,
    "dry_run": False,
    "sbatch": (),
}


def test_the_command_that_is_kept_says_how_tasks_were_sent() -> None:
    given = {**_NOTHING, "partition": "gpu", "time_s": 5400.0, "share_nodes": True}
    given |= {"sbatch": ("--mem=9G", "-Ch200"), "array_limit": 2}
    assert slurm_options.said(given) == [
        *("--launcher=slurm", "--partition=gpu", "--time=5400s", "--array-limit=2"),
        *("--share-nodes", "--sbatch=--mem=9G", "--sbatch=-Ch200"),
    ]
    assert slurm_options.said(_NOTHING) == ["--launcher=slurm"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--partition", "gpu"], "--partition belongs to --launcher slurm: give both, or neither"),
        (["--time", "1h"], "--time belongs to --launcher slurm"),
        (["--gpus-per-node", "8", "--launcher", "local"], "--gpus-per-node belongs to"),
        (["--dry-run"], "--dry-run belongs to --launcher slurm"),
        (["--launcher", "slurm", "--nodes", "2"], "a run is made on one node: --nodes 1"),
        (["--launcher", "slurm", "--array-limit", "0"], "0 is not in the range"),
        (["--launcher", "slurm", "--partition", "a b"], "write it without blanks and quotes"),
        (["--launcher", "k8s"], "'k8s' is not one of 'local', 'slurm'"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], said: str
) -> None:
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    assert cli.run(["measure", "--architecture", "a2", *place, *options]) == 2
    out, err = capsys.readouterr()
    assert said in err
    assert (out, err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


def test_without_slurm_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    assert cli.run(["measure", "--architecture", "a2", "--launcher", "slurm", *place]) == 3
    err = capsys.readouterr().err
    assert err.startswith("advisor: there is no sbatch here: --launcher slurm is for a machine")
    assert list(tmp_path.iterdir()) == []


def test_what_would_override_a_script_is_taken_away() -> None:
    user = {
        "HOME": "/home/you",
        "SLURM_CONF": "/etc/slurm.conf",
        "SLURM_JOB_ID": "7",
        "SLURM_MEM_PER_NODE": "100",
        "SQUEUE_FORMAT": "%i",
        "SACCT_FORMAT": "JobID",
        "SBATCH_ACCOUNT": "physics",
        "SBATCH_PARTITION": "cpu",
        "SBATCH_TIMELIMIT": "1",
        "SBATCH_WAIT": "1",
        "SBATCH_ARRAY_INX": "7",
    }
    kept = submitting_environment(["--partition=gpu", "--time=0-01:00:00"], user)
    assert kept == {
        "HOME": "/home/you",
        "SLURM_CONF": "/etc/slurm.conf",
        "SBATCH_ACCOUNT": "physics",
    }
    asking = asking_environment(user)
    assert (asking["TZ"], asking["SLURM_BITSTR_LEN"]) == ("UTC", "0")
    assert not {"SQUEUE_FORMAT", "SACCT_FORMAT", "SLURM_JOB_ID"} & asking.keys()
