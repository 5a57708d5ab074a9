"""A4, pipeline parallelism: one stage a rank (paper, section II-A)."""

from torch import nn

from measure.architectures.pipeline import Stage, stage_blocks
from measure.architectures.shapes import at_least, layered
from measure.architectures.transport import Transport
from measure.errors import ShapeError
from measure.interfaces.architecture import Architecture, StepResult, TrainingState
from measure.interfaces.workload import Workload
from measure.workloads.loader import Loader
from measure.workloads.mlp import Block


class PipelineParallel(Architecture):
    """The model is cut by depth; all ranks work on the same batch, in micro-batches."""

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Two ranks or more, and no more than there are blocks."""
        at_least(2, world_size, "with one there is no pipeline")
        blocks = layered(workload).blocks
        if world_size > blocks:
            raise ShapeError(
                f"{workload.name} has {blocks} blocks, too few for {world_size} stages: "
                f"at most {blocks} ranks fit"
            )

    def build(self) -> None:
        """See Architecture."""
        context, workload = self.context, layered(self.workload)
        transport = Transport(context, context.groups.world())
        rank, last = context.rank, context.world_size - 1
        mine = stage_blocks(rank, context.world_size, workload.blocks)
        made = (Block(*workload.block_weights(i)).to(context.device) for i in mine)
        self._model = nn.Sequential(*made)
        self._optimizer = workload.optimizer(self._model.parameters())
        self._loader = Loader(workload.dataset(), workload.batch_per_rank, 0, 1, context.seed)
        self._stage = Stage(
            layers=self._model,
            transport=transport,
            previous=rank - 1 if rank > 0 else None,
            following=rank + 1 if rank < last else None,
            width=workload.width,
            loss=workload.loss,
        )

    def step(self) -> StepResult:
        """See Architecture. The loss is known to the last rank."""
        samples = self.workload.batch_per_rank
        batch = self._stage.next_batch(self._loader, self.context.device)
        self._optimizer.zero_grad()
        loss = self._stage.train(batch, samples)
        self._optimizer.step()
        return StepResult(loss, samples)

    def state(self) -> TrainingState:
        """This rank's stage, and its optimizer."""
        return TrainingState(self._model, self._optimizer, self._loader)
