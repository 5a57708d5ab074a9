"""Point-to-point messages and the collectives that gloo cannot do from a device."""

import torch
import torch.distributed as dist
from torch import Tensor

from measure.rank.context import RankContext
from measure.rank.peer_waits import for_peers


class Transport:
    """Sends and receives over one group; through the host's memory where gloo meets a device."""

    def __init__(self, context: RankContext, group: dist.ProcessGroup) -> None:
        self.group = group
        self._device = context.device
        self._staged = context.backend == "gloo" and context.device.type != "cpu"

    def outgoing(self, tensor: Tensor) -> Tensor:
        """`tensor`, where the backend can read it."""
        return tensor.cpu() if self._staged else tensor.contiguous()

    def landing(self, *shape: int) -> Tensor:
        """Uninitialized memory that the backend can write to."""
        return torch.empty(shape, device="cpu" if self._staged else self._device)

    def start_send(self, tensor: Tensor, rank: int) -> "Sending":
        """Starts sending to `rank` (of the whole job); the tensor must not change until then."""
        message = self.outgoing(tensor.detach())
        return Sending(dist.isend(message, rank, group=self.group), message)

    def send(self, tensor: Tensor, rank: int) -> None:
        """Sends to `rank`; returns when the tensor may change."""
        self.start_send(tensor, rank).wait()

    def receive(self, rank: int, *shape: int) -> Tensor:
        """What `rank` sends next, of this shape, on the device."""
        landed = self.landing(*shape)
        with for_peers():
            dist.recv(landed, rank, group=self.group)
        return landed.to(self._device)


class Sending:
    """A message on its way; holds its memory."""

    def __init__(self, work: dist.Work | None, message: Tensor) -> None:
        self._work, self._message = work, message

    def wait(self) -> None:
        """Returns when the message has left; RuntimeError when the peer is lost."""
        if self._work is not None:
            with for_peers():
                self._work.wait()
