"""The survivors' own memory as a tier."""

from typing import Any

import pytest
import torch

from measure.interfaces.architecture import Architecture
from measure.state.contract import RunFacts, restore
from measure.state.live import LiveState
from tests.measure.ranks import Failed, Request, run_ranks

pytestmark = pytest.mark.integration

FACTS = RunFacts("test", {})
WORLD, STEPS = 3, 3


def _gathered(mine: Any) -> list[Any]:
    found: list[Any] = [None] * WORLD
    torch.distributed.all_gather_object(found, mine)
    return found


def _follow(live: LiveState, architecture: Architecture, restores: bool) -> None:
    store = torch.distributed.distributed_c10d._get_default_store()
    live.follow(architecture, FACTS, store, restores)


def _interrupted_again(architecture: Architecture) -> list[dict[str, Any]]:
    """What a rank keeps after three steps; and after a generation in which nothing was trained,
    and one that broke off before it had restored."""
    live = LiveState()
    _follow(live, architecture, restores=False)
    for step in range(STEPS):
        architecture.step()
        live.step_done(step)
    live.keep()
    found = [_said(live)]
    for number in range(2):
        _follow(live, architecture, restores=True)
        if number == 0:
            offers = _gathered(live.offer())
            (step,) = live.candidates(offers)
            restore(architecture, live.load(step, offers))
            architecture.state().loader.restore(architecture.state().loader.position())
            live.went_back(step)
            torch.rand(5)  # what a forward pass that broke off may have drawn
            architecture.state().loader.next_ids()
        live.keep()
        found.append(_said(live))
    return found


def _said(live: LiveState) -> dict[str, Any]:
    kept = live._kept
    assert kept is not None
    return {
        "step": kept.step,
        "data": kept.plain["data"],
        "rng": kept.tensors["rng.torch"].sum().item(),
    }


def test_what_was_never_trained_on_is_offered_as_it_was_restored() -> None:
    answers = run_ranks(Request("a2", "linear-m2", _interrupted_again), WORLD)
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    for kept, nothing_trained, broken_off in answers:
        assert kept["step"] == STEPS
        assert kept["data"]["offset"] > 0
        assert nothing_trained == kept
        assert broken_off == kept


def test_who_differs_at_one_step_is_no_candidate() -> None:
    live = LiveState()
    offers: list[dict[str, Any]] = [{"step": 3, "parameters": name} for name in "aab"]
    assert live.candidates(offers) == []
    assert live.candidates(offers[:2]) == [3]


def test_the_newest_that_somebody_completed_counts() -> None:
    live = LiveState()
    offers: list[dict[str, Any]] = [
        {"needs_optimizer": True, "step": 3, "parameters": "a"},
        {"needs_optimizer": True, "step": 4, "parameters": "b"},
        {"needs_optimizer": False},
    ]
    assert live.candidates(offers) == [4]
    assert live.candidates([{"needs_optimizer": False}]) == []
