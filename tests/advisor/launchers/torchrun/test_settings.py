"""The hosts of a torchrun, its commands there, and how it tells of its process."""

import sys

import pytest

from advisor.launchers.torchrun.launched import waiting_words
from advisor.launchers.torchrun.settings import TorchrunSettings, worker_exit_code

HOSTS = TorchrunSettings(hosts=3, master_addr="10.0.0.1")

_REPORT = """\
E1201 00:00:01.000000 7 site-packages/torch/distributed/elastic/multiprocessing/api.py:984] failed \
(exitcode: 2) local_rank: 0 (pid: 11) of binary: /venv/bin/python
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
measure FAILED
Root Cause (first observed failure):
[0]:
  time      : 2026-12-01_00:00:01
  rank      : 0 (local_rank: 0)
  exitcode  : {code} (pid: 11)
  error_file: <N/A>
"""


def test_the_command_on_each_host() -> None:
    assert HOSTS.command(1) == [
        *(sys.executable, "-m", "torch.distributed.run", "--nnodes=3", "--node-rank=1"),
        *("--nproc-per-node=1", "--master-addr=10.0.0.1", "--master-port=29500"),
        *("-m", "measure", "torchrun"),
    ]
    assert HOSTS.command(0, ["--events"])[-2:] == ["torchrun", "--events"]


def test_what_is_said_while_it_waits() -> None:
    two = waiting_words(HOSTS.changed({"hosts": 2}))
    assert two.startswith("waiting for the other host; run there: ")
    assert "--node-rank=1" in two
    three = waiting_words(HOSTS)
    assert three.startswith("waiting for 2 other hosts; run there, K from 1 to 2: ")
    assert "--node-rank=K" in three


def test_settings_are_kept_as_json_and_changed_by_what_is_given_anew() -> None:
    kept = TorchrunSettings.from_json({**HOSTS.as_json(), "of a later version": 1})
    assert kept == HOSTS
    assert kept.changed({"master_port": 29400, "master_addr": None}) == TorchrunSettings(
        3, "10.0.0.1", 29400
    )
    with pytest.raises(TypeError):
        TorchrunSettings.from_json({"hosts": 3})


@pytest.mark.parametrize("code", [1, 2, 130, -9])
def test_the_exit_code_of_the_process_within(code: int) -> None:
    assert worker_exit_code(_REPORT.format(code=code).splitlines()) == code


def test_without_a_report_there_is_none() -> None:
    assert worker_exit_code(["error: something else", "Received 15 death signal"]) is None
