"""What both parameter servers do: rank 0 holds the optimizer, the others compute gradients."""

from abc import abstractmethod
from collections.abc import Sequence

from torch import Tensor
from torch.optim import Optimizer

from measure.architectures.flat import FlatModel
from measure.architectures.shapes import at_least
from measure.interfaces.architecture import (
    Architecture,
    Replication,
    StepResult,
    TrainingState,
)
from measure.interfaces.workload import Workload
from measure.workloads.loader import Loader

SERVER = 0


class ParameterServer(Architecture):
    """Messages are flat: a worker's gradients, or the server's parameters, each followed by the
    module's buffers. The workers' batch normalization statistics are averaged like gradients:
    the server computes no forward pass, and its model is the one that is saved."""

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """A server and a worker or more."""
        at_least(2, world_size, "a server and one worker")

    @abstractmethod
    def connect(self) -> None:
        """Forms the groups."""

    @abstractmethod
    def make_room(self, rows: int, size: int) -> None:
        """Allocates what the server receives into: `size` numbers a rank."""

    @abstractmethod
    def serve(self) -> None:
        """The server's part in a step."""

    @abstractmethod
    def work(self) -> StepResult:
        """A worker's part in a step."""

    @property
    def serves(self) -> bool:
        """Whether this rank is the server."""
        return self.context.rank == SERVER

    def build(self) -> None:
        """See Architecture. Every rank makes the same first parameters, so none are sent."""
        context = self.context
        self.connect()
        self._model = self.workload.model(context.device)
        self.flat = FlatModel(self._model)
        self._optimizer: Optimizer | None = None
        if self.serves:
            self._optimizer = self.workload.optimizer(self._model.parameters())
            # A row for rank 0 too: `gather` wants a contribution of the rank that it gathers to.
            self.make_room(context.world_size, len(self.flat.gradients))
        self._loader = Loader(
            self.workload.dataset(),
            self.workload.batch_per_rank,
            max(context.rank - 1, 0),
            context.world_size - 1,
            context.seed,
        )

    def step(self) -> StepResult:
        """See Architecture. The server reads no sample, but its loader keeps the position."""
        if not self.serves:
            return self.work()
        self._loader.next_ids()
        self.serve()
        return StepResult(None, 0)

    def state(self) -> TrainingState:
        """The whole model; the optimizer on the server only."""
        return TrainingState(self._model, self._optimizer, self._loader)

    def replication(self) -> Replication:
        """The server's parameters, sent to every worker in each step."""
        return Replication(tuple(range(self.context.world_size)), independent=False)

    def compute(self) -> StepResult:
        """The next batch's gradients and buffers, into `flat.gradients`."""
        inputs, targets = (t.to(self.context.device) for t in self._loader.next())
        self.flat.zero_gradients()
        loss = self.workload.loss(self._model(inputs), targets)
        loss.backward()
        self.flat.pack_buffers(self.flat.gradients)
        return StepResult(loss.item(), len(inputs))

    def update(self, messages: Sequence[Tensor]) -> None:
        """The server's step on the mean of the workers' messages (P + B,), added in their order."""
        assert self._optimizer is not None
        mean = self.flat.gradients.copy_(messages[0])
        for message in messages[1:]:
            mean += message.to(mean.device)
        mean /= len(messages)
        self._optimizer.step()
        self.flat.unpack_buffers(self.flat.gradients)
        self.flat.pack_buffers(self.flat.parameters)
