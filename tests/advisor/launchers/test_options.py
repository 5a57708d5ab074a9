"""Options of `advisor measure` that choose a launcher, where there is no SLURM."""

import shlex
from pathlib import Path
from typing import Any

import pytest

from advisor import cli
from advisor.commands import launcher_options
from advisor.launchers.slurm.scheduler import asking_environment, submitting_environment

_NOTHING: dict[str, Any] = {
    **dict.fromkeys(launcher_options.NAMES),
    "share_nodes": False,
    "dry_run": False,
    "sbatch": (),
}


def test_the_command_that_is_kept_says_how_tasks_were_sent() -> None:
    slurm = {**_NOTHING, "launcher": "slurm"}
    given = {**slurm, "partition": "gpu", "time_s": 5400.0, "share_nodes": True}
    given |= {"sbatch": ("--mem=9G", "-Ch200"), "array_limit": 2}
    assert launcher_options.said(given) == [
        *("--launcher=slurm", "--partition=gpu", "--time=5400s", "--array-limit=2"),
        *("--share-nodes", "--sbatch=--mem=9G", "--sbatch=-Ch200"),
    ]
    assert launcher_options.said(slurm) == ["--launcher=slurm"]


def test_the_command_that_is_kept_says_where_torchrun_was() -> None:
    given = {**_NOTHING, "launcher": "torchrun", "master_addr": "10.0.0.1", "master_port": 29400}
    assert launcher_options.said(given) == [
        *("--launcher=torchrun", "--master-addr=10.0.0.1", "--master-port=29400")
    ]
    assert launcher_options.said(_NOTHING) == []
    assert launcher_options.said({**_NOTHING, "launcher": "local"}) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--partition", "gpu"], "--partition belongs to --launcher slurm: give both, or neither"),
        (["--time", "1h"], "--time belongs to --launcher slurm"),
        (["--gpus-per-node", "8", "--launcher", "local"], "--gpus-per-node belongs to"),
        (["--dry-run"], "--dry-run belongs to --launcher slurm or torchrun"),
        (["--launcher", "slurm", "--array-limit", "0"], "0 is not in the range"),
        (["--launcher", "slurm", "--partition", "a b"], "write it without blanks and quotes"),
        (["--launcher", "k8s"], "'k8s' is not one of 'local', 'slurm', 'torchrun'"),
        (["--master-addr", "10.0.0.1"], "--master-addr belongs to --launcher torchrun"),
        (["--launcher", "slurm", "--master-port", "2"], "--master-port belongs to --launcher tor"),
        (["--launcher", "torchrun", "--qos", "long"], "--qos belongs to --launcher slurm"),
        (["--launcher", "torchrun", "--nodes", "2"], "say where the other hosts find this one"),
        (["--launcher", "torchrun", "--master-addr", "h"], "torchrun is for runs on several hosts"),
        (["--launcher", "torchrun", "--master-addr", "a:1"], "'a:1' is no host: write its name"),
        (["--launcher", "torchrun", "--master-port", "0"], "0 is not in the range"),
        (["--nodes", "two"], "'two' is not a valid integer"),
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


@pytest.mark.integration
def test_what_the_harness_refuses_is_said_before_torchrun_is_started(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "runs")]
    how = ["--launcher", "torchrun", "--master-addr", "127.0.0.1", "--nodes", "9"]
    assert cli.run(["measure", "--architecture", "a2", *how, *place]) == 2
    out, err = capsys.readouterr()
    assert "number of nodes must be from 1 to 8, not 9" in err
    assert (out, err.count("\n")) == ("", 1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_a_dry_run_prints_the_command_of_each_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = ["--db", str(tmp_path / "advisor.db"), "--folder", str(tmp_path / "my runs")]
    how = ["--launcher", "torchrun", "--master-addr", "10.0.0.1", "--nodes", "3", "--dry-run"]
    assert cli.run(["measure", "--architecture", "a2", *how, *place]) == 0
    out, err = capsys.readouterr()
    parts = [part.split(" <==\n") for part in out.split("==> ")[1:]]
    assert [host for host, _ in parts] == ["this host", "host 1", "host 2"]
    commands = [shlex.split(command) for _, command in parts]
    for number, command in enumerate(commands):
        assert command[1:9] == [
            *("-m", "torch.distributed.run", "--nnodes=3", f"--node-rank={number}"),
            *("--nproc-per-node=1", "--master-addr=10.0.0.1", "--master-port=29500", "-m"),
        ]
        assert command[9:11] == ["measure", "torchrun"]
    assert f"--folder={tmp_path / 'my runs'}" in commands[0]
    assert "--nodes=3" in commands[0]
    assert [len(command) for command in commands[1:]] == [11, 11]
    assert err.startswith("nothing was started")
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
