"""A supervisor that waits for its agents: for as long as it is wanted, and for no single one."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from measure import cli
from measure.campaign import Campaign, Plan
from measure.errors import UsageError
from measure.nodes import line, remote
from measure.nodes.agent import Chosen, hello
from measure.nodes.command import AT, KEY, _reached
from measure.nodes.line import Door, Line
from measure.rank.heartbeat import HeartbeatReader, create
from measure.supervisor.observed import NodeView
from tests.measure.harness import planned, request

SECRET = "a secret of both sides"
PATIENT_S = 60.0
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def beats(tmp_path: Path) -> Iterator[HeartbeatReader]:
    create(tmp_path / "beats", 4)
    with closing(HeartbeatReader(tmp_path / "beats", 4)) as made:
        yield made


@pytest.fixture
def door() -> Iterator[Door]:
    with closing(Door("127.0.0.1", 0, SECRET.encode())) as made:
        yield made


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def test_who_is_told_to_stop_waits_for_nobody_any_more(door: Door, beats: HeartbeatReader) -> None:
    asked: list[int] = []

    def interrupted() -> bool:
        asked.append(1)
        return len(asked) > 2

    with pytest.raises(remote.BrokenOffError):
        remote._met(door, 1, beats, time.monotonic() + PATIENT_S, interrupted)
    assert len(asked) == 3


@pytest.mark.timeout(30)
def test_an_agent_that_says_nothing_is_in_nobodys_way(
    door: Door, beats: HeartbeatReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is frozen, it may be, as it has come."""
    monkeypatch.setattr(line, "_HANDSHAKE_S", 1.0)
    came: list[Line] = []

    def come(says: bool) -> None:
        other = _reached("127.0.0.1", door.port, SECRET.encode(), PATIENT_S)
        assert other is not None
        came.append(other)
        if says:
            other.say("hello", **hello(0, other.address, Chosen()).to_json())

    def frozen_first() -> None:
        come(says=False)
        come(says=True)

    coming = threading.Thread(target=frozen_first)
    coming.start()
    (node,) = remote._met(door, 1, beats, time.monotonic() + PATIENT_S, lambda: False)
    coming.join()
    assert node.view == NodeView(0, socket.gethostname(), "127.0.0.1", "lo", "lo", False)
    node.abandon()
    for each in came:
        each.close()


def several(folder: Path) -> tuple[str, ...]:
    """A command that runs a small job on two nodes."""
    return (
        *("run", "--architecture", "a2", "--profile", "smoke", "--device", "cpu", "--nodes", "2"),
        *(
            "--trace",
            "none",
            "--world-size",
            "4",
            "--cluster",
            "tiny",
            "--folder",
            str(folder),
            "--events",
        ),
    )


WRONG = [
    ({AT: "10.0.0.1"}, "give HOST:PORT"),
    ({KEY: "short"}, "a secret of 16 letters or more"),
    ({AT: "192.0.2.1:29400"}, "nobody can listen at 192.0.2.1:29400"),
    ({AT: "no.such.host.invalid:29400"}, "nobody can listen at no.such.host.invalid:29400"),
]


@pytest.mark.parametrize(("changed", "said"), WRONG)
def test_a_place_that_agents_cannot_come_to_is_refused_before_any_run(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    said: str,
) -> None:
    good = {AT: f"127.0.0.1:{free_port()}", KEY: SECRET}
    for name, value in {**good, **changed}.items():
        monkeypatch.setenv(name, value)
    assert cli.main(several(tmp_path)) == 2
    out, complaint = capsys.readouterr()
    assert said in complaint
    assert complaint.count("\n") == 1
    assert out == "", "no plan, and no run"


def test_a_port_that_somebody_has_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, door: Door
) -> None:
    monkeypatch.setenv(AT, f"127.0.0.1:{door.port}")
    monkeypatch.setenv(KEY, SECRET)
    with pytest.raises(UsageError, match="a port that is free"):
        remote.check_place()


def test_a_cell_that_is_handed_in_is_refused_like_a_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As all others are that come after it: they do not fail one by one."""
    monkeypatch.delenv(AT, raising=False)
    (cell,) = planned(tmp_path, request("a2", nodes=2)).cells
    monkeypatch.setenv(AT, "192.0.2.1:29400")
    monkeypatch.setenv(KEY, SECRET)
    said: list[str] = []
    plan = Plan("c", "test", "tiny", tmp_path, cells=())
    campaign = Campaign(plan, lambda event, _: said.append(event))
    handed = json.dumps({"run": 1, "of": 2, "cell": cell.to_json()})
    with pytest.raises(UsageError, match="name an address of this host"):
        campaign.serve([handed, handed])
    assert "run-failed" not in said


@pytest.mark.integration
@pytest.mark.timeout(120)
def test_a_supervisor_that_waits_heeds_a_signal(tmp_path: Path) -> None:
    told = {AT: f"127.0.0.1:{free_port()}", KEY: SECRET, "PYTHONPATH": str(ROOT)}
    waiting = subprocess.Popen(
        [sys.executable, "-m", "measure", *several(tmp_path)],
        env={**os.environ, **told},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert waiting.stdout is not None
    said: list[dict[str, Any]] = []
    for text in waiting.stdout:
        said.append(json.loads(text))
        if said[-1].get("phase") == "starting":
            waiting.send_signal(signal.SIGTERM)
    assert waiting.wait(60) == 130
    assert waiting.stderr is not None
    assert waiting.stderr.read() == ""
    waiting.stdout.close()
    waiting.stderr.close()
    assert [event["event"] for event in said][-2:] == ["run-finished", "end"]
    record = json.loads(Path(said[-2]["record"]).read_text(encoding="utf-8"))
    assert record["validity_reasons"] == ["interrupted"]
