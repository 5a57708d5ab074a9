"""Real torchruns on the loopback, one for each of two hosts: what `advisor measure --launcher
torchrun` starts on the first one, and what it says is to be started on the other."""

import json
import os
import shlex
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from advisor.launchers.torchrun.settings import TorchrunSettings
from measure.nodes.command import AT, KEY
from tests.integration.campaigns import (
    ROOT,
    arguments,
    ask,
    assert_whole,
    environment,
    started,
    the_campaign,
)
from tests.measure.harness import processes_with, wait_until_gone

pytestmark = [pytest.mark.integration, pytest.mark.soak, pytest.mark.timeout(300)]

_WITHIN_S = 240
ON_TWO = (
    *("--architecture", "a2", "--profile", "smoke", "--world-size", "4", "--nodes", "2"),
    *("--device", "cpu", "--cluster", "pair", "--launcher", "torchrun"),
)
LONG = ("--mechanism", "ft9", "--trace", "none", "--steps", "1000")
Popen = subprocess.Popen


class Pair:
    """Two hosts, both this one; `mark` is on all of their processes."""

    def __init__(self, folder: Path, mark: str) -> None:
        self.folder, self.mark = folder, mark
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = int(probe.getsockname()[1])
        self.settings = TorchrunSettings(2, "127.0.0.1", port)
        self._running: list[Popen[str]] = []

    def first(self, *options: str, strike: str = "") -> "Popen[str]":
        """The controller, on the first host."""
        port = f"--master-port={self.settings.master_port}"
        where = ("--master-addr", self.settings.master_addr, port)
        self._running.append(started(self.mark, arguments(self.folder, *options, *where), strike))
        return self._running[-1]

    def other(self) -> "Popen[str]":
        """What the controller says is to be run on the other host."""
        self._running.append(
            subprocess.Popen(
                self.settings.command(1),
                env=environment(self.mark),
                cwd=ROOT,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                start_new_session=True,
            )
        )
        return self._running[-1]

    def end_all(self) -> None:
        """Ends what a test that failed left behind."""
        for process in self._running:
            if process.returncode is None:
                process.kill()
                process.communicate()
        for pid in processes_with(self.mark):
            os.kill(pid, signal.SIGKILL)


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Pair]:
    """Nothing of them is left at the end."""
    for name in (AT, KEY):
        monkeypatch.delenv(name, raising=False)
    made = Pair(tmp_path, uuid.uuid4().hex)
    try:
        yield made
        assert wait_until_gone(made.mark, 30.0) == []
    finally:
        made.end_all()


def ended(process: "Popen[str]") -> tuple[int, str]:
    """Exit code and stderr."""
    _, err = process.communicate(timeout=_WITHIN_S)
    return process.returncode, err


def wait_until(is_so: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120.0
    while not is_so():
        assert time.monotonic() < deadline, f"waited for {what}"
        time.sleep(0.1)


def trains(folder: Path) -> bool:
    """Whether some rank of the second host has made a step."""
    logs = folder.glob("runs/*/*/rank-3.jsonl")
    return any('"event":"step"' in log.read_text("utf-8") for log in logs)


def test_a_campaign_on_two_hosts_of_which_a_fault_takes_one(pair: Pair, tmp_path: Path) -> None:
    faults = {"schema": "failbench-faults", "version": 1, "name": "lost"}
    crash = {"rank": 2, "kind": "node-crash", "step": 25}
    path = tmp_path / "lost.json"
    path.write_text(json.dumps({**faults, "events": [crash]}), encoding="utf-8")
    what = ("--mechanism", "ft1,ft2", "--trace", f"none,{path}", "--steps", "40")
    other, first = pair.other(), pair.first(*ON_TWO, *what)
    code, err = ended(first)
    assert code == 0, err
    assert shlex.join(pair.settings.command(1)) in err
    assert ended(other)[0] == 0
    assert_whole(tmp_path, 4)
    for record in tmp_path.glob("runs/*/*/record.json"):
        found = json.loads(record.read_text("utf-8"))
        lost = [member["lost"] for member in found["nodes"]["members"]]
        assert lost == [None, "node-crash" if found["faults"] else None]
    assert ask(tmp_path, "SELECT DISTINCT nodes FROM runs") == [(2,)]
    cluster = "SELECT nodes, ranks_per_node, interconnect FROM clusters WHERE cluster = 'pair'"
    assert ask(tmp_path, cluster) == [(2, 2, "network")]


def test_a_controller_that_is_killed_takes_both_hosts_with_it_and_the_next_one_goes_on(
    pair: Pair, tmp_path: Path
) -> None:
    what = ("--mechanism", "ft1,ft9", "--trace", "none", "--steps", "20")
    other = pair.other()
    strike = "strike(run, 'ingest_record', True, 1)"
    assert ended(pair.first(*ON_TWO, *what, strike=strike))[0] == -signal.SIGKILL
    assert ended(other)[0] == 0
    assert wait_until_gone(pair.mark, 30.0) == []
    campaign = the_campaign(tmp_path)
    code, err = ended(pair.first("--resume", campaign, "--launcher", "slurm"))
    assert code == 2
    assert "is run by torchrun, and goes on there: leave --launcher" in err
    other = pair.other()
    code, err = ended(pair.first("--resume", campaign))
    assert code == 0, err
    assert ended(other)[0] == 0
    assert_whole(tmp_path, 2)


def test_an_interruption_ends_both_hosts_in_order(pair: Pair, tmp_path: Path) -> None:
    other, first = pair.other(), pair.first(*ON_TWO, *LONG)
    wait_until(lambda: trains(tmp_path), "training")
    first.terminate()
    code, err = ended(first)
    assert code == 130, err
    assert "go on with `advisor measure --resume " in err.splitlines()[-1]
    ended(other)
    assert ask(tmp_path, "SELECT status FROM campaign_cells") == [("stale",)]


def test_a_run_that_lost_a_host_without_a_fault_is_made_again(pair: Pair, tmp_path: Path) -> None:
    other, first = pair.other(), pair.first(*ON_TWO, *LONG)
    wait_until(lambda: trains(tmp_path), "training")
    os.kill(agent_of(pair.mark, 1), signal.SIGKILL)
    code, err = ended(first)
    assert code == 0, err
    assert ended(other)[0] == 0
    assert_whole(tmp_path, 1)
    assert len(list(tmp_path.glob("runs/*/*.aside-1"))) == 1


def test_a_host_without_the_key_that_the_first_has_is_refused(pair: Pair, tmp_path: Path) -> None:
    other = pair.other()
    os.environ[KEY] = "k" * 20
    try:
        first = pair.first(*ON_TWO, *LONG)
    finally:
        del os.environ[KEY]
    said = f"{KEY}: set it to a secret of 16 letters or more"
    code, err = ended(other)
    assert (code, said in err) == (1, True), err  # torchrun's own exit code
    code, err = ended(first)
    assert (code, err.splitlines()[-1].startswith("advisor: host ")) == (2, True), err
    assert said in err.splitlines()[-1]
    assert not (tmp_path / "runs").exists() or list((tmp_path / "runs").iterdir()) == []


def agent_of(mark: str, node: int) -> int:
    """The pid of the agent of a node, which its keeper started."""
    for pid in processes_with(mark):
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        is_agent = b"measure.nodes" in words and b"--keep" not in words
        if is_agent and f"--node={node}".encode() in words:
            return pid
    raise AssertionError(f"no agent of node {node}")
