"""What is trained: a model, its data, its loss and its optimizer, all from one seed."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import Dataset


class Workload(ABC):
    """One kind of training; built anew in every rank, equal wherever the seed is equal."""

    name: str
    batch_per_rank: int
    """Samples of one rank in one step."""

    @abstractmethod
    def model(self, device: torch.device) -> nn.Module:
        """The whole model, with the same values on every rank; on `device`, in training mode."""

    @abstractmethod
    def dataset(self) -> Dataset[tuple[Tensor, Tensor]]:
        """A finite data set of (input, target), on the CPU; sample i is the same everywhere."""

    @abstractmethod
    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """The mean loss over the samples given: a scalar that can be differentiated."""

    @abstractmethod
    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """The optimizer of these parameters (all of them, or one rank's part)."""


class LayeredWorkload(Workload):
    """A stack of equal blocks, each of which can be cut into tensor-parallel shards.

    A block is Linear(width, hidden) -> GELU -> Linear(hidden, width); the whole model is the
    blocks in their order, so that any cut by depth or by width gives the same function.
    """

    blocks: int
    width: int
    hidden: int

    @abstractmethod
    def block_weights(self, index: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Block `index` whole, on the CPU: (up (hidden, width), its bias, down (width, hidden),
        its bias), from the seed and the index alone, so that a rank makes only what it holds."""
