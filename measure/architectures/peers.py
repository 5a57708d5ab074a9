"""Pair groups with peers that may be lost: who is live, and who was dropped and why."""

import time
from collections.abc import Callable, Iterable
from datetime import timedelta

import torch.distributed as dist
from torch import Tensor

from measure.rank.context import PairGroup
from measure.rank.peer_waits import for_peers

CLOSED = "connection closed"
TIME_LIMIT = "time limit"
SUPERVISOR = "supervisor"

_SHORTEST = timedelta(milliseconds=1)  # gloo takes zero for "no limit of its own"


class Deadline:
    """A moment up to which several waits share their time."""

    def __init__(self, limit_s: float) -> None:
        self._end = time.monotonic() + limit_s

    def left(self) -> timedelta:
        """What is left, never nothing: an answer that is there already is still taken."""
        return max(timedelta(seconds=self._end - time.monotonic()), _SHORTEST)

    def passed(self) -> bool:
        """Whether nothing is left that gloo could wait for: it counts in whole milliseconds."""
        return self._end - time.monotonic() < 2 * _SHORTEST.total_seconds()


class Peers:
    """This rank's live pair groups, by the peer's rank; a dropped peer never comes back."""

    def __init__(self, pairs: Iterable[PairGroup]) -> None:
        self._pairs = dict(sorted((pair.peer, pair) for pair in pairs))
        self.lost: dict[int, str] = {}

    def live(self) -> dict[int, PairGroup]:
        """The groups with live peers, in rank order (a copy)."""
        return dict(self._pairs)

    def drop(self, peer: int, reason: str) -> None:
        """Drops a live peer for ever; nothing happens for any other rank."""
        if self._pairs.pop(peer, None) is not None:
            self.lost[peer] = reason

    def start(self, begin: Callable[[PairGroup], dist.Work]) -> dict[int, dist.Work]:
        """Begins an operation with each live peer; a peer with whom it fails is dropped."""
        begun = {}
        for peer, pair in self.live().items():
            try:
                begun[peer] = begin(pair)
            except RuntimeError:
                self.drop(peer, CLOSED)
        return begun

    def finish(self, begun: dict[int, dist.Work], deadline: Deadline) -> list[int]:
        """Waits for operations of `start`; the peers with whom they succeeded, in rank order.

        The waits share one deadline. Who fails is dropped; gloo closes that pair's connection,
        so that a peer who was only slow notices that it was left behind.
        """
        return [peer for peer, work in begun.items() if self._finished(peer, work, deadline)]

    def _finished(self, peer: int, work: dist.Work, deadline: Deadline) -> bool:
        failure = failed(work, deadline)
        if failure is not None:
            self.drop(peer, failure)
        return failure is None


def failed(work: dist.Work, deadline: Deadline) -> str | None:
    """Waits for an operation: None when it succeeded, CLOSED or TIME_LIMIT when it did not."""
    try:
        with for_peers():
            work.wait(deadline.left())
    except RuntimeError:
        return TIME_LIMIT if deadline.passed() else CLOSED
    return None


def exchange(pair: PairGroup, outgoing: Tensor, incoming: Tensor, limit_s: float) -> str | None:
    """Sends and receives at once; None when both succeeded within `limit_s`, else why not."""
    deadline = Deadline(limit_s)
    try:
        works = pair.receive(incoming), pair.send(outgoing)
    except RuntimeError:
        return CLOSED
    failures = [failed(work, deadline) for work in works]
    return next((failure for failure in failures if failure), None)
