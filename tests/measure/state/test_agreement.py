"""One verdict for all ranks: real processes over a real store."""

import errno
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from measure.state.agreement import agree, agree_on, save_together, veto
from measure.state.checkpoints import Checkpoints
from measure.state.errors import PeerFailedError
from measure.state.manifest import Receipt, Serves
from measure.supervisor.store import hosted_store
from tests.measure.state.folders import loaded_step, save
from tests.measure.state.os_calls import set_on_os
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import small_state

pytestmark = pytest.mark.integration

_RANKS = 4
_PATIENT_S = 20.0
_EDGE_S = 0.2


@dataclass(frozen=True)
class Said:
    """What came of it on one rank."""

    result: Any
    failures: dict[int, str]
    seconds: float


def said(action: Callable[[], Any]) -> Said:
    begin = time.monotonic()
    result, failures = None, dict[int, str]()
    try:
        result = action()
    except PeerFailedError as error:
        failures = error.failures
    return Said(result, failures, time.monotonic() - begin)


def _receipt(rank: int) -> Receipt:
    return Receipt(rank, Serves.OWN, f"rank-{rank}.safetensors", 10 + rank, "0" * 32)


def _agree(store: dist.Store, rank: int, size: int, failing: dict[int, str]) -> Said:
    outcome = OSError(errno.EIO, failing[rank]) if rank in failing else _receipt(rank)
    return said(lambda: agree(store, "1", rank, size, outcome, _PATIENT_S))


def test_every_rank_gets_every_receipt() -> None:
    for answer in on_ranks(_agree, _RANKS, {}):
        assert answer.result == [_receipt(rank) for rank in range(_RANKS)]


@pytest.mark.parametrize("failing", [0, _RANKS - 1])
def test_a_failure_of_one_fails_on_all_at_once(failing: int) -> None:
    """Also of the last rank; nobody waits for the time limit."""
    for answer in on_ranks(_agree, _RANKS, {failing: "the disk is broken"}):
        assert list(answer.failures) == [failing]
        assert "OSError" in answer.failures[failing]
        assert "the disk is broken" in answer.failures[failing]
        assert answer.seconds < _PATIENT_S / 4


def _agree_late(store: dist.Store, rank: int, size: int, late: int, waits_s: float) -> Said:
    if rank == late:
        time.sleep(waits_s)
    return said(lambda: agree(store, "1", rank, size, _receipt(rank), 1.0))


def test_a_late_rank_gets_the_verdict_of_the_others() -> None:
    """It reports a success, after the others gave it up: it must not go on alone."""
    for answer in on_ranks(_agree_late, _RANKS, 2, 2.5):
        assert answer.failures == {2: "did not report in time"}
        assert answer.result is None


def test_a_dead_rank_fails_the_save_within_the_time_limit() -> None:
    answers = on_ranks(_agree_late, _RANKS, 2, 1000.0, silent=2)
    for answer in answers[:2] + answers[3:]:
        assert answer.failures == {2: "did not report in time"}
        assert 0.9 < answer.seconds < 4


def _on_the_edge(store: dist.Store, rank: int, size: int, rounds: int) -> list[str]:
    """A rank that arrives a little later in each round, past the moment when time is up."""
    verdicts = []
    for number in range(rounds):
        agree_on(store, f"meet {number}", rank, size, {}, _PATIENT_S)
        time.sleep(_EDGE_S * 2 * number / rounds if rank == size - 1 else 0.0)
        answer = said(partial(agree_on, store, f"edge {number}", rank, size, {"r": rank}, _EDGE_S))
        verdicts.append(str((answer.result, answer.failures)))
    return verdicts


def test_no_two_ranks_come_away_with_different_verdicts() -> None:
    rounds = 20
    answers = on_ranks(_on_the_edge, _RANKS, rounds)
    for verdicts in zip(*answers, strict=True):
        assert len(set(verdicts)) == 1
    assert len(set(answers[0])) == 2, "some rounds in time, some too late"


def _keys_left(store: dist.Store, rank: int, size: int) -> int:
    for number in range(30):
        agree_on(store, str(number), rank, size, {}, _PATIENT_S)
    return store.num_keys()


def test_the_store_does_not_grow_with_saves() -> None:
    assert max(on_ranks(_keys_left, _RANKS)) <= 2 * (_RANKS + 2) + 4


def _agree_with_one_more(store: dist.Store, rank: int, size: int) -> Said:
    inner = dist.PrefixStore("a membership", store)
    return said(lambda: agree_on(inner, "1", rank, size + 1, {}, 0.2))


def test_a_rank_that_never_started_is_named() -> None:
    for answer in on_ranks(_agree_with_one_more, 2):
        assert answer.failures == {2: "did not report in time"}


def _save(store: dist.Store, rank: int, size: int, folder: str, broken: str, where: int) -> Said:
    checkpoints = Checkpoints(Path(folder))
    state = small_state(3, rank, size)
    if rank == where:
        _break(broken)

    def write() -> Receipt:
        if rank == where and broken == "writer":
            raise RuntimeError("the writer thread died")
        return checkpoints.write(state)

    return said(
        lambda: save_together(checkpoints, store, "3", state, write, {"by": "a test"}, _PATIENT_S)
    )


def _break(what: str) -> None:
    number = {"full disk": errno.ENOSPC, "broken disk": errno.EIO}.get(what)
    if number is None:
        return

    def failing(*_: Any) -> int:
        raise OSError(number, os.strerror(number))

    set_on_os("fsync", failing)


def _two_saved(folder: Path) -> Checkpoints:
    checkpoints = Checkpoints(folder)
    checkpoints.open()
    save(checkpoints, 1)
    return checkpoints


def test_a_save_that_all_made_is_committed(tmp_path: Path) -> None:
    checkpoints = _two_saved(tmp_path)
    for answer in on_ranks(_save, 2, str(tmp_path), "", -1):
        assert [receipt.rank for receipt in answer.result] == [0, 1]
    assert loaded_step(checkpoints) == 3
    assert checkpoints.generations()[0].manifest.lineage == {"by": "a test"}


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ("writer", "RuntimeError: the writer thread died"),
        ("full disk", "NoSpaceError"),
        ("broken disk", "Input/output error"),
    ],
)
@pytest.mark.parametrize("where", [0, 1])
def test_one_broken_writer_fails_the_save_on_all(
    tmp_path: Path, broken: str, said: str, where: int
) -> None:
    checkpoints = _two_saved(tmp_path)
    for answer in on_ranks(_save, 2, str(tmp_path), broken, where):
        assert list(answer.failures) == [where]
        assert said in answer.failures[where]
        assert answer.seconds < _PATIENT_S / 4
    assert loaded_step(checkpoints) == 1


def _fail_to_commit(store: dist.Store, rank: int, size: int, folder: str) -> Said:
    checkpoints = Checkpoints(Path(folder))
    state = small_state(3, rank, size)

    def write() -> Receipt:
        receipt = checkpoints.write(state)
        _break("full disk")
        return receipt

    return said(lambda: save_together(checkpoints, store, "3", state, write, {}, _PATIENT_S))


def test_a_manifest_that_cannot_be_written_fails_the_save_on_all(tmp_path: Path) -> None:
    checkpoints = _two_saved(tmp_path)
    for answer in on_ranks(_fail_to_commit, 2, str(tmp_path)):
        assert list(answer.failures) == [0]
        assert "No space left" in answer.failures[0]
    assert loaded_step(checkpoints) == 1


def _veto(store: dist.Store, rank: int, size: int, rounds: int) -> list[Said]:
    """The last rank vetoes every second agreement before it comes to it."""
    found = []
    for number in range(rounds):
        vetoing, name = rank == size - 1 and number % 2 == 1, f"round {number}"
        error = ValueError("cannot take part")
        if vetoing:
            assert veto(store, name, rank, size, error)
            time.sleep(0.05)
        outcome: Any = error if vetoing else {"r": rank}
        found.append(said(partial(agree_on, store, name, rank, size, outcome, _PATIENT_S)))
    return [*found, Said(store.num_keys(), {}, 0.0)]


def test_a_veto_fails_an_agreement_on_all_at_once_and_leaves_nothing_behind() -> None:
    for answer in on_ranks(_veto, _RANKS, 20):
        for number, one in enumerate(answer[:-1]):
            assert list(one.failures) == [_RANKS - 1] * (number % 2)
            assert one.seconds < _PATIENT_S / 4
        assert answer[-1].result <= 2 * (_RANKS + 2) + 4


def _veto_late(store: dist.Store, rank: int, size: int) -> Any:
    found = said(lambda: agree_on(store, "1", rank, size, {"r": rank}, _PATIENT_S))
    return found.result, veto(store, "1", rank, size, ValueError("too late"))


def test_a_veto_of_what_is_decided_changes_nothing() -> None:
    for result, failed in on_ranks(_veto_late, 2):
        assert result == [{"r": 0}, {"r": 1}]
        assert not failed


def test_a_lost_store_is_an_error_of_its_own() -> None:
    """Nobody can agree any more: each rank says so by itself, and none waits for ever."""
    with hosted_store() as port:
        client = dist.TCPStore("127.0.0.1", port, is_master=False)
    with pytest.raises(PeerFailedError, match="rank 0: lost the store"):
        agree_on(client, "1", 0, 2, {}, 0.2)
