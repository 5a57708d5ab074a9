"""What a rank is given: who it is, on what it computes, and how it reaches its peers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor


class PairGroup(Protocol):
    """A group of two: this rank and one peer. Its loss leaves every other group alone."""

    peer: int

    def send(self, tensor: Tensor) -> dist.Work:
        """Starts sending; the tensor must stay as it is until `wait()` returned."""

    def receive(self, tensor: Tensor) -> dist.Work:
        """Starts receiving into `tensor` (any device); `wait()` raises RuntimeError when the peer
        is lost, or silent for longer than the context's `round_limit_s`."""


class Groups(Protocol):
    """Forms process groups, and remembers them so that a blocked rank can be set free.

    Every method blocks until all the ranks it names have called it; each rank must form its
    groups in an order that cannot deadlock (`pair` in the order of an edge colouring).
    """

    def world(self) -> dist.ProcessGroup:
        """The default group of all ranks; at most once."""

    def sub(self, ranks: Sequence[int]) -> dist.ProcessGroup:
        """A group of some ranks. `world` comes first, and every rank calls this for every
        group in the same order, also for those that it is not in."""

    def pair(self, peer: int, label: str = "") -> PairGroup:
        """A group of this rank and `peer`, without any group of all ranks."""

    def host_group(self) -> dist.ProcessGroup:
        """A gloo group of all ranks beside the training's, for memory of the host; the same one
        at a second call. InfeasibleError where the architecture has no `world`."""


@dataclass(frozen=True)
class RankContext:
    """One rank's surroundings; everything else follows from these and the workload."""

    rank: int
    world_size: int
    seed: int
    device: torch.device
    backend: str
    """`gloo` or `nccl`."""
    round_limit_s: float
    """How long an architecture that goes on without silent peers waits for one."""
    groups: Groups
