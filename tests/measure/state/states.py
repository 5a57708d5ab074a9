"""States for the tests: small ones made by hand, and an architecture of one rank without peers."""

import random
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from measure.interfaces.architecture import Architecture, StepResult, TrainingState
from measure.interfaces.workload import Workload
from measure.rank.context import Groups, RankContext
from measure.state.contract import RankState, RunFacts
from measure.workloads.catalogue import build
from measure.workloads.loader import Loader

FACTS = RunFacts("a configuration", {"torch": "2"}, {"part": "whole"})


def small_state(step: int, rank: int = 0, world_size: int = 1) -> RankState:
    """A few dozen bytes of tensors of several types, and a plain part that is as small."""
    drawn = torch.Generator().manual_seed(1000 * step + rank)
    tensors = {
        "model.parameters.w": torch.randn(3, generator=drawn),
        "model.buffers.count": torch.tensor(step),
        "model.buffers.half": torch.randn(3, generator=drawn).bfloat16(),
        "optimizer.w.momentum": torch.randn(3, generator=drawn),
        "rng.torch": torch.randint(256, (5,), generator=drawn, dtype=torch.uint8),
    }
    plain = {
        "step": step,
        "rank": rank,
        "world_size": world_size,
        "data": {"epoch": 0, "permutation_seed": 7, "offset": 4 * step},
        "optimizer": {"type": "SGD"},
        "tensors": {"parameters": 1, "buffers": 2, "optimizer": 1},
    }
    return RankState(tensors, plain)


def state_of(step: int = 1, /, **tensors: Tensor) -> RankState:
    """A state with these tensors as parameters."""
    named = {f"model.parameters.{name}": tensor for name, tensor in tensors.items()}
    return RankState(named, {**small_state(step).plain, "tensors": {}})


class Alone(Architecture):
    """One rank with a small Transformer and Adam, which draws from every generator."""

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Anything fits."""

    def build(self) -> None:
        """See Architecture."""
        self.model: nn.Module = self.workload.model(self.context.device)
        self.optimizer: Optimizer | None = self.workload.optimizer(self.model.parameters())
        self.loader = Loader(self.workload.dataset(), self.workload.batch_per_rank, 0, 1, 7)

    def step(self) -> StepResult:
        """See Architecture."""
        inputs, targets = self.loader.next()
        loss = self.workload.loss(self.model(inputs), targets)
        loss = loss * (1 + random.random() * torch.rand(()))
        assert self.optimizer is not None
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return StepResult(loss.item(), len(inputs))

    def state(self) -> TrainingState:
        """See Architecture."""
        return TrainingState(self.model, self.optimizer, self.loader)


def alone(rank: int = 0, world_size: int = 1) -> Alone:
    """A rank that is ready to train."""
    cpu = torch.device("cpu")
    context = RankContext(rank, world_size, 7, cpu, "gloo", 1.0, cast("Groups", None))
    architecture = Alone(context, build("transformer", "smoke", 7))
    architecture.build()
    return architecture


def trained(architecture: Architecture, steps: int) -> list[float | None]:
    """The losses of some steps."""
    return [architecture.step().loss for _ in range(steps)]


def adam(parameters: Any) -> Adam:
    """Another optimizer than SGD."""
    return Adam(parameters, lr=0.1)
