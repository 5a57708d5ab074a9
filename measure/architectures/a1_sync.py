"""A1, parameter server, synchronous (paper, section II-A): gather, update, broadcast."""

import torch.distributed as dist

from measure.architectures.parameter_server import ParameterServer
from measure.architectures.transport import Transport
from measure.interfaces.architecture import StepResult
from measure.rank.peer_waits import for_peers


class SynchronousParameterServer(ParameterServer):
    """The server waits for every worker; any loss stops the job."""

    def connect(self) -> None:
        """Forms the group of all ranks."""
        self._transport = Transport(self.context, self.context.groups.world())

    def make_room(self, rows: int, size: int) -> None:
        """On the server, for everybody's gradients."""
        self._inbox = self._transport.landing(rows, size)

    def serve(self) -> None:
        """Gathers the workers' messages, updates, broadcasts."""
        message = self._transport.outgoing(self.flat.gradients)
        with for_peers():
            dist.gather(message, list(self._inbox.unbind()), dst=0, group=self._transport.group)
        self.update(list(self._inbox[1:]))
        self._broadcast()

    def work(self) -> StepResult:
        """Computes a gradient, hands it in, waits for the new parameters."""
        result = self.compute()
        message = self._transport.outgoing(self.flat.gradients)
        with for_peers():
            dist.gather(message, None, dst=0, group=self._transport.group)
        self._broadcast()
        self.flat.unpack_buffers(self.flat.parameters)
        return result

    def _broadcast(self) -> None:
        message = self._transport.outgoing(self.flat.parameters)
        with for_peers():
            dist.broadcast(message, src=0, group=self._transport.group)
        if message is not self.flat.parameters:
            self.flat.parameters.copy_(message)
