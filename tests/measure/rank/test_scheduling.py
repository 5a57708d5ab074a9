"""Ranks take turns: every thread of one, those that gloo starts included."""

import errno
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from measure.rank.scheduling import take_turns
from measure.results.environment import environment

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

_RANK = """
import json, os, sys, time
from datetime import timedelta
from pathlib import Path
import torch.distributed as dist
from measure.rank.groups import stay_on_loopback
from measure.rank.main import settle

settle(Path(sys.argv[1]))
stay_on_loopback()
dist.init_process_group(
    "gloo", store=dist.HashStore(), rank=0, world_size=1, timeout=timedelta(seconds=20)
)
def name(thread):
    if int(thread) == os.getpid():
        return "main"
    return Path(f"/proc/self/task/{thread}/comm").read_text().strip()

def policies():
    return {name(each): os.sched_getscheduler(int(each)) for each in os.listdir("/proc/self/task")}

threads, until = policies(), time.monotonic() + 20
while "gloo_tcp_loop" not in threads and time.monotonic() < until:  # it names itself when it runs
    time.sleep(0.05)
    threads = policies()
Path(sys.argv[2]).write_text(json.dumps(threads))
os._exit(0)
"""


def test_all_threads_of_a_rank_have_the_policy(tmp_path: Path) -> None:
    found = tmp_path / "threads.json"
    command = [sys.executable, "-c", _RANK, str(tmp_path / "rank.out"), str(found)]
    subprocess.run(command, check=True, timeout=50)
    threads = json.loads(found.read_text(encoding="utf-8"))
    assert "gloo_tcp_loop" in threads
    # Threads that torch had before the rank settled keep theirs; a fork of the server has none.
    ours = {name: policy for name, policy in threads.items() if "gloo" in name or name == "main"}
    assert "main" in ours
    assert set(ours.values()) == {os.SCHED_BATCH}


def test_the_record_says_so_and_the_supervisor_keeps_its_own_policy() -> None:
    assert environment()["rank_scheduling"] == "batch"
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


@pytest.mark.parametrize("number", [errno.EPERM, errno.EINVAL, errno.ENOSYS])
def test_where_the_call_is_refused_the_usual_policy_is_reported(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(take_turns).result() == "other"
