"""A rank is killed, or falls silent: who goes on, who stops, and who knows."""

from typing import Any

import pytest

from measure.architectures.registry import entry_named
from tests.measure.bodies import Trained, train_with_a_kill, train_with_a_stop, train_with_word
from tests.measure.ranks import Died, Request, run_ranks

pytestmark = pytest.mark.integration

STEPS = 16
AT = 4
VICTIM = 2
SHORT_S = 2.0
GOING_ON = [("a1-async", 4, {0}), ("a6", 5, {1, 3})]
"""Architecture, ranks, and which of them have to do with the victim."""


def after(body: Any, name: str, world_size: int, silent: bool, limit_s: float) -> list[Any]:
    workload = entry_named(name).default_workload
    request = Request(name, workload, body, (STEPS, VICTIM, AT), round_limit_s=limit_s)
    return run_ranks(request, world_size, VICTIM if silent else None)


def check_survivors(answers: list[Any], knowing: set[int], how: str) -> None:
    for rank, answer in enumerate(answers):
        if rank == VICTIM:
            continue
        assert isinstance(answer, Trained), answer
        assert not answer.error
        assert len(answer.losses) == STEPS
        assert answer.lost == ({VICTIM: how} if rank in knowing else {}), rank


@pytest.mark.parametrize(("name", "world_size", "knowing"), GOING_ON)
def test_survivors_of_a_kill_go_on(name: str, world_size: int, knowing: set[int]) -> None:
    answers = after(train_with_a_kill, name, world_size, silent=False, limit_s=15.0)
    assert answers[VICTIM] == Died(9)
    check_survivors(answers, knowing, "connection closed")
    seconds = max(answer.seconds for answer in answers if isinstance(answer, Trained))
    assert seconds < 15.0  # nobody waited for the limit


@pytest.mark.parametrize(("name", "world_size", "knowing"), GOING_ON)
def test_a_silent_rank_is_dropped_at_the_limit(
    name: str, world_size: int, knowing: set[int]
) -> None:
    """And nobody else is, though its neighbours kept theirs waiting too."""
    answers = after(train_with_a_stop, name, world_size, silent=True, limit_s=SHORT_S)
    check_survivors(answers, knowing, "time limit")


@pytest.mark.parametrize(("name", "world_size", "knowing"), GOING_ON)
def test_the_supervisors_word_is_enough(name: str, world_size: int, knowing: set[int]) -> None:
    answers = after(train_with_word, name, world_size, silent=True, limit_s=15.0)
    check_survivors(answers, knowing, "supervisor")
    assert max(answer.seconds for answer in answers if isinstance(answer, Trained)) < 15.0


@pytest.mark.parametrize("name", ["a1-async", "a6"])
def test_one_loss_after_another(name: str) -> None:
    """A6 of three ranks: each survivor loses a neighbour; A1 of three: one worker is left."""
    answers = after(train_with_a_kill, name, 3, silent=False, limit_s=15.0)
    check_survivors(answers, {0} if name == "a1-async" else {0, 1}, "connection closed")


def test_a_server_without_workers_stops() -> None:
    request = Request("a1-async", "resnet50", train_with_a_kill, (STEPS, 1, AT), round_limit_s=15.0)
    server, worker = run_ranks(request, 2)
    assert worker == Died(9)
    assert server.error == "no worker is left"
    assert len(server.losses) == AT


def test_workers_without_a_server_stop() -> None:
    request = Request("a1-async", "resnet50", train_with_a_kill, (STEPS, 0, AT), round_limit_s=15.0)
    server, *workers = run_ranks(request, 3)
    assert server == Died(9)
    assert [worker.error for worker in workers] == ["the server is lost"] * 2


@pytest.mark.parametrize("name", ["a1-sync", "a2", "a3", "a4", "a5", "a7"])
def test_the_others_stop(name: str) -> None:
    answers = after(train_with_a_kill, name, 4, silent=False, limit_s=15.0)
    assert answers[VICTIM] == Died(9)
    for answer in answers[:VICTIM] + answers[VICTIM + 1 :]:
        assert isinstance(answer, Trained), answer
        assert answer.error
        # A rank may be a step ahead of the victim: it had all that it needed of it.
        assert AT <= len(answer.losses) <= AT + 1
        assert answer.seconds < 15.0
