"""What stops ranks that copy their state round a ring beside the training's all-reduce, and what
does not: docs/decisions/0011-peer-replication-deadlock.md.

Real processes over gloo. What deadlocks is set free by its group's limit, a few seconds.
"""

import resource
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import pytest
import torch
import torch.distributed as dist

from measure.state.agreement import agree_on
from measure.state.errors import PeerFailedError
from tests.measure.state.processes import on_ranks

pytestmark = pytest.mark.integration

_RANKS = 4
_PATIENT_S = 20.0
_TRAINING_S, _REPLICAS_S = 2.0, 6.0
"""Limits of the two groups where something is to get stuck: as NCCL's 600 s and gloo's 1800 s."""
_CHUNK_BYTES = 1 << 20
_MIB = 1 << 20


@dataclass(frozen=True)
class Came:
    """How far a rank got: where it was stopped, and by what; both empty if by nothing."""

    at: str = ""
    error: str = ""


class Ring:
    """A rank with the training's group, and one of its own for the copies of its state."""

    def __init__(
        self, store: dist.Store, rank: int, size: int, training_s: float, replicas_s: float
    ) -> None:
        self.store, self.rank, self.size = store, rank, size
        self.after, self.before = (rank + 1) % size, (rank - 1) % size
        dist.init_process_group(
            "gloo",
            store=dist.PrefixStore("world", store),
            rank=rank,
            world_size=size,
            timeout=timedelta(seconds=_PATIENT_S),  # which also limits how it is formed
        )
        self.replicas = dist.new_group(timeout=timedelta(seconds=replicas_s))
        dist.distributed_c10d._set_pg_timeout(timedelta(seconds=training_s))
        self.at = "start"
        self.meet("formed")

    def meet(self, name: str) -> None:
        """Waits for all ranks, through the store."""
        if self.store.add(name, 1) == self.size:
            self.store.set(f"all {name}", "")
        self.store.wait([f"all {name}"], timedelta(seconds=_PATIENT_S))

    def train(self) -> None:
        """The all-reduce of one step."""
        self.at = "all-reduce"
        gradient = torch.full((1000,), float(self.rank))
        dist.all_reduce(gradient)
        assert int(gradient[0]) == sum(range(self.size))

    def exchange(self, size_bytes: int) -> None:
        """Sends to the next rank while it receives from the one before, chunk by chunk."""
        self.at = "exchange"
        mine = torch.full((size_bytes,), self.rank, dtype=torch.uint8)
        theirs = torch.empty_like(mine)
        pairs = zip(mine.split(_CHUNK_BYTES), theirs.split(_CHUNK_BYTES), strict=True)
        for sent, landed in pairs:
            under_way = [
                dist.isend(sent, self.after, group=self.replicas),
                dist.irecv(landed, self.before, group=self.replicas),
            ]
            for work in under_way:
                assert work is not None
                work.wait()
        assert bool((theirs == self.before).all())


Body = Callable[..., None]


def _body(
    store: dist.Store,
    rank: int,
    size: int,
    action: Body,
    training_s: float,
    replicas_s: float,
    argument: int,
) -> Came:
    ring = Ring(store, rank, size, training_s, replicas_s)
    try:
        action(ring, argument)
        came = Came()
    except RuntimeError as error:
        came = Came(ring.at, str(error).splitlines()[0])
    ring.meet("over")  # who leaves closes its connections, which would set the others free
    return came


def stuck(action: Body, argument: int = 0) -> list[Came]:
    """What came of it on each rank, where the limits of the two groups are short."""
    answers: list[Came] = on_ranks(_body, _RANKS, action, _TRAINING_S, _REPLICAS_S, argument)
    return answers


def went_well(action: Body, argument: int = 0, ranks: int = _RANKS) -> bool:
    """Whether no rank was stopped; AssertionError if one is stuck."""
    answers = on_ranks(_body, ranks, action, _PATIENT_S, _PATIENT_S, argument, deadline_s=60)
    assert answers == [Came()] * ranks
    return True


def _send_then_receive(ring: Ring, size_bytes: int) -> None:
    ring.at = "send"
    dist.send(torch.zeros(size_bytes, dtype=torch.uint8), ring.after, group=ring.replicas)
    ring.at = "receive"
    dist.recv(torch.empty(size_bytes, dtype=torch.uint8), ring.before, group=ring.replicas)


@pytest.mark.parametrize("size_bytes", [1, 100_000, 32 * _MIB])
def test_sending_before_receiving_round_a_ring_deadlocks_at_every_size(size_bytes: int) -> None:
    """gloo sends nothing until the receiver has said where to: not even one byte fits."""
    answers = stuck(_send_then_receive, size_bytes)
    assert [came.at for came in answers] == ["send"] * _RANKS
    assert any("for send operation" in came.error for came in answers)  # it closes its pairs


def _send_to_the_late(ring: Ring, late_s: int) -> None:
    if ring.rank == 0:
        dist.send(torch.zeros(1), 1, group=ring.replicas)
        assert ring.store.check(["receives"])
    elif ring.rank == 1:
        time.sleep(late_s)
        ring.store.set("receives", "")
        dist.recv(torch.zeros(1), 0, group=ring.replicas)


def test_a_send_of_four_bytes_waits_for_its_receiver() -> None:
    assert went_well(_send_to_the_late, 1)


def _rounds(ring: Ring, size_bytes: int) -> None:
    for _ in range(3):
        ring.train()
        ring.exchange(size_bytes)


@pytest.mark.parametrize("size_bytes", [1, 100_000, 32 * _MIB])
def test_sending_and_receiving_together_goes_on_at_every_size(size_bytes: int) -> None:
    assert went_well(_rounds, size_bytes)


def test_eight_ranks_go_on() -> None:
    assert went_well(_rounds, 4 * _MIB, ranks=8)


def _one_leaves_it_out(ring: Ring, _: int) -> None:
    if ring.rank != 0:
        ring.exchange(1000)
    ring.train()


def test_who_leaves_an_exchange_out_stops_the_training_of_all() -> None:
    """The paper's symptom. It is the training's all-reduce that times out, with its shorter limit,
    on rank 0, which left the exchange out, and on rank 2, which did everything right; the ranks
    that hold them up wait beside it, in a group with a longer limit."""
    answers = stuck(_one_leaves_it_out)
    assert [came.at for came in answers] == ["all-reduce", "exchange", "all-reduce", "exchange"]
    assert any(f"waiting {int(1000 * _TRAINING_S)}ms" in answers[r].error for r in (0, 2))


def _too_little_memory_on_one(ring: Ring, size_bytes: int) -> None:
    """What fails on rank 0 is caught there, as an optional copy's failure tends to be."""
    if ring.rank == 0:
        _limit_memory(8 * _MIB)
    try:
        ring.exchange(size_bytes)
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
    ring.train()


def _limit_memory(left_bytes: int) -> None:
    """This process gets no more than so much memory beyond what it has."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limit = pages * resource.getpagesize() + left_bytes
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def test_a_failure_that_only_its_own_rank_knows_deadlocks_above_a_size() -> None:
    """The same code goes on with a small state: so does a deadlock come to depend on the size."""
    assert went_well(_too_little_memory_on_one, 1000)
    answers = stuck(_too_little_memory_on_one, 64 * _MIB)
    assert [came.at for came in answers] == ["all-reduce", *["exchange"] * 3]


def _agreed_on_first(ring: Ring, size_bytes: int) -> None:
    if ring.rank == 0:
        _limit_memory(8 * _MIB)
    for step in range(3):
        ring.train()
        try:
            buffers = torch.empty(2 * size_bytes, dtype=torch.uint8)
            outcome: dict[str, int] | Exception = {"bytes": len(buffers)}
        except RuntimeError as error:
            outcome = error
        try:
            agree_on(ring.store, f"{step}", ring.rank, ring.size, outcome, _PATIENT_S)
            ring.exchange(size_bytes)
        except PeerFailedError as error:
            assert list(error.failures) == [0]  # noqa: PT017 - and every rank leaves it out


def test_with_an_agreement_before_it_all_leave_it_out() -> None:
    assert went_well(_agreed_on_first, 64 * _MIB)


def _in_two_orders(ring: Ring, _: int) -> None:
    todo: list[Callable[[], None]] = [ring.train, lambda: ring.exchange(1000)]
    for action in todo if ring.rank == 0 else reversed(todo):
        action()


def test_two_groups_in_different_orders_deadlock() -> None:
    """Rank 0 is one step ahead of the others when it exchanges."""
    answers = stuck(_in_two_orders)
    assert all(came.error for came in answers)


def _beside_the_training(ring: Ring, group: dist.ProcessGroup | None) -> None:
    """Gathers in a thread while the training reduces. Rank 0 begins with the one, the others with
    the other, as two threads may at any time."""
    ring.at = "beside"
    begun = threading.Event()
    works: list[dist.Work | None] = []
    gathered = [torch.empty(1000) for _ in range(ring.size)]
    mine, gradient = torch.full((1000,), float(ring.rank)), torch.ones(1000)

    def gather() -> None:
        works.append(dist.all_gather(gathered, mine, group=group, async_op=True))

    def reduce() -> None:
        works.append(dist.all_reduce(gradient, async_op=True))

    def begin(action: Callable[[], None], first: bool) -> None:
        if not first:
            begun.wait()
        action()
        begun.set()

    thread = threading.Thread(target=begin, args=(gather, ring.rank != 0))
    thread.start()
    begin(reduce, ring.rank == 0)
    thread.join()
    for work in works:
        assert work is not None
        work.wait()
    assert int(gradient[0]) == ring.size
    assert [int(one[0]) for one in gathered] == list(range(ring.size))


def _beside_it_in_its_group(ring: Ring, _: int) -> None:
    _beside_the_training(ring, None)


def _beside_it_in_another_group(ring: Ring, _: int) -> None:
    _beside_the_training(ring, ring.replicas)


def test_a_thread_that_shares_the_group_of_the_training_stops_it() -> None:
    """Collectives of a group are matched by their order, which differs between the ranks."""
    answers = stuck(_beside_it_in_its_group)
    assert all(came.error for came in answers)


def test_a_thread_with_a_group_of_its_own_does_not() -> None:
    assert went_well(_beside_it_in_another_group)


def _slow_copies(ring: Ring, training_waits: int) -> None:
    if ring.rank == 0:
        time.sleep(_TRAINING_S + 2.0)
    ring.exchange(1000)
    if training_waits:
        ring.meet("exchanged")
    ring.train()


def test_an_exchange_longer_than_the_limit_of_the_training_stops_it() -> None:
    """Nothing is stuck: rank 2 has its copies and waits in the next all-reduce, for others that
    still copy."""
    assert stuck(_slow_copies)[2].at == "all-reduce"


def test_training_that_waits_for_every_copy_is_not_timed_out_by_a_slow_one() -> None:
    assert stuck(_slow_copies, 1) == [Came()] * _RANKS
