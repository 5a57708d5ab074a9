"""A7, 3D hybrid: data x pipeline x tensor parallelism (paper, section II-A)."""

from dataclasses import dataclass

import torch.distributed as dist

from measure.architectures.flat import FlatModel
from measure.architectures.pipeline import Stage, stage_blocks
from measure.architectures.shapes import layered
from measure.architectures.tensor_parallel import sharded_blocks
from measure.architectures.transport import Transport
from measure.errors import ShapeError
from measure.interfaces.architecture import (
    Architecture,
    Replication,
    StepResult,
    TrainingState,
)
from measure.interfaces.workload import Workload
from measure.rank.context import Groups
from measure.rank.peer_waits import for_peers
from measure.workloads.loader import Loader

TENSOR = 2
STAGES = 2
_REPLICA = STAGES * TENSOR


@dataclass(frozen=True, slots=True)
class Place:
    """Where a rank stands: rank = replica x 4 + stage x 2 + shard."""

    replica: int
    stage: int
    shard: int

    @staticmethod
    def of(rank: int) -> "Place":
        """The place of a rank."""
        return Place(rank // _REPLICA, rank // TENSOR % STAGES, rank % TENSOR)

    @property
    def rank(self) -> int:
        """The rank at this place."""
        return self.replica * _REPLICA + self.stage * TENSOR + self.shard

    def neighbour(self, stages: int) -> int | None:
        """The rank of the same shard, `stages` stages further; None beyond the ends."""
        stage = self.stage + stages
        inside = 0 <= stage < STAGES
        return Place(self.replica, stage, self.shard).rank if inside else None


class Hybrid(Architecture):
    """Replicas of a pipeline of two stages, whose blocks are split over two ranks each.

    A replica's ranks work on the same batch; the replicas' gradients are averaged.
    """

    @staticmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """A multiple of four ranks; the workload must be cut in two both ways."""
        if world_size < _REPLICA or world_size % _REPLICA:
            raise ShapeError(
                f"{world_size} ranks are no multiple of {_REPLICA} (2 stages x 2 shards): "
                "4, 8 or 12 ranks fit, and so on"
            )
        cut = layered(workload)
        if cut.blocks < STAGES or cut.hidden % TENSOR:
            raise ShapeError(f"{workload.name} cannot be cut into 2 stages and 2 shards")

    def build(self) -> None:
        """See Architecture. Every rank takes part in forming every group."""
        context, workload = self.context, layered(self.workload)
        place = Place.of(context.rank)
        world = context.groups.world()
        shards, self._replicas = _form(context.groups, place, context.world_size)
        mine = stage_blocks(place.stage, STAGES, workload.blocks)
        self._model = sharded_blocks(workload, mine, place.shard, shards, context.device)
        self._flat = FlatModel(self._model)
        self._optimizer = workload.optimizer(self._model.parameters())
        self._loader = Loader(
            workload.dataset(),
            workload.batch_per_rank,
            place.replica,
            context.world_size // _REPLICA,
            context.seed,
        )
        self._stage = Stage(
            layers=self._model,
            transport=Transport(context, world),
            previous=place.neighbour(-1),
            following=place.neighbour(1),
            width=workload.width,
            loss=workload.loss,
        )

    def step(self) -> StepResult:
        """See Architecture. A replica's loss is known to its last stage."""
        samples = self.workload.batch_per_rank
        batch = self._stage.next_batch(self._loader, self.context.device)
        self._flat.zero_gradients()
        loss = self._stage.train(batch, samples)
        gradients = self._flat.weight_gradients
        with for_peers():
            dist.all_reduce(gradients, group=self._replicas)
        gradients /= self._replicas.size()
        self._optimizer.step()
        return StepResult(loss, samples)

    def state(self) -> TrainingState:
        """This rank's shard of its stage, and its optimizer."""
        return TrainingState(self._model, self._optimizer, self._loader)

    def replication(self) -> Replication:
        """The ranks of the same stage and shard, one in each replica; alone where there is one."""
        count = self.context.world_size // _REPLICA
        own = Place.of(self.context.rank)
        ranks = tuple(Place(r, own.stage, own.shard).rank for r in range(count))
        return Replication(ranks, independent=count > 1)


def _form(
    groups: Groups, place: Place, world_size: int
) -> tuple[dist.ProcessGroup, dist.ProcessGroup]:
    """The group of this rank's shards, and that of its replicas."""
    replicas = range(world_size // _REPLICA)
    shard_groups = {
        (r, s): groups.sub([Place(r, s, t).rank for t in range(TENSOR)])
        for r in replicas
        for s in range(STAGES)
    }
    replica_groups = {
        (s, t): groups.sub([Place(r, s, t).rank for r in replicas])
        for s in range(STAGES)
        for t in range(TENSOR)
    }
    return shard_groups[place.replica, place.stage], replica_groups[place.stage, place.shard]
