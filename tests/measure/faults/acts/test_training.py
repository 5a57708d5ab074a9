"""Faults of the training on real ranks: each does what it says, where it says, and nothing else."""

from pathlib import Path

import pytest

from measure.faults.schedule import FaultEvent, FaultKind
from tests.measure.faults.acts.struck import Trained, bits_between, changed, trained_under

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

VICTIM = 1
PARAMETERS, OPTIMIZER, RNG = "model.parameters.", "optimizer.", "rng."
GRADIENT, PARAMETER, BUFFER, SKIPPED, DRAWN, PARTIAL, SLOW, LINK = 2, 4, 6, 8, 10, 13, 15, 19
LINKED = {"factor": 5.0, "what": "network", "steps": 10}
EVENTS = (
    FaultEvent(VICTIM, FaultKind.FLIP_GRADIENT, step=GRADIENT, params={"bit": 22}),
    FaultEvent(VICTIM, FaultKind.FLIP_PARAMETER, step=PARAMETER, params={"bit": 10}),
    FaultEvent(VICTIM, FaultKind.FLIP_BUFFER, step=BUFFER, params={"bit": 5, "seed": 3}),
    FaultEvent(VICTIM, FaultKind.SKIPPED_UPDATE, step=SKIPPED),
    FaultEvent(VICTIM, FaultKind.WRONG_RNG, step=DRAWN),
    FaultEvent(VICTIM, FaultKind.PARTIAL_RESTORE, step=PARTIAL),
    FaultEvent(VICTIM, FaultKind.STRAGGLER, step=SLOW, params={"factor": 3.0, "steps": 2}),
    FaultEvent(VICTIM, FaultKind.STRAGGLER, step=LINK, params=LINKED),
)
STEPS = 32


@pytest.fixture(scope="module")
def ranks(tmp_path_factory: pytest.TempPathFactory) -> list[Trained]:
    """Three ranks of ring all-reduce; one is struck by one fault after the other."""
    return trained_under("a2", "transformer", tmp_path_factory.mktemp("a2"), EVENTS, STEPS)


def test_each_is_said_by_its_victim_alone_and_once(ranks: list[Trained]) -> None:
    said = [(e["event"], e["ordinal"], e["kind"], e["steps"]) for e in ranks[VICTIM].events]
    assert said == [("fault", n, each.kind.value, each.step) for n, each in enumerate(EVENTS)]
    assert ranks[VICTIM].told == list(range(len(EVENTS)))
    assert [rank.events for rank in (ranks[0], ranks[2])] == [[], []]


def test_nothing_happens_to_the_others(ranks: list[Trained]) -> None:
    for rank in (ranks[0], ranks[2]):
        assert [step for step in range(STEPS) if changed(rank.left[step], rank.struck[step])] == []


def test_a_flipped_gradient_reaches_one_element_of_one_rank(ranks: list[Trained]) -> None:
    """The optimizer uses it after the ranks have averaged: only this one goes wrong."""
    mine, other = ranks[VICTIM].stepped[GRADIENT], ranks[0].stepped[GRADIENT]
    (name,) = changed(other, mine, PARAMETERS)
    assert name == PARAMETERS + ranks[VICTIM].events[0]["tensor"]
    words = mine[name].view("<u4") ^ other[name].view("<u4")
    (index,) = words.nonzero()[0]
    assert index == ranks[VICTIM].events[0]["index"]
    assert changed(ranks[VICTIM].left[GRADIENT], ranks[VICTIM].struck[GRADIENT]) == []


@pytest.mark.parametrize(("step", "prefix"), [(PARAMETER, PARAMETERS), (BUFFER, OPTIMIZER)])
def test_one_bit_is_flipped_before_the_step(ranks: list[Trained], step: int, prefix: str) -> None:
    before, after = ranks[VICTIM].left[step], ranks[VICTIM].struck[step]
    assert bits_between(before, after) == 1
    (name,) = changed(before, after)
    assert name.startswith(prefix)


def test_what_is_said_of_a_flip_is_what_was_done(ranks: list[Trained]) -> None:
    said = ranks[VICTIM].events[1]
    before, after = ranks[VICTIM].left[PARAMETER], ranks[VICTIM].struck[PARAMETER]
    at = slice(4 * said["index"], 4 * said["index"] + 4)
    name = PARAMETERS + said["tensor"]
    assert before[name][at].tobytes().hex() == said["before"]
    assert after[name][at].tobytes().hex() == said["after"]
    assert int(said["before"], 16) ^ int(said["after"], 16) == 1 << 2 << 16  # byte 1 of 4, bit 2


def test_a_skipped_update_leaves_parameters_and_optimizer(ranks: list[Trained]) -> None:
    mine = ranks[VICTIM]
    for prefix in (PARAMETERS, OPTIMIZER):
        assert changed(mine.left[SKIPPED], mine.stepped[SKIPPED], prefix) == []
        assert changed(ranks[0].left[SKIPPED], ranks[0].stepped[SKIPPED], prefix) != []
        assert changed(mine.left[SKIPPED + 1], mine.stepped[SKIPPED + 1], prefix) != []


def test_wrong_random_numbers_are_those_of_every_generator(ranks: list[Trained]) -> None:
    mine = ranks[VICTIM]
    found = changed(mine.left[DRAWN], mine.struck[DRAWN])
    assert f"{RNG}torch" in found
    assert all(name.startswith(RNG) for name in found)
    assert mine.events[4]["generators"][:2] == ["python", "torch"]


def test_a_partial_restore_mixes_two_steps(ranks: list[Trained]) -> None:
    mine, said = ranks[VICTIM], ranks[VICTIM].events[5]
    older, before, after = mine.left[PARTIAL - 3], mine.left[PARTIAL], mine.struck[PARTIAL]
    names = [PARAMETERS + name for name in said["tensors"]]
    assert changed(before, after) == names
    assert changed({n: older[n] for n in names}, {n: after[n] for n in names}) == []
    assert 0 < len(names) < len([n for n in after if n.startswith(PARAMETERS)])


def test_a_straggler_takes_its_factor_and_stops_when_it_is_over(ranks: list[Trained]) -> None:
    mine, said = ranks[VICTIM], ranks[VICTIM].events[6]
    assert said["pause_s"] == pytest.approx(2.0 * said["usual_s"])
    assert said["usual_s"] == pytest.approx(sum(mine.steps_s[SLOW - 8 : SLOW]) / 8)
    assert min(mine.steps_s[SLOW : SLOW + 2]) >= said["pause_s"]
    assert mine.hooks == ranks[0].hooks  # those that the architecture has itself
    assert ranks[0].events == []


def test_a_slow_network_is_limited_by_the_kernel(ranks: list[Trained]) -> None:
    """What is sent in ten steps takes five times as long; a burst or two may pass at once."""
    mine, said = ranks[VICTIM], ranks[VICTIM].events[7]
    assert said["connections"] >= 1
    slow_s = sum(mine.steps_s[LINK + 1 : LINK + 11])
    assert slow_s >= 0.5 * 10 * 5.0 * said["usual_s"]


def test_a_worker_without_an_optimizer_hands_in_its_flipped_gradient(tmp_path: Path) -> None:
    """The server takes it for the worker's, and so it reaches all alike."""
    flip = FaultEvent(VICTIM, FaultKind.FLIP_GRADIENT, step=1, params={"bit": 22})
    calm = trained_under("a1-sync", "transformer", tmp_path, (), 2)
    struck = trained_under("a1-sync", "transformer", tmp_path, (flip,), 2)
    name = PARAMETERS + struck[VICTIM].events[0]["tensor"]
    assert changed(calm[0].stepped[1], struck[0].stepped[1], PARAMETERS) == [name]
    assert changed(struck[0].stepped[1], struck[VICTIM].stepped[1], PARAMETERS) == []


def test_what_is_not_there_cannot_be_struck_and_it_is_said_why(tmp_path: Path) -> None:
    """A worker of a parameter server has no optimizer; nothing was saved to storage or memory."""
    kinds = (
        FaultKind.FLIP_BUFFER,
        FaultKind.FLIP_REPLICA,
        FaultKind.CORRUPT_SHARD,
        FaultKind.MISSING_SHARD,
        FaultKind.CORRUPT_MANIFEST,
    )
    events = tuple(FaultEvent(VICTIM, kind, step=1) for kind in kinds)
    mine = trained_under("a1-sync", "transformer", tmp_path, events, 3)[VICTIM]
    assert [(e["event"], e["ordinal"]) for e in mine.events] == [
        ("fault-failed", n) for n in range(len(kinds))
    ]
    assert all(event["why"] for event in mine.events)
    assert mine.told == []
