"""The Megatron-style MLP stack (paper, section V-C): a Transformer's feed-forward sublayers."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, Optimizer

from measure.interfaces.workload import LayeredWorkload
from measure.workloads.data import TeacherRegression
from measure.workloads.seeding import generator
from measure.workloads.sizes import MlpSize

_GELU_SECOND_MOMENT = 0.425
"""E[gelu(x)^2] for a standard normal x: with it a block keeps the size of what it is given, so
that a stack without residual connections trains at any depth that is used here."""


class Block(nn.Module):
    """Linear(width, hidden), GELU, Linear(hidden, width), with the given values.

    `up` (hidden, width), `up_bias` (hidden,), `down` (width, hidden), `down_bias` (width,).
    """

    def __init__(self, up: Tensor, up_bias: Tensor, down: Tensor, down_bias: Tensor) -> None:
        super().__init__()
        self.up, self.up_bias = nn.Parameter(up), nn.Parameter(up_bias)
        self.down, self.down_bias = nn.Parameter(down), nn.Parameter(down_bias)

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, width) to (batch, width)."""
        inner = functional.gelu(functional.linear(inputs, self.up, self.up_bias))
        return functional.linear(inner, self.down, self.down_bias)


class MegatronMlp(LayeredWorkload):
    """Regression on a teacher's targets; mean squared error, SGD with momentum 0.9, fp32."""

    def __init__(self, name: str, size: MlpSize, seed: int) -> None:
        self.name = name
        self.blocks, self.width, self.hidden = size.blocks, size.width, size.hidden
        self.batch_per_rank = size.batch
        self._size = size
        self._seed = seed

    def block_weights(self, index: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """See LayeredWorkload. IndexError beyond the last block."""
        if not 0 <= index < self.blocks:
            raise IndexError(f"block {index} of {self.blocks}")
        drawn = generator(self._seed, "block", index)
        up = torch.randn(self.hidden, self.width, generator=drawn)
        down = torch.randn(self.width, self.hidden, generator=drawn)
        return (
            up.mul_(self.width**-0.5),
            torch.zeros(self.hidden),
            down.mul_((_GELU_SECOND_MOMENT * self.hidden) ** -0.5),
            torch.zeros(self.width),
        )

    def model(self, device: torch.device) -> nn.Module:
        """All blocks in one module."""
        blocks = (Block(*self.block_weights(i)).to(device) for i in range(self.blocks))
        return nn.Sequential(*blocks)

    def dataset(self) -> TeacherRegression:
        """Samples of (width,) numbers each."""
        return TeacherRegression(self.width, self._size.samples, self._seed)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean squared error over samples and features."""
        return functional.mse_loss(outputs, targets)

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """SGD with momentum 0.9."""
        return SGD(parameters, lr=self._size.learning_rate, momentum=0.9)
