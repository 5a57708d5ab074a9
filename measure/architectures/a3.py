"""A3, tree all-reduce: gradients go up a tree and their mean comes down (paper, section II-A).

NCCL has the algorithm. gloo has none, so that a communication hook does it with point-to-point
messages: on either backend the position in the tree decides whom a lost rank cuts off.
"""

import torch
import torch.distributed as dist
from torch import Tensor
from torch.futures import Future
from torch.nn.parallel import DistributedDataParallel

from measure.architectures.replicated import ReplicatedTraining
from measure.architectures.transport import Transport


class TreeAllReduce(ReplicatedTraining):
    """The same training as A2, over a binary tree whose root is rank 0."""

    nccl_algorithm = "Tree"

    def communicate_with(self, replica: DistributedDataParallel, group: dist.ProcessGroup) -> None:
        """Registers the tree where the backend has none of its own."""
        if self.context.backend == "gloo":
            tree = Tree(self.context.rank, self.context.world_size, Transport(self.context, group))
            replica.register_comm_hook(tree, average_over_tree)


class Tree:
    """One rank's place in the binary tree of `world_size` ranks, numbered level by level."""

    def __init__(self, rank: int, world_size: int, transport: Transport) -> None:
        self.parent = (rank - 1) // 2 if rank else None
        self.children = [c for c in (2 * rank + 1, 2 * rank + 2) if c < world_size]
        self._world_size = world_size
        self._transport = transport

    def average(self, values: Tensor) -> Tensor:
        """The mean of every rank's `values` (n,); all ranks call this in the same order.

        The root alone divides, so that every rank ends with the same bits.
        """
        total = values
        for child in self.children:
            total = total + self._transport.receive(child, len(values))
        if self.parent is None:
            mean = total / self._world_size
        else:
            self._transport.send(total, self.parent)
            mean = self._transport.receive(self.parent, len(values))
        sent = [self._transport.start_send(mean, child) for child in self.children]
        for sending in sent:
            sending.wait()
        return mean


def average_over_tree(tree: Tree, bucket: dist.GradBucket) -> Future[Tensor]:
    """The hook: DistributedDataParallel calls it for its buckets, in one order on all ranks."""
    done: Future[Tensor] = torch.futures.Future()
    done.set_result(tree.average(bucket.buffer()))
    return done
