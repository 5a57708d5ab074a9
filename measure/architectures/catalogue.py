"""Every training architecture, with its capabilities (paper, section II-A); needs no torch."""

from measure.interfaces.capabilities import ArchitectureEntry, Capability
from measure.workloads.catalogue import LAYERED, WORKLOADS

_DATA_PARALLEL = frozenset(
    {Capability.FULL_RANK_GROUP, Capability.PER_RANK_DATA_SHARD, Capability.REPLICATED_STATE}
)
_PARTITIONED = frozenset({Capability.FULL_RANK_GROUP})
_GOSSIP = frozenset(
    {
        Capability.PER_RANK_DATA_SHARD,
        Capability.REPLICATED_STATE,
        Capability.CONTINUES_AFTER_LOSS,
    }
)


def _any_model_but_first(default: str) -> tuple[str, ...]:
    return (default, *(w.workload for w in WORKLOADS if w.workload != default))


def _layers_but_first(default: str) -> tuple[str, ...]:
    return (default, *(name for name in LAYERED if name != default))


_WHOLE_MODELS = _any_model_but_first("resnet50")

ARCHITECTURES = (
    ArchitectureEntry(
        "a1-sync",
        _DATA_PARALLEL,
        "measure.architectures.a1_sync:SynchronousParameterServer",
        _WHOLE_MODELS,
        coordinator=0,
    ),
    ArchitectureEntry(
        "a1-async",
        _DATA_PARALLEL | {Capability.CONTINUES_AFTER_LOSS},
        "measure.architectures.a1_async:AsynchronousParameterServer",
        _WHOLE_MODELS,
        coordinator=0,
    ),
    ArchitectureEntry(
        "a2", _DATA_PARALLEL, "measure.architectures.a2:RingAllReduce", _WHOLE_MODELS
    ),
    ArchitectureEntry(
        "a3", _DATA_PARALLEL, "measure.architectures.a3:TreeAllReduce", _WHOLE_MODELS
    ),
    ArchitectureEntry(
        "a4",
        _PARTITIONED,
        "measure.architectures.a4:PipelineParallel",
        _layers_but_first("megatron-mlp-a4"),
    ),
    ArchitectureEntry(
        "a5",
        _PARTITIONED,
        "measure.architectures.a5:TensorParallel",
        _layers_but_first("megatron-mlp-a5"),
    ),
    ArchitectureEntry("a6", _GOSSIP, "measure.architectures.a6:Gossip", _WHOLE_MODELS),
    ArchitectureEntry(
        "a7",
        _PARTITIONED,
        "measure.architectures.a7:Hybrid",
        _layers_but_first("megatron-mlp-a7"),
    ),
)
