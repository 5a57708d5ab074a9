"""A model whose parameters and gradients lie in one buffer each, as they travel."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class FlatModel:
    """Makes a model's parameters and their gradients views of two flat buffers.

    `parameters` and `gradients` are float32 of P + B numbers: the P of the trainable parameters,
    then the B of the module's buffers (batch normalization's running statistics), which do not
    alias: `pack_buffers` and `unpack_buffers` copy them, for an exchange that wants them too.
    Gradients add up: call `zero_gradients` before each backward pass.
    """

    def __init__(self, model: nn.Module) -> None:
        trainable = [p for p in model.parameters() if p.requires_grad]
        self._buffers = list(model.buffers())
        self.size = sum(p.numel() for p in trainable)
        """P, the number of trainable parameters."""
        total = self.size + sum(b.numel() for b in self._buffers)
        device = trainable[0].device
        self.parameters = torch.zeros(total, device=device)
        self.gradients = torch.zeros(total, device=device)
        _adopt(trainable, self.parameters, self.gradients)

    @property
    def weights(self) -> Tensor:
        """The parameters alone (P,): a view."""
        return self.parameters[: self.size]

    @property
    def weight_gradients(self) -> Tensor:
        """The gradients alone (P,): a view."""
        return self.gradients[: self.size]

    def zero_gradients(self) -> None:
        """Sets every gradient to zero."""
        self.gradients.zero_()

    def pack_buffers(self, message: Tensor) -> None:
        """Copies the module's buffers into the end of `message` (P + B,), as float32."""
        tail = message[self.size :]
        for buffer in self._buffers:
            part, tail = tail[: buffer.numel()], tail[buffer.numel() :]
            part.view_as(buffer).copy_(buffer)

    def unpack_buffers(self, message: Tensor) -> None:
        """Copies the end of `message` (P + B,) into the module's buffers."""
        tail = message[self.size :]
        for buffer in self._buffers:
            part, tail = tail[: buffer.numel()], tail[buffer.numel() :]
            buffer.copy_(part.view_as(buffer))


def _adopt(trainable: Iterable[nn.Parameter], values: Tensor, gradients: Tensor) -> None:
    begin = 0
    for parameter in trainable:
        if parameter.dtype != torch.float32:
            raise TypeError(f"a parameter is {parameter.dtype}; flat buffers are float32")
        end = begin + parameter.numel()
        view = values[begin:end].view_as(parameter)
        view.copy_(parameter.detach())
        parameter.data = view
        parameter.grad = gradients[begin:end].view_as(parameter)
        begin = end
