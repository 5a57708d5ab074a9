"""A1, parameter server, asynchronous (paper, section II-A): goes on without silent workers."""

from collections.abc import Callable

import torch
import torch.distributed as dist

from measure.architectures.parameter_server import SERVER, ParameterServer
from measure.architectures.peers import SUPERVISOR, Deadline, Peers
from measure.interfaces.architecture import StepResult
from measure.rank.context import PairGroup


class AsynchronousParameterServer(ParameterServer):
    """The server has a pair group with each worker and no other group.

    A round takes whatever gradients arrive within the round's limit. With every worker alive
    they are all there, and are added in rank order: such a run is deterministic.
    """

    PATIENCE = 3
    """How many round limits a worker waits for the server, who may itself wait for one."""

    def connect(self) -> None:
        """The server forms its pairs in rank order; a worker has but one, so none can block."""
        workers = range(1, self.context.world_size)
        mine = workers if self.serves else [SERVER]
        self._peers = Peers([self.context.groups.pair(rank) for rank in mine])

    def make_room(self, rows: int, size: int) -> None:
        """On the server, for everybody's gradients."""
        self._inbox = torch.empty(rows, size, device=self.context.device)

    def serve(self) -> None:
        """Collects gradients, updates, answers those who handed one in."""
        deadline = Deadline(self.context.round_limit_s)
        receives = self._peers.start(lambda pair: pair.receive(self._inbox[pair.peer]))
        arrived = self._peers.finish(receives, deadline)
        if not arrived:
            raise RuntimeError("no worker is left")
        self.update([self._inbox[rank] for rank in arrived])
        answers = self._peers.start(lambda pair: pair.send(self.flat.parameters))
        self._peers.finish(answers, Deadline(self.context.round_limit_s))

    def work(self) -> StepResult:
        """Computes a gradient, hands it in, waits for the new parameters."""
        result = self.compute()
        self._with_server(lambda pair: pair.send(self.flat.gradients))
        self._with_server(lambda pair: pair.receive(self.flat.parameters))
        self.flat.unpack_buffers(self.flat.parameters)
        return result

    def _with_server(self, begin: Callable[[PairGroup], dist.Work]) -> None:
        patience = Deadline(self.PATIENCE * self.context.round_limit_s)
        if not self._peers.finish(self._peers.start(begin), patience):
            raise RuntimeError("the server is lost")

    def peer_lost(self, rank: int) -> None:
        """See Architecture."""
        self._peers.drop(rank, SUPERVISOR)

    def lost_peers(self) -> dict[int, str]:
        """See Architecture."""
        return dict(self._peers.lost)
