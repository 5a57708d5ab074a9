"""How large each workload is in each profile: one table a kind of model. Stdlib only.

`paper` is the paper's size where section V-C or data/workloads.csv states one. `cpu` and `smoke`
keep what is cut and exchanged, and shrink the widths so that eight ranks share two cores. Where
the number of operations costs more than their size, they have fewer layers too: the residual
network in both, the MLP stacks of A5 and A7 in `smoke`.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ResNetSize:
    """A residual network of bottleneck blocks on square images of three channels."""

    image: int
    """Height and width of an image, in pixels."""
    classes: int
    channels: int
    """Channels after the first convolution; stage s has `4 x channels x 2**s` at its end."""
    depths: tuple[int, ...]
    """Blocks of each stage."""
    batch: int
    samples: int
    learning_rate: float


@dataclass(frozen=True, slots=True)
class MlpSize:
    """A stack of blocks Linear(width, hidden), GELU, Linear(hidden, width)."""

    blocks: int
    width: int
    hidden: int
    batch: int
    samples: int
    learning_rate: float


@dataclass(frozen=True, slots=True)
class LinearSize:
    """One Linear(width, width)."""

    width: int
    batch: int
    samples: int
    learning_rate: float


@dataclass(frozen=True, slots=True)
class TransformerSize:
    """A decoder-only Transformer on sequences of `length` tokens."""

    vocabulary: int
    length: int
    width: int
    heads: int
    layers: int
    batch: int
    samples: int
    learning_rate: float


RESNET50 = {
    # 25.56 million parameters: 204.7 MB with their momentum and the running statistics.
    "paper": ResNetSize(224, 1000, 64, (3, 4, 6, 3), 32, 65536, 0.05),
    "cpu": ResNetSize(32, 10, 8, (1, 1, 1, 1), 8, 8192, 0.01),
    "smoke": ResNetSize(16, 10, 4, (1, 1), 4, 4096, 0.02),
}

# Per-rank state at 8 ranks, parameters and momentum: A4 holds one block of 8; A5 an eighth of
# each of 4 blocks (section II-A: "a four-block transposed-MLP stack"); A7 half of each of 2 of 4.
MLP_A4 = {
    "paper": MlpSize(8, 6336, 25344, 32, 65536, 0.02),  # 2569.5 MB (data/workloads.csv: 2567.0)
    "cpu": MlpSize(8, 192, 768, 16, 8192, 0.01),
    "smoke": MlpSize(8, 32, 96, 8, 4096, 0.005),
}
MLP_A5 = {
    "paper": MlpSize(4, 9040, 36160, 32, 65536, 0.02),  # 2615.5 MB (data/workloads.csv: 2616.9)
    "cpu": MlpSize(4, 192, 768, 16, 8192, 0.02),
    "smoke": MlpSize(2, 32, 96, 8, 4096, 0.02),
}
MLP_A7 = {
    "paper": MlpSize(4, 6528, 26112, 32, 65536, 0.02),  # 2727.7 MB (data/workloads.csv: 2734.7)
    "cpu": MlpSize(4, 192, 768, 16, 8192, 0.02),
    "smoke": MlpSize(2, 32, 96, 8, 4096, 0.02),
}

LINEAR_M2 = {
    "paper": LinearSize(18000, 32, 65536, 0.2),  # 2592.1 MB
    "cpu": LinearSize(384, 16, 8192, 0.2),
    "smoke": LinearSize(64, 8, 4096, 0.2),
}

TRANSFORMER = {
    "paper": TransformerSize(8192, 512, 768, 12, 12, 32, 8192, 3e-4),
    "cpu": TransformerSize(64, 32, 64, 4, 2, 4, 4096, 3e-3),
    "smoke": TransformerSize(16, 16, 16, 2, 1, 4, 4096, 1e-2),
}
