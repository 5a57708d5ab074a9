"""Runs on several nodes as they are planned."""

import json
from pathlib import Path
from typing import Any

import pytest

from measure.campaign import Campaign, Plan
from measure.errors import UsageError
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.job_spec import JobSpec
from measure.nodes.command import AT
from tests.measure.harness import planned, request


@pytest.fixture(autouse=True)
def _parts_of_this_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(AT, raising=False)


def job(folder: Path, *events: FaultEvent, **asked: Any) -> JobSpec:
    trace = folder / "faults.json"
    trace.write_text(json.dumps(Schedule("test", events).to_json()), encoding="utf-8")
    usual = {"mechanism": "ft2", "trace": str(trace) if events else "none"}
    (cell,) = planned(folder, request("a2", **{**usual, **asked})).cells
    return cell.job


CRASH = FaultEvent(2, FaultKind.NODE_CRASH, step=5)
CUT = FaultEvent(2, FaultKind.PARTITION, step=5)


@pytest.mark.parametrize(
    ("nodes", "events", "spares"),
    [
        (1, [FaultEvent(1, step=5)], 1),
        (2, [FaultEvent(1, step=5)], 1),
        (2, [CRASH], 4),
        (4, [CRASH], 4),
        (3, [CRASH, FaultEvent(0, after_s=1.0)], 4),
        (3, [], 0),
    ],
)
def test_there_are_spares_for_a_lost_node(
    tmp_path: Path, nodes: int, events: list[FaultEvent], spares: int
) -> None:
    assert job(tmp_path, *events, nodes=nodes).spares == spares


def test_a_job_on_one_node_is_the_text_that_it_was(tmp_path: Path) -> None:
    one, several = job(tmp_path), job(tmp_path, nodes=2)
    assert "nodes" not in json.loads(one.to_json())
    assert json.loads(several.to_json())["nodes"] == 2
    for each in (one, several):
        assert JobSpec.from_json(each.to_json()) == each
    assert one.digest() != several.digest()


def test_a_cut_link_is_noticed_before_the_groups_time_out(tmp_path: Path) -> None:
    assert job(tmp_path).group_timeout_s == 2.0
    assert job(tmp_path, nodes=2).group_timeout_s == 5.0
    assert job(tmp_path, nodes=2, group_timeout_s=7.0).group_timeout_s == 7.0
    with pytest.raises(UsageError, match="must be 5 s or more on several nodes"):
        job(tmp_path, nodes=2, group_timeout_s=4.0)


def test_parts_of_a_host_have_no_link_to_cut(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="needs nodes that are hosts of their own"):
        job(tmp_path, CUT, nodes=2)
    monkeypatch.setenv(AT, "10.0.0.1:29400")
    assert job(tmp_path, CUT, nodes=2).spares == 4


def test_a_node_has_a_rank_at_least(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="number of nodes must be from 1 to 4, not 5"):
        job(tmp_path, nodes=5)
    with pytest.raises(UsageError, match="needs ranks on several nodes"):
        job(tmp_path, CRASH)


def test_hosts_are_nodes_of_the_cluster_and_parts_of_one_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A campaign of both sizes names the cluster of its run on most nodes."""
    cells = [c for n in (1, 3, 2) for c in planned(tmp_path, request("a2", nodes=n)).cells]
    campaign = Campaign(Plan("c", "test", "tiny", tmp_path, cells), lambda *_: None)

    def cluster() -> tuple[Any, ...]:
        found = campaign.planned()["surroundings"]["cluster"]
        return found["nodes"], found["ranks_per_node"], found["interconnect"]

    assert cluster() == (1, 4, "loopback")
    monkeypatch.setenv(AT, "10.0.0.1:29500")
    assert cluster() == (3, 2, "network")
