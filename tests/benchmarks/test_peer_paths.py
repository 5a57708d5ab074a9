"""What a save to a peer's memory costs against bare gloo, and an announced one against a periodic.

Two ranks, 204.8 MB each as in test_save_paths.py, both ways at once. Bare gloo sends one tensor
of those bytes from memory that is ready into memory that is ready; FT2 adds the copy that
training goes on beside, a digest where the state leaves and one where it arrives, and two
agreements. An emergency save of FT4 is the first into its slots, each time: that it was prepared
is what the figure shows.
"""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
import torch.distributed as dist

from measure.faults.schedule import FaultEvent
from measure.interfaces.mechanism import Surroundings
from measure.mechanisms.just_in_time import JustInTime
from measure.mechanisms.peer_memory import PeerMemory
from measure.rank.context import RankContext
from measure.state import host_memory, segment_names
from measure.state.contract import capture, copied
from measure.state.digest import digests
from measure.workloads.catalogue import build
from tests.benchmarks.test_save_paths import NUMBERS, TENSORS, Action, Large, Timed, in_turn, said
from tests.measure.mechanisms.saving import Kept
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import FACTS

pytestmark = [pytest.mark.benchmark, pytest.mark.timeout(600)]

_LIMIT_S = 60.0
_ROUNDS = 15
_BYTES = TENSORS * NUMBERS * 4


class _Two:
    """One rank of two with everything that is timed; `key` names its shared memory."""

    def __init__(self, store: dist.Store, rank: int, size: int, key: str) -> None:
        self._store, self._rank, self._size, self._key = store, rank, size, key
        host = self._group("host")
        groups = SimpleNamespace(host_group=lambda: host)
        cpu = torch.device("cpu")
        context = RankContext(rank, size, 7, cpu, "gloo", 1.0, cast("Any", groups))
        self.large = Large(context, build("transformer", "smoke", 7))
        self.large.build()
        self.log = Kept()
        self._raw, self._meeting = self._group("raw"), self._group("meeting")
        self._out = torch.ones(_BYTES, dtype=torch.uint8)
        self._in = torch.ones(_BYTES, dtype=torch.uint8)
        self._state = capture(self.large, 1, FACTS)
        self._buffers = host_memory.buffers_like(self._state)
        self._saves = 0
        self.periodic = PeerMemory()
        self.periodic.attach(self.large, self._surroundings(f"{key}00"))
        self.periodic.first_step_done(0)

    def _group(self, name: str) -> Any:
        store = dist.PrefixStore(name, self._store)
        limit = timedelta(seconds=_LIMIT_S)
        return dist.ProcessGroupGloo(store, self._rank, self._size, limit)

    def _surroundings(self, run_key: str) -> Surroundings:
        return Surroundings(
            folder=Path("/nowhere"),
            run_key=run_key,
            store=dist.PrefixStore(run_key, self._store),
            new_store=lambda: self._store,
            generation=0,
            timeout_s=_LIMIT_S,
            interval_steps=1,
            replicas=1,
            one_writer=False,
            goes_on_alone=False,
            somebody_lost=lambda: False,
            facts=FACTS,
            log=self.log,
        )

    def meet(self) -> None:
        """Both ranks are here."""
        self._meeting.barrier().wait()

    def bare(self) -> None:
        """The bytes, both ways."""
        works = [
            self._raw.recv([self._in], 1 - self._rank, 0),
            self._raw.send([self._out], 1 - self._rank, 0),
        ]
        for work in works:
            work.wait()

    def save(self) -> None:
        """What a step under FT2 waits for where a save is due."""
        self._saves += 1
        self.periodic.after_step(self._saves)

    def announce(self) -> None:
        """FT4 has prepared, and both ranks have heard of a fault."""
        self._saves += 1
        self._fresh_key = f"{self._key}{self._saves % 255 + 1:02x}"
        self._just_in_time = JustInTime()
        self._just_in_time.attach(self.large, self._surroundings(self._fresh_key))
        self._just_in_time.first_step_done(0)
        self._just_in_time.after_step(0)
        event = FaultEvent(0, step=1, lead_s=3600.0)
        self._just_in_time.on_warning(event, torch.inf)
        self.meet()  # both have: the target is named
        self._saved_before = len(self._emergencies())

    def emergency(self) -> None:
        """Steps that take no time, until both have saved."""
        for step in range(1, 10):
            self._just_in_time.after_step(step)
            if len(self._emergencies()) > self._saved_before:
                return
        raise AssertionError("no emergency save")

    def forget(self) -> None:
        """The emergency save's memory is given back."""
        self._just_in_time.detach()
        self.meet()
        segment_names.remove(self._fresh_key)

    def _emergencies(self) -> list[dict[str, Any]]:
        return [event for event in self.log.events if event["event"] == "emergency"]

    def copy_and_digests(self) -> None:
        """What FT2 computes beside sending, without the sending: one copy, two digests."""
        copied(self._state, into=self._buffers)
        digests(self._state)
        digests(self._state)


def _timed(store: dist.Store, rank: int, size: int, key: str) -> list[Timed]:
    two = _Two(store, rank, size, key)
    return in_turn(
        Action("FT2's save", two.save, before=two.meet),
        Action("gloo send and receive", two.bare, before=two.meet),
        Action("FT4's emergency save", two.emergency, two.forget, before=two.announce),
        Action("one copy and two digests", two.copy_and_digests, before=two.meet),
        rounds=_ROUNDS,
    )


@pytest.fixture
def key() -> Iterator[str]:
    key = uuid.uuid4().hex[:10]
    yield key
    for number in range(256):
        segment_names.remove(f"{key}{number:02x}")


def test_ft2_against_bare_gloo_and_ft4_against_ft2(key: str) -> None:
    ranks: list[list[Timed]] = on_ranks(_timed, 2, key, deadline_s=400)
    assert all(isinstance(found, list) for found in ranks), ranks
    ours, bare, emergency, computed = (
        replace(
            first, seconds=[max(both) for both in zip(first.seconds, other.seconds, strict=True)]
        )
        for first, other in zip(*ranks, strict=True)
    )
    against_bare, _ = said(ours, bare, computed)
    (against_ft2,) = said(emergency, ours)
    alone_s = median(b + c for b, c in zip(bare.seconds, computed.seconds, strict=True))
    print(f"  bare gloo and then the copy and digests: {alone_s * 1e3:.0f} ms")
    assert against_bare < 5.0  # far above the figures, against a real mistake only
    assert against_ft2 < 2.0
