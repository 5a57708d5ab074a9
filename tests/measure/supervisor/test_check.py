"""The consistency gate: ranks that differ in what they must share do not train together."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from measure.interfaces.architecture import Architecture
from measure.rank import restoring
from measure.state.contract import RunFacts, capture, copied, restore
from measure.state.digest import digests
from measure.supervisor.check import Proof, differences
from tests.measure.ranks import Failed, Request, run_ranks

FACTS = RunFacts("test", {"torch": "2"})
STEPS, WORLD, ODD = 3, 3, 1
HEALTHY_RESUMES = 100


def _parameter(architecture: Architecture) -> None:
    with torch.no_grad():
        next(architecture.state().model.parameters()).view(-1)[0] += 1.0


def _lowest_bit(architecture: Architecture) -> None:
    values = next(architecture.state().model.parameters()).detach().view(-1)
    values[:1].view(torch.int32).bitwise_xor_(1)


def _last_parameter(architecture: Architecture) -> None:
    with torch.no_grad():
        list(architecture.state().model.parameters())[-1].view(-1)[-1] *= 1.5


def _momentum(architecture: Architecture) -> None:
    optimizer = architecture.state().optimizer
    assert optimizer is not None
    kept = next(iter(optimizer.state.values()))["momentum_buffer"]
    kept.view(-1)[0] += 1.0


def _momentum_lost(architecture: Architecture) -> None:
    optimizer = architecture.state().optimizer
    assert optimizer is not None
    optimizer.state.clear()


def _learning_rate(architecture: Architecture) -> None:
    optimizer = architecture.state().optimizer
    assert optimizer is not None
    optimizer.param_groups[0]["lr"] *= 0.5


def _generator(architecture: Architecture) -> None:
    torch.rand(1)


def _other_generator(architecture: Architecture) -> None:
    torch.manual_seed(architecture.context.rank + 1)


def _python_generator(architecture: Architecture) -> None:
    random.random()


def _read_on(architecture: Architecture) -> None:
    architecture.state().loader.next_ids()


def _another_epoch(architecture: Architecture) -> None:
    loader = architecture.state().loader
    loader.restore(replace(loader.position(), epoch=loader.position().epoch + 1))


def _another_shuffle(architecture: Architecture) -> None:
    loader = architecture.state().loader
    loader.restore(replace(loader.position(), permutation_seed=99))


DIVERGENCES: dict[str, Callable[[Architecture], None]] = {
    "a parameter": _parameter,
    "the lowest bit of a parameter": _lowest_bit,
    "the last parameter": _last_parameter,
    "the momentum": _momentum,
    "a lost optimizer": _momentum_lost,
    "the learning rate": _learning_rate,
    "the generator": _generator,
    "another rank's generator": _other_generator,
    "Python's generator": _python_generator,
    "the data position": _read_on,
    "the epoch": _another_epoch,
    "the order of the data": _another_shuffle,
}


def _proofs(architecture: Architecture, replicated: bool) -> dict[str, Proof]:
    """Trains, then goes back to its own state again and again, and shows a proof each time; the
    odd rank after something else had happened to it."""
    for _ in range(STEPS):
        architecture.step()
    state = copied(capture(architecture, STEPS, FACTS))
    promised, rank = digests(state).whole, architecture.context.rank
    found = {}
    for odd, diverge in {"": lambda _: None, **DIVERGENCES}.items():
        restore(architecture, state)
        if rank == ODD:
            diverge(architecture)
        shown = restoring.proof(architecture, STEPS, FACTS, replicated, promised)
        found[odd] = Proof(rank, STEPS, shown)
    return found


@pytest.mark.integration
@pytest.mark.parametrize(
    ("architecture", "workload"), [("a2", "linear-m2"), ("a4", "megatron-mlp-a4")]
)
def test_twelve_ranks_that_diverged_are_refused(architecture: str, workload: str) -> None:
    """Also where nobody else holds the same part of the model: it is not what it came from."""
    asked = Request(architecture, workload, _proofs, (architecture == "a2",))
    answers: list[Any] = run_ranks(asked, WORLD)
    assert not [answer for answer in answers if isinstance(answer, Failed)]
    assert len(DIVERGENCES) == 12
    assert differences([proofs[""] for proofs in answers]) == []
    for odd in DIVERGENCES:
        found = differences([proofs[odd] for proofs in answers])
        assert found, odd
        assert all(said.startswith(f"rank {ODD} ") for said in found), odd


@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_rank_at_another_step_is_refused(off_by: int) -> None:
    shown = {"position": "p", "parameters": "x"}
    steps = [STEPS, STEPS + off_by, STEPS]
    proofs = [Proof(rank, step, {**shown, "step": str(step)}) for rank, step in enumerate(steps)]
    assert f"rank {ODD} would train step {STEPS + off_by}, rank 0 step {STEPS}" in differences(
        proofs
    )


def _healthy(architecture: Architecture, replicated: bool) -> list[Proof]:
    proofs = []
    for number in range(1, HEALTHY_RESUMES + 1):
        architecture.step()
        state = copied(capture(architecture, number, FACTS))
        promised = digests(state).whole
        architecture.step()
        restore(architecture, state)
        shown = restoring.proof(architecture, number, FACTS, replicated, promised)
        proofs.append(Proof(architecture.context.rank, number, shown))
    return proofs


@pytest.mark.integration
@pytest.mark.parametrize(
    ("architecture", "workload"), [("a2", "linear-m2"), ("a4", "megatron-mlp-a4")]
)
def test_no_healthy_resume_is_refused(architecture: str, workload: str) -> None:
    asked = Request(architecture, workload, _healthy, (architecture == "a2",))
    answers: list[Any] = run_ranks(asked, WORLD)
    assert not [answer for answer in answers if isinstance(answer, Failed)]
    assert [differences(proofs) for proofs in zip(*answers, strict=True)] == [[]] * HEALTHY_RESUMES


def test_an_optimizer_that_only_one_rank_holds_differs_from_nobody() -> None:
    shown = {"step": "3", "position": "p", "parameters": "x"}
    proofs = [Proof(0, 3, {**shown, "optimizer": "o"}), Proof(1, 3, shown)]
    assert differences(proofs) == []


def test_what_starts_from_nothing_has_nothing_promised() -> None:
    shown = {"step": "0", "position": "p"}
    assert differences([Proof(0, 0, shown), Proof(1, 0, shown)]) == []
    assert differences([Proof(0, 0, shown), Proof(1, 0, {**shown, "restored": "x"})])
