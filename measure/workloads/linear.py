"""The control M2 (paper, section V-C): state of gigabytes, but a single layer."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, Optimizer

from measure.interfaces.workload import Workload
from measure.workloads.data import TeacherRegression
from measure.workloads.seeding import seeded_module
from measure.workloads.sizes import LinearSize


class LinearControl(Workload):
    """One Linear(width, width) on a teacher's targets; SGD with momentum 0.9, fp32."""

    def __init__(self, name: str, size: LinearSize, seed: int) -> None:
        self.name = name
        self.batch_per_rank = size.batch
        self._size = size
        self._seed = seed

    def model(self, device: torch.device) -> nn.Module:
        """The layer."""
        width = self._size.width
        return seeded_module(lambda: nn.Linear(width, width), self._seed, "model").to(device)

    def dataset(self) -> TeacherRegression:
        """Samples of (width,) numbers each."""
        return TeacherRegression(self._size.width, self._size.samples, self._seed)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error over samples and features."""
        return functional.mse_loss(outputs, targets)

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """SGD with momentum 0.9."""
        return SGD(parameters, lr=self._size.learning_rate, momentum=0.9)
