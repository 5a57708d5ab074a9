"""A5, tensor parallelism: every block is split over all ranks (paper, section II-A)."""

from measure.architectures.shapes import at_least, divides, layered
from measure.architectures.tensor_parallel import sharded_blocks
from measure.interfaces.architecture import Architecture, StepResult, TrainingState
from measure.interfaces.workload import Workload
from measure.workloads.loader import Loader


class TensorParallel(Architecture):
    """All ranks work on the same batch, each with its share of every block."""

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Two ranks or more, among which the blocks' inner features can be shared equally."""
        at_least(2, world_size, "with one nothing is split")
        divides(world_size, layered(workload).hidden, f"the hidden width of {workload.name}")

    def build(self) -> None:
        """See Architecture."""
        context, workload = self.context, layered(self.workload)
        group = context.groups.world()
        every = range(workload.blocks)
        self._model = sharded_blocks(workload, every, context.rank, group, context.device)
        self._optimizer = workload.optimizer(self._model.parameters())
        self._loader = Loader(workload.dataset(), workload.batch_per_rank, 0, 1, context.seed)

    def step(self) -> StepResult:
        """See Architecture. Every rank ends with the same outputs and the same loss."""
        inputs, targets = (t.to(self.context.device) for t in self._loader.next())
        loss = self.workload.loss(self._model(inputs), targets)
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return StepResult(loss.item(), len(inputs))

    def state(self) -> TrainingState:
        """This rank's share of the model and of the optimizer."""
        return TrainingState(self._model, self._optimizer, self._loader)
