"""ResNet-50 (He et al. 2016; the stride on the 3x3 convolution), for the data-parallel family."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import SGD, Optimizer

from measure.interfaces.workload import Workload
from measure.workloads.data import PrototypeImages
from measure.workloads.seeding import seeded_module
from measure.workloads.sizes import ResNetSize

_EXPANSION = 4


def _convolution(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    """A convolution that keeps the size (over the stride), and its batch normalization."""
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, padding=kernel // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class _Bottleneck(nn.Module):
    """1x1 down, 3x3, 1x1 up, around which the input is added; `4 x channels` come out."""

    def __init__(self, inputs: int, channels: int, stride: int) -> None:
        super().__init__()
        outputs = _EXPANSION * channels
        self.narrow = _convolution(inputs, channels, 1)
        self.middle = _convolution(channels, channels, 3, stride)
        self.widen = _convolution(channels, outputs, 1)
        changes = inputs != outputs or stride != 1
        self.shortcut = _convolution(inputs, outputs, 1, stride) if changes else nn.Identity()

    def forward(self, inputs: Tensor) -> Tensor:
        """(batch, inputs, height, width) to (batch, 4 x channels, height/stride, width/stride)."""
        inner = functional.relu(self.narrow(inputs), inplace=True)
        inner = functional.relu(self.middle(inner), inplace=True)
        return functional.relu(self.widen(inner) + self.shortcut(inputs), inplace=True)


class ResidualNetwork(nn.Module):
    """Images (batch, 3, image, image) to the classes' logits (batch, classes)."""

    def __init__(self, size: ResNetSize) -> None:
        super().__init__()
        self.stem = _convolution(3, size.channels, 7, 2)
        self.pool = nn.MaxPool2d(3, 2, padding=1)
        blocks: list[nn.Module] = []
        inputs = size.channels
        for stage, depth in enumerate(size.depths):
            channels = size.channels << stage
            for index in range(depth):
                stride = 2 if stage and not index else 1
                blocks.append(_Bottleneck(inputs, channels, stride))
                inputs = _EXPANSION * channels
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, size.classes)

    def forward(self, images: Tensor) -> Tensor:
        """See the class."""
        features = self.pool(functional.relu(self.stem(images), inplace=True))
        logits: Tensor = self.head(self.blocks(features).mean((2, 3)))
        return logits


class ResNet50(Workload):
    """Classification of synthetic images; cross entropy, SGD with momentum 0.9, fp32."""

    def __init__(self, name: str, size: ResNetSize, seed: int) -> None:
        self.name = name
        self.batch_per_rank = size.batch
        self._size = size
        self._seed = seed

    def model(self, device: torch.device) -> nn.Module:
        """The network; batch normalization is in training mode."""
        return seeded_module(lambda: ResidualNetwork(self._size), self._seed, "model").to(device)

    def dataset(self) -> PrototypeImages:
        """Images (3, image, image) with a class each."""
        size = self._size
        return PrototypeImages(size.image, size.classes, size.samples, self._seed)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy of logits (batch, classes) and classes (batch,)."""
        return functional.cross_entropy(outputs, targets)

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """SGD with momentum 0.9."""
        return SGD(parameters, lr=self._size.learning_rate, momentum=0.9)
