"""What starts an agent, and what is refused, in one line that says what is valid."""

import threading
from argparse import Namespace
from contextlib import closing
from multiprocessing import Pipe

import pytest

from measure.cli import main
from measure.errors import UsageError
from measure.nodes.command import AT, KEY, NODE, _node, _ordered, place
from measure.nodes.line import Door, Line

GOOD = {AT: "10.0.0.1:29400", KEY: "k" * 16, NODE: "0"}


@pytest.mark.parametrize("text", ["", "host", "host:", ":29400", "host:x", "host:70000", "h:-1"])
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="give HOST:PORT"):
        place(text)


def test_a_place() -> None:
    assert place("10.0.0.1:29400") == ("10.0.0.1", 29400)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({AT: ""}, "give HOST:PORT"),
        ({KEY: "short"}, "a secret of 16 letters or more"),
        ({NODE: ""}, "say which node this is"),
        ({NODE: "first"}, "say which node this is"),
    ],
)
def test_what_is_missing_is_said(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    changed: dict[str, str],
    said: str,
) -> None:
    for name, value in {**GOOD, **changed}.items():
        monkeypatch.setenv(name, value)
    assert main(["node"]) == 2
    complaint = capsys.readouterr().err
    assert said in complaint
    assert complaint.count("\n") == 1


@pytest.mark.parametrize("option", ["--interface", "--recovery-interface"])
def test_an_interface_that_is_not_here_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], option: str
) -> None:
    for name, value in GOOD.items():
        monkeypatch.setenv(name, value)
    assert main(["node", option, "eht0"]) == 2
    complaint = capsys.readouterr().err
    assert "no interface 'eht0' with an address here: there are" in complaint
    assert "lo" in complaint.rpartition("there are ")[2].strip().split(", ")
    assert complaint.count("\n") == 1


@pytest.mark.integration
def test_who_is_served_by_nobody_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with closing(Door("127.0.0.1", 0, b"another key than theirs")) as door:
        for name, value in {**GOOD, AT: f"127.0.0.1:{door.port}"}.items():
            monkeypatch.setenv(name, value)
        answering = threading.Thread(target=door.next_line, args=(20.0,))
        answering.start()
        assert main(["node", "--patience", "0.5"]) == 2
        answering.join()
    assert "no run came from 127.0.0.1" in capsys.readouterr().err


def test_a_task_of_slurm_is_the_node_that_slurm_says(monkeypatch: pytest.MonkeyPatch) -> None:
    options = Namespace(node=None)
    monkeypatch.delenv(NODE, raising=False)
    monkeypatch.setenv("SLURM_NODEID", "3")
    assert _node(options) == 3
    monkeypatch.setenv(NODE, "1")
    assert _node(options) == 1
    assert _node(Namespace(node=0)) == 0


def test_an_agent_that_is_kept_waits_where_it_is_not_wanted() -> None:
    """In a run on fewer nodes than there are agents."""
    for waits in (True, False):
        near, far = Pipe()
        line, other = Line(near, ""), Line(far, "")
        other.say("refused", why="node 3 is not wanted")
        if waits:
            assert _ordered(line, {"node": 3}, waits=True) is None
        else:
            with pytest.raises(UsageError, match="node 3 is not wanted"):
                _ordered(line, {"node": 3}, waits=False)
        line.close()
        other.close()
