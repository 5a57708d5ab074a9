"""Which act carries out which kind of fault."""

from collections.abc import Callable, Mapping
from typing import Any

from measure.faults.acts.act import Act, Scene, Told
from measure.faults.acts.memory import FlipReplica
from measure.faults.acts.slowness import straggler
from measure.faults.acts.storage import (
    CorruptManifest,
    CorruptShard,
    FullStorage,
    MissingShard,
    SlowStorage,
)
from measure.faults.acts.training import (
    FlipBuffer,
    FlipGradient,
    FlipParameter,
    PartialRestore,
    SkippedUpdate,
    WrongRng,
)
from measure.faults.kinds import FaultKind


class StoreLoss(Act):
    """The supervisor, who hears of every fault that its rank survives, ends the store."""

    def strike(self, at: Scene, told: Told) -> None:
        """Says so."""
        told({})


ACTS: Mapping[FaultKind, Callable[[Mapping[str, Any], int], Act]] = {
    FaultKind.STORE_LOSS: StoreLoss,
    FaultKind.STRAGGLER: straggler,
    FaultKind.SKIPPED_UPDATE: SkippedUpdate,
    FaultKind.WRONG_RNG: WrongRng,
    FaultKind.PARTIAL_RESTORE: PartialRestore,
    FaultKind.FLIP_PARAMETER: FlipParameter,
    FaultKind.FLIP_GRADIENT: FlipGradient,
    FaultKind.FLIP_BUFFER: FlipBuffer,
    FaultKind.FLIP_REPLICA: FlipReplica,
    FaultKind.FULL_STORAGE: FullStorage,
    FaultKind.SLOW_STORAGE: SlowStorage,
    FaultKind.CORRUPT_SHARD: CorruptShard,
    FaultKind.MISSING_SHARD: MissingShard,
    FaultKind.CORRUPT_MANIFEST: CorruptManifest,
}
"""Each makes its act of the params and the ordinal of the event."""
