"""DistributedDataParallel over all ranks: what A2 and A3 share."""

import itertools
import os
from abc import abstractmethod

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import Dataset, default_collate

from measure.architectures.shapes import at_least
from measure.interfaces.architecture import (
    Architecture,
    Replication,
    StepResult,
    TrainingState,
)
from measure.interfaces.workload import Workload
from measure.rank.context import RankContext
from measure.rank.peer_waits import add, clock, waited_s
from measure.workloads.loader import Loader


class ReplicatedTraining(Architecture):
    """Every rank trains the whole model on its shard; gradients are averaged as they appear."""

    nccl_algorithm: str
    """What NCCL is told to do; it would choose by message size otherwise."""

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Two ranks or more."""
        at_least(2, world_size, "with one there is nothing to reduce")

    @abstractmethod
    def communicate_with(self, replica: DistributedDataParallel, group: dist.ProcessGroup) -> None:
        """Chooses how the gradients of `replica` are averaged over `group`."""

    def __init__(self, context: RankContext, workload: Workload) -> None:
        super().__init__(context, workload)
        self._called_at = self._gradient_at = self._waited_s = 0.0

    def build(self) -> None:
        """See Architecture."""
        context = self.context
        if context.backend == "nccl":  # which reads this when it forms a communicator
            version = torch.cuda.nccl.version()
            os.environ["NCCL_ALGO"] = nccl_setting(self.nccl_algorithm, version[:2])
        group = context.groups.world()
        model = self.workload.model(context.device)
        self._replica = DistributedDataParallel(model, process_group=group)
        self.communicate_with(self._replica, group)
        self._count_waits(model)
        self._optimizer = self.workload.optimizer(model.parameters())
        dataset = self.workload.dataset()
        self._loader = Loader(
            dataset,
            self.workload.batch_per_rank,
            context.rank,
            context.world_size,
            context.seed,
        )
        self._settle_buckets(dataset)

    def _settle_buckets(self, dataset: Dataset[tuple[Tensor, Tensor]]) -> None:
        """One backward pass that leaves no trace but the order of DDP's buckets.

        DDP orders them anew after its first backward pass, and with them the order of summation.
        A group that is formed again in the middle of a training would sum its first step in
        another order than one that was never interrupted, and differ from it in the last bits.
        """
        batch = self.workload.batch_per_rank
        inputs, targets = default_collate([dataset[n] for n in range(batch)])
        buffers = [buffer.clone() for buffer in self._replica.module.buffers()]
        device = self.context.device
        self._pass(inputs.to(device), targets.to(device))
        self._replica.zero_grad()
        with torch.no_grad():
            for buffer, before in zip(self._replica.module.buffers(), buffers, strict=True):
                buffer.copy_(before)

    def step(self) -> StepResult:
        """See Architecture."""
        inputs, targets = (t.to(self.context.device) for t in self._loader.next())
        self._optimizer.zero_grad()
        loss = self._pass(inputs, targets)
        self._optimizer.step()
        return StepResult(loss.item(), len(inputs))

    def _pass(self, inputs: Tensor, targets: Tensor) -> Tensor:
        """Forward and backward; the loss. Gradients, which were zero, are means over all ranks."""
        self._called_at = clock()
        loss = self.workload.loss(self._replica(inputs), targets)
        loss.backward()
        counted_s = waited_s() - self._waited_s  # by a tree, whose messages count themselves
        add(clock() - self._gradient_at - counted_s)
        return loss

    def _count_waits(self, model: nn.Module) -> None:
        """DDP waits where nobody sees it: for rank 0's buffers before the model's pass begins, for
        the gradients' means once the last gradient is there, that of the first parameters."""

        def begins(*_: object) -> None:
            add(clock() - self._called_at)

        def has_gradient(_: Tensor) -> None:
            self._gradient_at, self._waited_s = clock(), waited_s()

        model.register_forward_pre_hook(begins)
        for parameter in itertools.islice(model.parameters(), 2):
            parameter.register_post_accumulate_grad_hook(has_gradient)

    def state(self) -> TrainingState:
        """The whole model and optimizer: equal on every rank."""
        return TrainingState(self._replica.module, self._optimizer, self._loader)

    def replication(self) -> Replication:
        """Each rank makes every update itself, from the same mean of gradients."""
        return Replication(tuple(range(self.context.world_size)), independent=True)


def nccl_setting(algorithm: str, version: tuple[int, int]) -> str:
    """The value of NCCL_ALGO that has all-reduce use `algorithm`.

    From 2.24 on NCCL takes the word alone as an order to every collective, and refuses those that
    DistributedDataParallel needs besides, which have no tree. Before, it fell back to the ring
    for these, and knew no setting for one collective.
    """
    return f"allreduce:{algorithm}" if version >= (2, 24) else algorithm
