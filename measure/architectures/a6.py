"""A6, decentralized training: D-PSGD over a ring of pairs (paper, section II-A)."""

from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for

import torch
from torch import Tensor

from measure.architectures.flat import FlatModel
from measure.architectures.peers import SUPERVISOR, Peers, exchange
from measure.architectures.shapes import at_least
from measure.interfaces.architecture import Architecture, StepResult, TrainingState
from measure.interfaces.workload import Workload
from measure.rank.peer_waits import for_peers
from measure.workloads.loader import Loader


class Gossip(Architecture):
    """Each rank updates its own model, then averages parameters with its live neighbours.

    The mean is uniform over the rank itself and those who answered in time. Buffers (batch
    normalization's statistics) stay each rank's own, as its model is.

    A round goes on after half of `round_limit_s`; the exchange with a silent neighbour stays
    under way for the other half, and only then is the neighbour dropped. Otherwise the whole
    ring would fall apart behind one silent rank: its neighbours keep theirs waiting for as long
    as they wait themselves, and would be dropped in turn.
    """

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Three ranks or more."""
        at_least(3, world_size, "a ring, in which each has two neighbours")

    def build(self) -> None:
        """See Architecture. There is no group of all ranks, only one with each neighbour."""
        context = self.context
        neighbours = ring_neighbours(context.rank, context.world_size)
        self._peers = Peers([context.groups.pair(peer) for peer in neighbours])
        self._model = self.workload.model(context.device)
        self._flat = FlatModel(self._model)
        self._optimizer = self.workload.optimizer(self._model.parameters())
        self._loader = Loader(
            self.workload.dataset(),
            self.workload.batch_per_rank,
            context.rank,
            context.world_size,
            context.seed,
        )
        self._inbox = {peer: torch.empty_like(self._flat.weights) for peer in neighbours}
        self._outbox = torch.empty_like(self._flat.weights)
        self._under_way: dict[int, Future[str | None]] = {}
        self._fresh: list[Future[str | None]] = []
        self._threads = ThreadPoolExecutor(len(neighbours), "gossip")

    def step(self) -> StepResult:
        """See Architecture. Never raises for a lost neighbour; without any it trains alone."""
        result = self._update()
        self._begin_exchanges()
        with for_peers():
            wait_for(self._fresh, timeout=self.context.round_limit_s / 2)
        self._average(self._arrived())
        return result

    def state(self) -> TrainingState:
        """This rank's own model and optimizer."""
        return TrainingState(self._model, self._optimizer, self._loader)

    def peer_lost(self, rank: int) -> None:
        """See Architecture."""
        self._peers.drop(rank, SUPERVISOR)
        self._under_way.pop(rank, None)

    def lost_peers(self) -> dict[int, str]:
        """See Architecture."""
        return dict(self._peers.lost)

    def _update(self) -> StepResult:
        inputs, targets = (t.to(self.context.device) for t in self._loader.next())
        self._flat.zero_gradients()
        loss = self.workload.loss(self._model(inputs), targets)
        loss.backward()
        self._optimizer.step()
        return StepResult(loss.item(), len(inputs))

    def _begin_exchanges(self) -> None:
        """One with each live neighbour, but for those that owe an answer from an earlier round.

        An answer that came after its round was over is not averaged: it is out of date.
        """
        self._arrived()
        if self._under_way:  # the last message is still being sent
            self._outbox = torch.empty_like(self._outbox)
        self._outbox.copy_(self._flat.weights)
        limit = self.context.round_limit_s
        self._fresh = []
        for peer, pair in self._peers.live().items():
            if peer not in self._under_way:
                begun = self._threads.submit(exchange, pair, self._outbox, self._inbox[peer], limit)
                self._under_way[peer] = begun
                self._fresh.append(begun)

    def _arrived(self) -> list[Tensor]:
        """The parameters of the neighbours whose exchange is complete; drops who failed."""
        arrived = []
        for peer, begun in list(self._under_way.items()):
            if not begun.done():
                continue
            del self._under_way[peer]
            failure = begun.result()
            if failure is None:
                arrived.append(self._inbox[peer])
            else:
                self._peers.drop(peer, failure)
        return arrived

    def _average(self, arrived: list[Tensor]) -> None:
        mean = self._flat.weights
        for parameters in arrived:
            mean += parameters
        mean /= 1 + len(arrived)


def ring_neighbours(rank: int, world_size: int) -> list[int]:
    """The two neighbours of `rank`, in the order in which the pairs can be formed.

    Edge (i, i + 1) has colour i mod 2, and every rank forms its edges by colour, so that both
    ends of an edge come to it at the same time. In an odd ring the edge that closes it would meet
    its own colour, and has a third.
    """

    def colour(edge: int) -> int:
        return 2 if edge == world_size - 1 and world_size % 2 else edge % 2

    edges = {rank: (rank + 1) % world_size, (rank - 1) % world_size: (rank - 1) % world_size}
    return [edges[edge] for edge in sorted(edges, key=colour)]
