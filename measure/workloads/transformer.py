"""A small decoder-only Transformer with Adam: two optimizer tensors a parameter, and attention.

Not one of the paper's workloads; section V-C leaves "attention, embeddings, and sequence
processing" out.
"""

from collections.abc import Iterable

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Adam, Optimizer

from measure.interfaces.workload import Workload
from measure.workloads.data import MarkovTokens
from measure.workloads.seeding import seeded_module
from measure.workloads.sizes import TransformerSize


class _Layer(nn.Module):
    """Causal self-attention and a feed-forward part, each normalized first and added."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self._heads = heads
        self.before_attention = nn.LayerNorm(width)
        self.attention_in = nn.Linear(width, 3 * width)
        self.attention_out = nn.Linear(width, width)
        self.feed_forward = nn.Sequential(
            nn.LayerNorm(width),
            nn.Linear(width, 4 * width),
            nn.GELU(),
            nn.Linear(4 * width, width),
        )

    def forward(self, states: Tensor) -> Tensor:
        """(batch, length, width) to the same shape."""
        states = states + self._attend(self.before_attention(states))
        summed: Tensor = states + self.feed_forward(states)
        return summed

    def _attend(self, states: Tensor) -> Tensor:
        batch, length, width = states.shape
        split = self.attention_in(states).view(batch, length, 3, self._heads, -1)
        queries, keys, values = split.permute(2, 0, 3, 1, 4)  # each (batch, heads, length, ...)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        joined: Tensor = self.attention_out(mixed.transpose(1, 2).reshape(batch, length, width))
        return joined


class Decoder(nn.Module):
    """Tokens (batch, length) to the next tokens' logits (batch, length, vocabulary)."""

    def __init__(self, size: TransformerSize) -> None:
        super().__init__()
        self.tokens = nn.Embedding(size.vocabulary, size.width)
        self.places = nn.Embedding(size.length, size.width)
        self.layers = nn.Sequential(*(_Layer(size.width, size.heads) for _ in range(size.layers)))
        self.norm = nn.LayerNorm(size.width)
        self.head = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """See the class."""
        states = self.tokens(tokens) + self.places.weight[: tokens.shape[1]]
        logits: Tensor = self.head(self.norm(self.layers(states)))
        return logits


class Transformer(Workload):
    """Next-token prediction on a Markov chain; cross entropy, Adam, fp32."""

    def __init__(self, name: str, size: TransformerSize, seed: int) -> None:
        self.name = name
        self.batch_per_rank = size.batch
        self._size = size
        self._seed = seed

    def model(self, device: torch.device) -> nn.Module:
        """The decoder."""
        return seeded_module(lambda: Decoder(self._size), self._seed, "model").to(device)

    def dataset(self) -> MarkovTokens:
        """Sequences (length,) with the tokens that follow each."""
        size = self._size
        return MarkovTokens(size.vocabulary, size.length, size.samples, self._seed)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Mean cross entropy of logits (batch, length, vocabulary) and tokens (batch, length)."""
        return functional.cross_entropy(outputs.flatten(0, 1), targets.flatten())

    def optimizer(self, parameters: Iterable[nn.Parameter]) -> Optimizer:
        """Adam with torch's default betas."""
        return Adam(parameters, lr=self._size.learning_rate)
