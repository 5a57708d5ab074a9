"""The ways back to training besides a warm spare: smaller, grown again, all processes anew."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from measure.faults.schedule import FaultEvent
from measure.interfaces.capabilities import Way
from measure.rank.event_log import read_log
from measure.workloads.catalogue import build
from measure.workloads.loader import Loader
from tests.measure.harness import nothing_left
from tests.measure.supervisor.test_recovery import STEPS, VICTIM, WORLD, losses, ran

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    with nothing_left():
        yield


def lineage(finished: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines on the disk, one a generation that trained."""
    path = Path(finished["record"]).parent / "lineage.jsonl"
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("architecture", ["a1-sync", "a2", "a3"])
def test_survivors_go_on_smaller_and_lose_no_step(tmp_path: Path, architecture: str) -> None:
    struck = ran(
        tmp_path, architecture, FaultEvent(VICTIM, step=25), mechanism="ft7", way=Way.SMALLER
    )
    assert struck["outcome"] == "recovered", struck["reasons"]
    first, second = lineage(struck)
    assert (first["world_size"], second["world_size"]) == (WORLD, WORLD - 1)
    assert (second["way"], second["step"], second["lost_steps"]) == ("smaller", 25, 0)
    assert second["global_batch"] < first["global_batch"]
    assert (first["equivalent"], second["equivalent"]) == (True, False)
    assert [member["place"] for member in second["members"]] == [0, 1, 3]


def _reference(seed: int, until: int, sizes: dict[int, int]) -> dict[int, list[float]]:
    """Each rank's loss by step, trained in this process: `sizes` says from which step on there
    are how many shards, which go on where those before them stood."""
    workload = build("linear-m2", "smoke", seed)
    model = workload.model(torch.device("cpu"))
    optimizer = workload.optimizer(model.parameters())
    dataset, batch = workload.dataset(), workload.batch_per_rank
    loaders = [Loader(dataset, batch, 0, 1, seed)]
    found: dict[int, list[float]] = {}
    for step in range(until):
        if step in sizes:
            position, shards = loaders[0].position(), sizes[step]
            loaders = [Loader(dataset, batch, n, shards, seed) for n in range(shards)]
            for loader in loaders:
                loader.restore(position)
        batches = [loader.next() for loader in loaders]
        each = [workload.loss(model(inputs), targets) for inputs, targets in batches]
        optimizer.zero_grad()
        torch.stack(each).mean().backward()
        optimizer.step()
        found[step] = [loss.item() for loss in each]
    return found


@pytest.mark.parametrize(("mechanism", "steps"), [("ft7", STEPS), ("ft8", 150)])
def test_no_update_and_no_sample_is_lost_or_made_twice(
    tmp_path: Path, mechanism: str, steps: int
) -> None:
    """Against an oracle in one process, which never fails: the same losses, shard by shard, also
    after the group has grown again."""
    event = FaultEvent(VICTIM, step=25)
    struck = ran(tmp_path, "a2", event, mechanism=mechanism, workload="linear-m2", steps=steps)
    assert struck["outcome"] == "recovered", struck["reasons"]
    sizes = {line["step"]: line["world_size"] for line in lineage(struck)}
    expected = _reference(0, steps, sizes)
    found = _losses_by_rank(struck)
    assert sorted(found) == list(range(steps))
    for step, of_ranks in found.items():
        complete = [of_ranks.get(rank) for rank in range(len(expected[step]))]
        # Who was interrupted after its update has not written it down.
        known = [(f, e) for f, e in zip(complete, expected[step], strict=True) if f is not None]
        assert [f for f, _ in known] == pytest.approx([e for _, e in known], rel=1e-4), step


@pytest.mark.parametrize("architecture", ["a1-sync", "a2"])
def test_a_group_grows_again_when_a_rank_comes_back(tmp_path: Path, architecture: str) -> None:
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25), mechanism="ft8", steps=200)
    assert struck["outcome"] == "recovered", struck["reasons"]
    found = [(line["way"], line["world_size"], line["lost_steps"]) for line in lineage(struck)]
    # A machine that is slow to form the smaller group may have the new process up before it.
    at_once = [("started", WORLD, 0)]
    assert found[1:] in ([("smaller", WORLD - 1, 0), ("grown", WORLD, 0)], at_once)
    ends = {rank["rank"]: rank["end"] for rank in struck["found"]["ranks"]}
    assert ends == {0: "finished", 1: "finished", VICTIM: "killed", 3: "finished", 4: "finished"}


@pytest.mark.parametrize("architecture", ["a4", "a5", "a7"])
def test_a_partition_that_is_gone_has_the_group_begin_anew(
    tmp_path: Path, architecture: str
) -> None:
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25), mechanism="ft8")
    assert struck["outcome"] == "restarted-from-zero", struck["reasons"]
    second = lineage(struck)[1]
    assert (second["way"], second["step"], second["lost_steps"]) == ("started", 0, 25)
    assert (second["source"], second["equivalent"]) == ("", False)


@pytest.mark.parametrize("architecture", ["a1-sync", "a2", "a4"])
def test_all_processes_anew_learn_what_an_uninterrupted_run_learns(
    tmp_path: Path, architecture: str
) -> None:
    calm = ran(tmp_path, architecture)
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25), way=Way.RESTART)
    assert struck["outcome"] == "recovered", struck["reasons"]
    second = lineage(struck)[1]
    assert (second["way"], second["source"], second["step"]) == ("restart", "storage", 20)
    assert {member["slot"] for member in second["members"]}.isdisjoint(range(WORLD))
    assert struck["found"]["steps_completed"] == STEPS
    assert _losses_by_rank(struck) == losses(calm)


def _losses_by_rank(finished: dict[str, Any]) -> dict[int, dict[int, float]]:
    """Loss by step and rank, as the generation had it that made the step last."""
    found: dict[int, dict[int, float]] = {}
    for line in lineage(finished):
        made: dict[int, dict[int, float]] = {}
        for member in line["members"]:
            path = Path(finished["record"]).parent / f"rank-{member['slot']}.jsonl"
            for step, loss in _steps_of(read_log(path), line["generation"]):
                made.setdefault(step, {})[member["rank"]] = loss
        found |= made
    return found


def _steps_of(events: list[dict[str, Any]], generation: int) -> Iterator[tuple[int, float]]:
    """(Step, loss) of what a process trained in a generation."""
    present = -1
    for event in events:
        if event["event"] == "training":
            present = event["generation"]
        if event["event"] == "step" and present == generation and event["loss"] is not None:
            yield event["step"], event["loss"]


def test_a_second_loss_strikes_who_was_started_anew(tmp_path: Path) -> None:
    """The fault belongs to the place, whichever process has it by then; none strikes twice."""
    events = (FaultEvent(VICTIM, step=15), FaultEvent(1, step=30))
    struck = ran(tmp_path, "a4", *events, way=Way.RESTART)
    assert struck["outcome"] == "recovered", struck["reasons"]
    assert [fault["fired"] for fault in struck["found"]["faults"]] == [True, True]
    assert [line["step"] for line in lineage(struck)] == [0, 10, 30]


@pytest.mark.parametrize("after_s", [0.02, 0.1])
def test_what_was_lost_is_not_forgotten_when_a_recovery_breaks_off(
    tmp_path: Path, after_s: float
) -> None:
    """The new processes have made no step yet when the second one is lost among them."""
    events = (FaultEvent(VICTIM, step=25), FaultEvent(1, after_s=after_s))
    struck = ran(tmp_path, "a4", *events, way=Way.RESTART, steps=60)
    assert struck["outcome"] == "recovered", struck["reasons"]
    second = lineage(struck)[1]
    assert (second["step"], second["lost_steps"]) == (20, 5)
    assert struck["found"]["recoveries"][0]["lost_steps"] == 5


@pytest.mark.parametrize("architecture", ["a1-async", "a6"])
def test_who_goes_on_alone_can_be_brought_back_whole(tmp_path: Path, architecture: str) -> None:
    """Such a training is not deterministic; but what each rank restores is what it had saved: the
    gate has compared the digests."""
    struck = ran(tmp_path, architecture, FaultEvent(VICTIM, step=25), way=Way.SPARE)
    assert struck["outcome"] == "recovered", struck["reasons"]
    second = lineage(struck)[1]
    assert (second["step"], second["source"], second["world_size"]) == (20, "storage", WORLD)


def test_failure_after_failure_at_one_step_ends_the_run_with_a_report(tmp_path: Path) -> None:
    """Seven ranks of eight are lost one after the other, each while the recovery is under way."""
    events = (
        FaultEvent(7, step=25),
        *(FaultEvent(rank, after_s=0.05 * (7 - rank)) for rank in (6, 5, 4, 3, 2, 1)),
    )
    struck = ran(tmp_path, "a4", *events, world_size=8)
    assert struck["outcome"] in ("recovered", "halted"), struck["reasons"]
    if struck["outcome"] == "halted":
        assert "stopped: failure after failure without a new step" in struck["found"]["notes"]


def test_a_run_that_gets_no_further_is_ended_with_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a supervisor that is patient with no failure at all."""
    monkeypatch.setattr("measure.supervisor.run._MOST_WITHOUT_PROGRESS", 0)
    struck = ran(tmp_path, "a4", FaultEvent(VICTIM, step=25))
    assert (struck["outcome"], struck["validity"]) == ("halted", "valid")
    assert struck["found"]["notes"] == ["stopped: failure after failure without a new step"]
    assert struck["found"]["recoveries"] == []
