"""Replicas between real processes: what is agreed on is there, whoever is lost and whenever."""

import os
import resource
import time
import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist

from measure.errors import InfeasibleError
from measure.interfaces.mechanism import Log, Surroundings
from measure.rank import links
from measure.rank.context import RankContext
from measure.rank.groups import stay_on_loopback
from measure.state import replicas as module
from measure.state import segment_names, segments
from measure.state.agreement import agree_on
from measure.state.contract import RankState, RunFacts
from measure.state.digest import digests
from measure.state.errors import NoSpaceError, StateError
from measure.state.replicas import Replicas
from measure.state.segments import Slot
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import small_state

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

PATIENT_S, SHORT_S = 20.0, 2.0


@pytest.fixture
def run_key() -> Iterator[str]:
    """Names of memory that this test alone has; nothing of it is left."""
    key = uuid.uuid4().hex[:12]
    yield key
    segment_names.remove(key)
    assert not list(segment_names.FOLDER.glob(f"failbench-{key}-*"))


class Rank:
    """A rank's replicas, over a group of its own in each generation."""

    def __init__(self, store: Any, rank: int, world_size: int, run_key: str, **named: Any) -> None:
        stay_on_loopback()
        self.store, self.rank, self.world_size, self.run_key = store, rank, world_size, run_key
        self.peers = named.get("peers", 1)
        self.timeout_s = named.get("timeout_s", PATIENT_S)
        self.nodes: tuple[int, ...] = named.get("nodes", ())
        self.kept: int | None = named.get("kept")
        self.replicas = Replicas("ft2", "peer memory")

    def attach(self, generation: int, expected_bytes: int = 100) -> None:
        """Enters a generation."""
        store = dist.PrefixStore(f"generation-{generation}", self.store)
        limit = timedelta(seconds=PATIENT_S)
        group: Any = dist.ProcessGroupGloo(
            dist.PrefixStore("host", store), self.rank, self.world_size, limit
        )
        groups = SimpleNamespace(host_group=lambda: group)
        context = cast(
            "RankContext",
            SimpleNamespace(rank=self.rank, world_size=self.world_size, groups=groups),
        )
        self.at = Surroundings(
            Path("/nowhere"),
            self.run_key,
            store,
            lambda: store,
            generation,
            self.timeout_s,
            1,
            self.peers,
            False,
            False,
            lambda: False,
            RunFacts("", {}),
            cast("Log", SimpleNamespace(write=lambda *_, **__: 0.0)),
            self.nodes,
            self.nodes[self.rank] if self.nodes else None,
            self.kept,
        )
        found = links.group_links(context)
        self.replicas.attach(self.at, context, found, self.peers, expected_bytes)

    def state(self, step: int) -> RankState:
        """This rank's state after so many steps."""
        return small_state(step, self.rank, self.world_size)

    def save(self, step: int) -> int:
        """Saves that."""
        return self.replicas.save(self.state(step), f"save-{step}")

    def lose_memory(self) -> None:
        """As after the loss of this rank's host: a new process, and nothing in its memory."""
        segment_names.remove(self.run_key, self.rank)
        self.replicas = Replicas("ft2", "peer memory")

    def offers(self) -> list[Any]:
        """Every rank's offer."""
        name, mine = f"offers-{uuid.uuid4().hex}", {"offer": self.replicas.offer()}
        key = "name of offers"
        named = self.at.store.compare_set(key, "", name).decode()
        reports = agree_on(self.at.store, named, self.rank, self.world_size, mine, PATIENT_S)
        return [report["offer"] for report in reports]

    def restore(self) -> int | None:
        """Loads the newest candidate, which must be what was saved; its step."""
        offers = self.offers()
        steps = self.replicas.candidates(offers)
        if not steps:
            return None
        state = self.replicas.load(steps[0], offers)
        assert digests(state) == digests(self.state(steps[0]))
        self.replicas.went_back(steps[0])
        return steps[0]


def _after_losses(
    store: Any, rank: int, size: int, key: str, lost: list[int], peers: int
) -> list[int | None]:
    here = Rank(store, rank, size, key, peers=peers)
    here.attach(0)
    for step in (1, 2, 3):
        here.save(step)
    here.replicas.detach()
    if rank in lost:
        here.lose_memory()
    here.attach(1)
    found = [here.restore()]
    here.save(4)
    here.replicas.detach()
    here.attach(2)
    return [*found, here.restore()]


@pytest.mark.parametrize(
    ("peers", "lost", "step"),
    [
        (1, [], 3),
        (1, [2], 3),
        (1, [0, 2], 3),
        (1, [1, 2], None),
        (2, [1, 2], 3),
        (2, [3, 0], 3),
        (2, [1, 2, 3], None),
        (3, [1, 2, 3], 3),
    ],
)
def test_who_is_lost_is_restored_from_its_peers(
    run_key: str, peers: int, lost: list[int], step: int | None
) -> None:
    assert on_ranks(_after_losses, 4, run_key, lost, peers) == [[step, 4]] * 4


def test_two_ranks_hold_each_other(run_key: str) -> None:
    assert on_ranks(_after_losses, 2, run_key, [1], 1) == [[3, 4]] * 2


def _dies_before_its_commit(
    store: Any, rank: int, size: int, key: str, silent: list[int], lost: list[int]
) -> int | None:
    here = Rank(store, rank, size, key)
    here.attach(0)
    here.save(1)
    here.save(2)
    if rank in silent:  # it agreed, and was gone before it could commit
        here.replicas._commit = lambda _: None  # type: ignore[method-assign, assignment]
    here.save(3)
    here.replicas.detach()
    here.replicas = Replicas("ft2", "peer memory")  # another process in the same place
    if rank in lost:
        here.lose_memory()
    here.attach(1)
    found = here.restore()
    assert all(slot.status != segments.FILLED for slot in here.replicas._all_slots())
    return found


@pytest.mark.parametrize("lost", [[], [1], [2]])
def test_one_committed_slot_proves_the_agreement(run_key: str, lost: list[int]) -> None:
    found = on_ranks(_dies_before_its_commit, 3, run_key, [1, 2], lost)
    assert found == [3, 3, 3]


def test_what_nobody_committed_is_not_offered_and_the_older_one_is(run_key: str) -> None:
    found = on_ranks(_dies_before_its_commit, 3, run_key, [0, 1, 2], [])
    assert found == [2, 2, 2]


def _no_room_on_one(store: Any, rank: int, size: int, key: str) -> tuple[str, int | None]:
    here = Rank(store, rank, size, key, timeout_s=SHORT_S)
    here.attach(0)
    here.save(1)
    if rank == size - 1:

        def full(*_: Any) -> None:
            raise NoSpaceError("no room")

        here.replicas._land = full  # type: ignore[method-assign, assignment]
    said = _what_fails(lambda: here.save(2))
    here.replicas.detach()
    here.attach(1)
    return said, here.restore()


def _what_fails(action: Any) -> str:
    try:
        action()
    except (StateError, RuntimeError, InfeasibleError) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def test_what_one_rank_fails_at_has_failed_on_all(run_key: str) -> None:
    for said, step in on_ranks(_no_room_on_one, 3, run_key):
        assert said.startswith("PeerFailedError")
        assert "NoSpaceError: no room" in said
        assert step == 1


def _arrives_changed(store: Any, rank: int, size: int, key: str) -> tuple[str, int | None]:
    here = Rank(store, rank, size, key)
    here.attach(0)
    here.save(1)
    if rank == 2:
        take = module._Landing.take

        def changed(landing: Any, begin: int, end: int) -> None:
            landing.payload[begin] ^= 1
            take(landing, begin, end)

        setattr(module._Landing, "take", changed)  # noqa: B010
    said = _what_fails(lambda: here.save(2))
    here.replicas.detach()
    here.attach(1)
    return said, here.restore()


def test_a_replica_that_is_another_fails_the_save(run_key: str) -> None:
    for said, step in on_ranks(_arrives_changed, 3, run_key):
        assert "PeerFailedError" in said
        assert "rank 2: its copy of rank 1's state is another one" in said
        assert step == 1


def _own_copy_damaged(store: Any, rank: int, size: int, key: str) -> tuple[int | None, int]:
    here = Rank(store, rank, size, key)
    here.attach(0)
    here.save(1)
    here.save(2)
    if rank == 1:
        slot = next(s for s in here.replicas._slots[1] if s.order[1] == 2)
        slot._memory[segments.DATA_AT + 3] ^= 4
    here.replicas.detach()
    here.attach(1)
    return here.restore(), len(here.replicas.rejected())


def test_a_damaged_own_state_is_fetched_from_its_holder(run_key: str) -> None:
    assert on_ranks(_own_copy_damaged, 3, run_key) == [(2, 0), (2, 1), (2, 0)]


def _all_copies_damaged(store: Any, rank: int, size: int, key: str) -> int | None:
    here = Rank(store, rank, size, key)
    here.attach(0)
    here.save(1)
    here.save(2)
    for slot in here.replicas._slots.get(1, ()):
        if slot.order[1] == 2:
            slot._memory[segments.DATA_AT + 3] ^= 4
    here.replicas.detach()
    here.attach(1)
    return here.restore()


def test_without_a_whole_copy_the_generation_before_is_taken(run_key: str) -> None:
    assert on_ranks(_all_copies_damaged, 3, run_key) == [1, 1, 1]


def _vanishes(store: Any, rank: int, size: int, key: str, when: str) -> str:
    here = Rank(store, rank, size, key, timeout_s=SHORT_S)
    here.attach(0)
    here.save(1)
    if rank == 1:
        if when == "silent":
            time.sleep(30)
        here.replicas._copy_and_send = lambda *_: os._exit(7)  # type: ignore[method-assign]
    return _what_fails(lambda: here.save(2))


@pytest.mark.parametrize("when", ["dead", "silent"])
def test_a_peer_that_is_gone_keeps_nobody_waiting(run_key: str, when: str) -> None:
    found = on_ranks(_vanishes, 4, run_key, when, silent=1, deadline_s=15)
    for said in (found[0], *found[2:]):
        assert said.startswith(("RuntimeError", "PeerFailedError", "DistNetworkError"))


class _Struck(BaseException):
    pass


def _struck_in_the_middle(store: Any, rank: int, size: int, key: str, lost: bool) -> int | None:
    here = Rank(store, rank, size, key, timeout_s=SHORT_S)
    here.attach(0)
    here.save(1)
    here.save(2)
    if rank == 1:
        copied_in = segments.copied_in

        def half(*arguments: Any) -> Iterator[int]:
            yield next(copied_in(*arguments))
            raise _Struck

        setattr(segments, "copied_in", half)  # noqa: B010
    try:
        here.save(3)
    except (StateError, RuntimeError, _Struck):
        here.replicas.detach()
    if rank == 1:
        here.replicas = Replicas("ft2", "peer memory")
        if lost:
            here.lose_memory()
        setattr(segments, "copied_in", copied_in)  # noqa: B010
    here.attach(1)
    return here.restore()


@pytest.mark.parametrize("lost", [False, True])
def test_a_save_that_is_struck_in_the_middle_leaves_the_one_before(
    run_key: str, lost: bool
) -> None:
    assert on_ranks(_struck_in_the_middle, 4, run_key, lost) == [2, 2, 2, 2]


def _too_little_memory(store: Any, rank: int, size: int, key: str) -> str:
    if rank == 1:
        setattr(segments, "free_bytes", lambda _: 10_000_000)  # noqa: B010
    return _what_fails(lambda: Rank(store, rank, size, key).attach(0, 1_000_000))


def test_too_little_memory_for_all_ranks_of_a_host_is_infeasible(run_key: str) -> None:
    """One rank's part, 6 MB, would fit."""
    for said in on_ranks(_too_little_memory, 4, run_key):
        assert said.startswith("InfeasibleError: too little memory for replicas: 4 ranks")
        assert "10000000 are free" in said
    assert not list(segment_names.FOLDER.glob(f"failbench-{run_key}-*"))


def _many_saves(store: Any, rank: int, size: int, key: str) -> tuple[float, float]:
    here = Rank(store, rank, size, key)
    large = torch.randn(1_000_000)

    def save(step: int) -> None:
        state = here.state(step)
        tensors = {**state.tensors, "model.parameters.large": large}
        here.replicas.save(replace(state, tensors=tensors), f"save-{step}")

    here.attach(0, 4_000_000)
    taken = [slot.capacity for slot in here.replicas._all_slots()]
    for step in range(5):
        save(step)
    before = _resident_bytes()
    for step in range(5, 55):
        save(step)
    assert [slot.capacity for slot in here.replicas._all_slots()] == taken
    return (_resident_bytes() - before) / 50, resource.getpagesize()


def _resident_bytes() -> int:
    pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[1]
    return int(pages) * resource.getpagesize()


def test_fifty_saves_take_no_memory(run_key: str) -> None:
    for grown_bytes, _ in on_ranks(_many_saves, 2, run_key, deadline_s=60):
        assert grown_bytes < 100_000  # a state has 4 MB


def _another_run_s_generation(store: Any, rank: int, size: int, key: str) -> list[int | None]:
    """Ranks that start from zero, with what is left of an incomplete save beside them."""
    here = Rank(store, rank, size, key)
    here.attach(0)
    for step in (10, 20):
        here.save(step)
    here.replicas.detach()
    if rank in (1, 2):
        here.lose_memory()
    here.attach(1)
    found = [here.restore()]
    here.save(10)
    left = [s.order for s in here.replicas._all_slots() if s.order[1] > 10]
    assert left == []
    here.save(20)
    here.replicas.detach()
    here.attach(2)
    return [*found, here.restore()]


def test_what_is_left_of_a_run_that_started_anew_is_never_offered(run_key: str) -> None:
    assert on_ranks(_another_run_s_generation, 4, run_key) == [[None, 20]] * 4


def _went_back(store: Any, rank: int, size: int, key: str) -> list[int]:
    here = Rank(store, rank, size, key)
    here.attach(0)
    here.save(1)
    here.save(2)
    here.replicas.went_back(1)
    return here.replicas.candidates(here.offers())


def test_what_is_newer_than_where_training_went_back_to_is_gone(run_key: str) -> None:
    assert on_ranks(_went_back, 2, run_key) == [[1], [1]]


@pytest.mark.parametrize(
    ("offers", "steps"),
    [
        ([[], []], []),
        ([[[0, 5, "a", 0, True]], [[1, 5, "b", 0, False]]], [5]),
        ([[[0, 5, "a", 0, False]], [[1, 5, "b", 0, False]]], []),  # nobody committed it
        ([[[0, 5, "a", 0, True]], []], []),  # nobody has rank 1's
        ([[[0, 5, "a", 0, True]], [[1, 5, "b", 1, True]]], []),  # of two saves
        ([[[0, 5, "a", 0, True], [1, 5, "x", 0, True]], [[1, 5, "b", 0, True]]], []),
        ([[[0, 5, "a", 0, True], [1, 5, "b", 0, True]], []], [5]),
        (
            [
                [[0, 5, "a", 0, True], [0, 9, "c", 0, True]],
                [[1, 5, "b", 0, True], [1, 9, "d", 0, True]],
            ],
            [9, 5],
        ),
    ],
)
def test_a_step_is_offered_if_every_rank_s_state_is_somewhere(
    offers: list[Any], steps: list[int]
) -> None:
    assert Replicas("ft2", "peer memory").candidates(offers) == steps


def test_a_slot_s_owner_is_never_overwritten_at_its_last_commit(in_memory: Path) -> None:
    slots = [Slot(in_memory / str(n), 0, 0) for n in (0, 1)]
    tier = Replicas("ft2", "peer memory")
    tier._slots = {0: (slots[0], slots[1])}
    for number, (status, order) in enumerate(
        [(segments.COMMITTED, (0, 20)), (segments.COMMITTED, (1, 10))]
    ):
        slots[number].status, slots[number].order = status, order
    assert tier._next_slot(0) is slots[0]  # of an earlier generation
    slots[1].status = segments.FILLED
    assert tier._next_slot(0) is slots[1]  # of an attempt that failed


def test_a_slot_that_a_rollback_would_go_to_is_overwritten_last(in_memory: Path) -> None:
    slots = [Slot(in_memory / str(n), 0, 0) for n in range(3)]
    tier = Replicas("ft2", "peer memory")
    tier._slots = {0: tuple(slots)}
    for number, step in enumerate((10, 20, 30)):
        slots[number].status, slots[number].order = segments.COMMITTED, (0, step)
    for proved, expected in (([], 0), ([15], 1), ([25], 0), ([15, 25], 0), ([40], 0)):
        at = SimpleNamespace(proved=lambda found=proved: found)
        tier._now = cast("Any", SimpleNamespace(at=at))
        assert tier._next_slot(0) is slots[expected], proved
    slots[2].status = segments.FILLED  # of an attempt that failed: nothing is lost with it
    tier._now = cast("Any", SimpleNamespace(at=SimpleNamespace(proved=lambda: [15])))
    assert tier._next_slot(0) is slots[2]


def _keeps(store: Any, rank: int, size: int, key: str, kept: int | None) -> list[int]:
    here = Rank(store, rank, size, key, kept=kept)
    here.attach(0)
    for step in range(1, 8):
        here.save(step)
    return here.replicas.candidates(here.offers())


@pytest.mark.parametrize(("kept", "steps"), [(None, [7, 6]), (1, [7, 6]), (3, [7, 6, 5, 4])])
def test_so_many_saves_are_kept_beside_the_one_being_made(
    run_key: str, kept: int | None, steps: list[int]
) -> None:
    assert on_ranks(_keeps, 2, run_key, kept) == [steps] * 2


def _after_a_lost_node(
    store: Any, rank: int, size: int, key: str, nodes: list[tuple[int, ...]], peers: int
) -> tuple[list[int | None], bool]:
    """A node is lost between the first generation and the second; who was on it goes on elsewhere,
    as a new process. What is restored, and whether only what belongs here is here at the end."""
    before, after = nodes
    here = Rank(store, rank, size, key, peers=peers, nodes=before)
    here.attach(0)
    for step in (1, 2, 3):
        here.save(step)
    here.replicas.detach()
    if before[rank] != after[rank]:
        segment_names.remove(key, node=before[rank])
        here.replicas = Replicas("ft2", "peer memory")
    here.nodes = after
    here.attach(1)
    found = [here.restore()]
    here.save(4)
    here.replicas.detach()
    here.attach(2)
    found.append(here.restore())
    owners = {int(name.split("-")[1][1:]) for name in segment_names.held(key, rank, after[rank])}
    return found, owners == set(here.replicas._here().owners) == set(here.replicas._slots)


@pytest.mark.parametrize(
    ("before", "after", "peers", "step"),
    [
        ((0, 0, 1, 1), (0, 0, 0, 0), 1, 3),
        ((0, 0, 1, 1), (0, 0, 0, 0), 2, 3),
        ((0, 0, 1, 1, 2, 2), (0, 0, 0, 2, 2, 2), 1, 3),
        ((0, 0, 1, 1, 2, 2), (1, 2, 1, 1, 2, 2), 2, 3),
        # In the ring neighbours would have been lost together.
        ((0, 0, 0, 1, 1, 1), (0, 0, 0, 0, 0, 0), 1, 3),
        # Two nodes at once are more than one replica outlives.
        ((0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 0, 0), 1, None),
        ((0, 0, 1, 1, 2, 2), (0, 0, 0, 0, 0, 0), 2, 3),
    ],
)
def test_replicas_outlive_a_node_and_are_dealt_out_anew(
    run_key: str, before: tuple[int, ...], after: tuple[int, ...], peers: int, step: int | None
) -> None:
    found = on_ranks(_after_a_lost_node, len(before), run_key, [before, after], peers)
    assert found == [([step, 4], True)] * len(before)
