"""Moves memory of the host between ranks: what a peer needs is sent in chunks, and both
directions are under way at once.

A message is a head (its kind and lengths), a description, and the tensors' bytes. Chunks keep
every message far from the 2 GiB that transports stumble at, and let the receiver digest one
while the next is on its way. A peer may be silent for a limited time only.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor

from measure.errors import InfeasibleError
from measure.rank.context import RankContext
from measure.state.errors import StateError
from measure.state.layout import pieces
from measure.state.tensor_bytes import view_of

CHUNK_BYTES = 1 << 24
_LONGEST_DESCRIPTION_BYTES = 1 << 28
_REFUSED = -1


class Link(Protocol):
    """The way to one peer, for memory of the host."""

    def send(self, tensor: Tensor) -> dist.Work:
        """Starts sending; the tensor must stay as it is until `wait()` returned."""

    def receive(self, tensor: Tensor) -> dist.Work:
        """Starts receiving; what a peer sends arrives in the order in which it was sent."""


Links = Mapping[int, Link]
"""By the peer's rank."""


@dataclass(frozen=True, slots=True)
class _GroupLink:
    group: dist.ProcessGroup
    peer: int

    def send(self, tensor: Tensor) -> dist.Work:
        work: dist.Work = self.group.send([tensor], self.peer, 0)
        return work

    def receive(self, tensor: Tensor) -> dist.Work:
        work: dist.Work = self.group.recv([tensor], self.peer, 0)
        return work


def group_links(context: RankContext) -> Links:
    """To every other rank, over a group of all of them; InfeasibleError where there is none."""
    group = context.groups.host_group()
    return {r: _GroupLink(group, r) for r in range(context.world_size) if r != context.rank}


def ring_links(context: RankContext, label: str) -> Links:
    """To this rank's neighbours in the ring, over a pair group each: they need no group of all
    ranks."""
    peers = _ring_order(context.rank, context.world_size)
    return {peer: context.groups.pair(peer, label=label) for peer in peers}


def any_links(context: RankContext, label: str) -> Links:
    """To every rank where there is a group of all, otherwise to the ring's neighbours."""
    try:
        return group_links(context)
    except InfeasibleError:
        return ring_links(context, label)


@dataclass
class Outgoing:
    """One message to one peer; the tensors' bytes follow as they become ready."""

    link: Link
    payload: Tensor
    _sent: int = 0
    _works: list[tuple[dist.Work, Tensor]] = field(default_factory=list)

    def begin(self, tag: int, description: bytes) -> None:
        """The head and the description; `tag` must be what the receiver expects."""
        self._send(torch.tensor([tag, len(description), len(self.payload)]))
        self._send(torch.frombuffer(bytearray(description), dtype=torch.uint8))

    def refuse(self, limit_s: float) -> None:
        """Instead of all else: there is nothing to send."""
        self._send(torch.tensor([0, _REFUSED, 0]))
        self.wait(limit_s)

    def send_to(self, ready: int) -> None:
        """The first `ready` bytes will not change any more: sends whole chunks of them, and the
        rest when all are there."""
        whole = ready == len(self.payload)
        for begin, end in pieces(self._sent, ready, CHUNK_BYTES):
            if whole or end - begin == CHUNK_BYTES:
                self._send(self.payload[begin:end])
                self._sent = end

    def wait(self, limit_s: float) -> None:
        """Until everything has left; RuntimeError when the peer is lost, or takes nothing for
        `limit_s` seconds."""
        for work, _ in self._works:
            work.wait(timedelta(seconds=limit_s))

    def _send(self, tensor: Tensor) -> None:
        self._works.append((self.link.send(tensor), tensor))


@dataclass
class Incoming:
    """One message from one peer."""

    link: Link
    peer: int
    limit_s: float
    _head: Tensor = field(default_factory=lambda: torch.zeros(3, dtype=torch.int64))
    _first: dist.Work | None = None
    _chunks: list[tuple[dist.Work, int, int]] = field(default_factory=list)

    def expect(self) -> None:
        """Is ready for the head."""
        self._first = self.link.receive(self._head)

    def description(self, tag: int) -> tuple[bytes, int]:
        """(the description, how many bytes of tensors follow).

        StateError if the peer refused, or sent another message than that of `tag`; RuntimeError
        when it is lost or silent.
        """
        assert self._first is not None
        self._wait(self._first)
        found, length, size = self._head.tolist()
        if length == _REFUSED:
            raise StateError(f"rank {self.peer} has nothing to send")
        if found != tag or not 0 < length <= _LONGEST_DESCRIPTION_BYTES or size < 0:
            raise StateError(f"rank {self.peer} sent message {found} instead of {tag}")
        text = torch.empty(length, dtype=torch.uint8)
        self._wait(self.link.receive(text))
        return bytes(view_of(text)), size

    def into(self, payload: Tensor) -> None:
        """Begins to receive the tensors' bytes."""
        for begin, end in pieces(0, len(payload), CHUNK_BYTES):
            self._chunks.append((self.link.receive(payload[begin:end]), begin, end))

    def arrived(self) -> Iterator[tuple[int, int]]:
        """(begin, end) of each chunk, in order, as soon as it is there; errors as of
        `description`."""
        for work, begin, end in self._chunks:
            self._wait(work)
            yield begin, end

    def _wait(self, work: dist.Work) -> None:
        work.wait(timedelta(seconds=self.limit_s))


def _ring_order(rank: int, world_size: int) -> list[int]:
    """The neighbours of `rank`, in the order in which the pairs can be formed without a deadlock:
    edges (i, i + 1) by their colour, i mod 2, and the one that closes an odd ring last."""

    def colour(edge: int) -> int:
        return 2 if edge == world_size - 1 and world_size % 2 else edge % 2

    edges = {rank: (rank + 1) % world_size, (rank - 1) % world_size: (rank - 1) % world_size}
    return list(dict.fromkeys(edges[edge] for edge in sorted(edges, key=colour)))
