"""Forms this rank's process groups, and lets go of them when they are no use any more."""

import gc
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from measure.errors import InfeasibleError
from measure.rank import way_out

LOOPBACK_ADDRESS = "127.0.0.1"
_GLOO_INTERFACE = "GLOO_SOCKET_IFNAME"


MEET_WITHIN = timedelta(seconds=10)
"""How long a rank waits for the others before a group is formed, at least: each arrives when it
has built its part, and a group's own limit, which is that of an exchange, is too short for that on
a busy machine. Who dies on the way is noticed by the supervisor, and who waits set free (`leave`).
"""


class GlooPair:
    """A gloo group of two. Tensors on a device travel through the host's memory."""

    def __init__(self, store: dist.Store, rank: int, peer: int, limit: timedelta) -> None:
        self.peer = peer
        self._other = 0 if rank > peer else 1
        made: Any = dist.ProcessGroupGloo(store, 1 - self._other, 2, limit)
        self._group: dist.ProcessGroup = made  # torch's stubs leave its send and recv out

    def send(self, tensor: Tensor) -> dist.Work:
        """Starts sending; see measure.rank.context.PairGroup."""
        return self._group.send([tensor.detach().cpu()], self._other, 0)

    def receive(self, tensor: Tensor) -> dist.Work:
        """Starts receiving; see measure.rank.context.PairGroup."""
        if tensor.device.type == "cpu":
            return self._group.recv([tensor], self._other, 0)
        landed = torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=True)
        return _Staged(self._group.recv([landed], self._other, 0), landed, tensor)


class _Staged(dist.Work):
    """A receive that ends with a copy to the device."""

    def __init__(self, work: dist.Work, landed: Tensor, target: Tensor) -> None:
        super().__init__()
        self._work, self._landed, self._target = work, landed, target

    def wait(self, timeout: timedelta | None = None) -> bool:
        done = self._work.wait() if timeout is None else self._work.wait(timeout)
        self._target.copy_(self._landed)
        return done


@dataclass(frozen=True, slots=True)
class StorePlace:
    """Where a run's store is, and which of the run's groups are meant: those of `generation`."""

    host: str
    port: int
    generation: int = 0


class ProcessGroups:
    """Implements measure.rank.context.Groups over one store; one object a generation.

    Each run has a store of its own, and each generation its own names in it, so that a group
    that is formed again never meets the addresses of one that is gone. What `way_out` must shut is
    whatever was opened since the generation began, its client of the store included.
    """

    def __init__(
        self,
        place: StorePlace,
        rank: int,
        world_size: int,
        backend: str,
        group_timeout_s: float,
        round_limit_s: float,
        recovery_interface: str = "",
    ) -> None:
        self._recovery_interface = recovery_interface
        self._before = set(way_out.open_sockets().values())
        self._place, self._timeout = place, timedelta(seconds=group_timeout_s)
        self.store = self.new_store()
        self._rank, self._world_size = rank, world_size
        self._backend = backend
        self._round_limit = timedelta(seconds=round_limit_s)
        self._host: dist.ProcessGroup | None = None
        self.formation_s = 0.0
        """Time spent in forming groups so far, seconds."""

    def new_store(self) -> dist.Store:
        """This generation's store, over a connection of its own."""
        return dist.PrefixStore(
            f"generation-{self._place.generation}",
            dist.TCPStore(
                self._place.host,
                self._place.port,
                is_master=False,
                wait_for_workers=False,
                timeout=self._timeout,
            ),
        )

    def world(self) -> dist.ProcessGroup:
        """The default group of all ranks; at most once."""
        with self._timed():
            self._meet("world", self._world_size)
            dist.init_process_group(
                self._backend,
                store=dist.PrefixStore("world", self.store),
                rank=self._rank,
                world_size=self._world_size,
                timeout=self._timeout,
            )
        group = dist.group.WORLD
        assert group is not None
        return group

    def sub(self, ranks: Sequence[int]) -> dist.ProcessGroup:
        """A group of some ranks; called by every rank, in the same order."""
        with self._timed():
            group: dist.ProcessGroup = dist.new_group(list(ranks), timeout=self._timeout)
        return group

    def pair(self, peer: int, label: str = "") -> GlooPair:
        """A group of this rank and `peer`; gloo whatever the backend (NCCL forms no group of
        two ranks without one of all)."""
        low, high = sorted((self._rank, peer))
        store = dist.PrefixStore(f"pair{label}-{low}-{high}", self.store)
        with self._timed():
            self._meet(f"pair{label}-{low}-{high}", 2)
            return GlooPair(store, self._rank, peer, self._round_limit)

    def host_group(self) -> dist.ProcessGroup:
        """A gloo group of all ranks beside the training's, whose collectives it never meets; the
        same one at a second call. InfeasibleError where the architecture has no `world`."""
        if not dist.is_initialized():
            raise InfeasibleError(
                "it needs a long-lived group of all ranks; this architecture has none"
            )
        if self._host is None:
            store = dist.PrefixStore("host", self.store)
            with self._timed(), _gloo_on(self._recovery_interface):
                self._meet("host", self._world_size)
                made: Any = dist.ProcessGroupGloo(
                    store, self._rank, self._world_size, self._timeout
                )
            self._host = made
        return self._host

    def leave(self) -> None:
        """Sets free whoever is blocked in one of the groups; the groups are of no use after."""
        if self._backend == "nccl":
            way_out.abort_nccl()
        opened = way_out.open_sockets().items()
        way_out.shut_down(number for number, name in opened if name not in self._before)

    def close(self) -> None:
        """Lets go of every group, for the next generation; whoever held one has dropped it."""
        self._host = None
        gc.collect()  # DDP and its group hold each other
        if dist.is_initialized():
            dist.destroy_process_group()
        # torch names a group by how many it has begun, and counts one whose formation broke off:
        # survivors of that would look for each other under another name than a fresh process.
        dist.distributed_c10d._world.group_count = 0
        gc.collect()

    def _meet(self, group: str, size: int) -> None:
        """Waits until all `size` ranks of a group are about to form it, or for too long."""
        here, all_here = f"meet/{group}", f"meet/{group}/all"
        if self.store.add(here, 1) == size:
            self.store.set(all_here, "")
        self.store.wait([all_here], max(self._timeout, MEET_WITHIN))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self.formation_s += time.monotonic() - begin


def stay_on_loopback(interface: str = "") -> None:
    """gloo and NCCL listen on the loopback interface only, where all ranks are on one machine; on
    one of several nodes on this `interface`."""
    for name in (_GLOO_INTERFACE, "NCCL_SOCKET_IFNAME"):
        os.environ.setdefault(name, "lo")
        if interface:
            os.environ[name] = interface


@contextmanager
def _gloo_on(interface: str) -> Iterator[None]:
    """Groups of gloo that are made meanwhile use this interface; empty: the usual one."""
    usual = os.environ.get(_GLOO_INTERFACE)
    if not interface or interface == usual:
        yield
        return
    os.environ[_GLOO_INTERFACE] = interface
    try:
        yield
    finally:
        if usual is None:
            del os.environ[_GLOO_INTERFACE]
        else:
            os.environ[_GLOO_INTERFACE] = usual
