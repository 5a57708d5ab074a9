"""A slow network on connections made by hand: what is counted, what is limited, what is said."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from measure.faults.acts import pacing
from measure.faults.acts.act import Scene
from measure.faults.acts.pacing import Connection
from measure.faults.injector import Injector
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.interfaces.architecture import Architecture
from measure.rank.event_log import EventLog, read_log

SLOW = FaultEvent(0, FaultKind.STRAGGLER, step=1, params={"factor": 4.0, "what": "network"})
STEP_S, STEP_BYTES = 0.5, 1000


class Link:
    """One connection of the process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sent: dict[Connection, int] = {}
        self.limits: dict[Connection, int | None] = {}
        monkeypatch.setattr(pacing, "sent_bytes", lambda: dict(self.sent))
        monkeypatch.setattr(pacing, "limit", self.limits.__setitem__)

    def sends(self, name: str, count: int) -> None:
        connection = (3, name)
        self.sent[connection] = self.sent.get(connection, 0) + count


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Link:
    return Link(monkeypatch)


def made(folder: Path, **params: Any) -> Injector:
    event = FaultEvent(0, FaultKind.STRAGGLER, step=1, params={**SLOW.params, **params})
    injector = Injector(Schedule("test", (event,)), 0, EventLog(folder / "log.jsonl", 0))
    injector.attach(scene(folder))
    return injector


def scene(folder: Path) -> Scene:
    return Scene(cast("Architecture", None), folder, "0123456789ab")


def step(injector: Injector, number: int, link: Link, name: str, sent: int = STEP_BYTES) -> None:
    injector.before_step(number)
    if sent:
        link.sends(name, sent)
    injector.after_step(STEP_S)


def said(folder: Path) -> list[Mapping[str, Any]]:
    return [e for e in read_log(folder / "log.jsonl") if e["event"].startswith("fault")]


def test_what_restored_a_state_is_no_part_of_a_step(tmp_path: Path, link: Link) -> None:
    """Otherwise the new connections of a later generation were hardly limited."""
    injector = made(tmp_path)
    for number in range(3):
        step(injector, number, link, "first")
    assert link.limits == {(3, "first"): 500}
    injector.detach()
    assert link.limits == {(3, "first"): None}
    injector.take(0, [], {})
    injector.attach(scene(tmp_path))
    link.sends("second", 1_000_000)  # a replica for a peer, say
    step(injector, 1, link, "second")
    assert link.limits[3, "second"] == 500


def test_it_is_over_after_its_steps(tmp_path: Path, link: Link) -> None:
    injector = made(tmp_path, steps=2)
    for number in range(3):  # step 1 is measured, 2 slow
        step(injector, number, link, "first")
    assert link.limits == {(3, "first"): 500}
    for number in range(3, 6):
        step(injector, number, link, "first")
    assert link.limits == {(3, "first"): None}


def test_who_sends_nothing_cannot_be_slowed_and_says_so(tmp_path: Path, link: Link) -> None:
    injector = made(tmp_path)
    for number in range(4):
        step(injector, number, link, "first", sent=0)
    (event,) = said(tmp_path)
    assert (event["event"], event["ordinal"]) == ("fault-failed", 0)
    assert "no TCP connection" in event["why"]
    assert link.limits == {}
