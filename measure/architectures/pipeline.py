"""One rank's stage of a pipeline, and its part in a batch (GPipe's schedule)."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from measure.architectures.transport import Sending, Transport
from measure.workloads.loader import Loader

MICRO_BATCH = 4
"""Samples that a micro-batch has at least, if the batch has as many (the paper states no size)."""


def micro_batches(batch: int) -> int:
    """How many equal micro-batches a batch is cut into: as many as MICRO_BATCH allows."""
    return max(n for n in range(1, max(batch // MICRO_BATCH, 1) + 1) if batch % n == 0)


def stage_blocks(stage: int, stages: int, blocks: int) -> range:
    """The blocks of a stage: consecutive, and as many as on any other stage, or one more."""
    return range(stage * blocks // stages, (stage + 1) * blocks // stages)


@dataclass(frozen=True, slots=True)
class Stage:
    """A stage's layers, and the ranks that hold the stage before it and after it.

    `width` is the number of features that are handed on; a micro-batch is (samples, width).
    """

    layers: nn.Module
    transport: Transport
    previous: int | None
    following: int | None
    width: int
    loss: Callable[[Tensor, Tensor], Tensor]

    def next_batch(self, loader: Loader, device: torch.device) -> tuple[Tensor, Tensor] | None:
        """The next batch on the first and the last stage; the others need its position only."""
        if self.previous is not None and self.following is not None:
            loader.next_ids()
            return None
        inputs, targets = loader.next()
        return inputs.to(device), targets.to(device)

    def train(self, batch: tuple[Tensor, Tensor] | None, samples: int) -> float | None:
        """All forward passes, then all backward passes; gradients add up to the batch's mean.

        Returns the batch's mean loss on the last stage, None on the others.
        """
        count = micro_batches(samples)
        sent: list[Sending] = []
        passes = [self._forward(batch, i, samples // count, sent) for i in range(count)]
        for inputs, outputs in passes:
            self._backward(inputs, outputs, count, sent)
        for sending in sent:
            sending.wait()
        if self.following is not None:
            return None
        return sum(loss.item() for _, loss in passes) / count

    def _forward(
        self, batch: tuple[Tensor, Tensor] | None, index: int, size: int, sent: list[Sending]
    ) -> tuple[Tensor, Tensor]:
        """Micro-batch `index`: what came in, and what went out (on the last stage: its loss)."""
        mine = slice(index * size, (index + 1) * size)
        if self.previous is None:
            assert batch is not None
            inputs = batch[0][mine]
        else:
            inputs = self.transport.receive(self.previous, size, self.width).requires_grad_()
        outputs: Tensor = self.layers(inputs)
        if self.following is None:
            assert batch is not None
            return inputs, self.loss(outputs, batch[1][mine])
        sent.append(self.transport.start_send(outputs, self.following))
        return inputs, outputs

    def _backward(self, inputs: Tensor, outputs: Tensor, count: int, sent: list[Sending]) -> None:
        if self.following is None:
            (outputs / count).backward()
        else:
            outputs.backward(self.transport.receive(self.following, *outputs.shape))
        if self.previous is not None:
            assert inputs.grad is not None
            sent.append(self.transport.start_send(inputs.grad, self.previous))
