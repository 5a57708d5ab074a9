"""Every training architecture, with its capabilities (paper, section II-A)."""

from measure.interfaces.capabilities import ArchitectureEntry, Capability

_DATA_PARALLEL = frozenset(
    {Capability.FULL_RANK_GROUP, Capability.PER_RANK_DATA_SHARD, Capability.REPLICATED_STATE}
)
_PARTITIONED = frozenset({Capability.FULL_RANK_GROUP})

ARCHITECTURES = (
    ArchitectureEntry("a1-sync", _DATA_PARALLEL),
    ArchitectureEntry("a1-async", _DATA_PARALLEL | {Capability.CONTINUES_AFTER_LOSS}),
    ArchitectureEntry("a2", _DATA_PARALLEL),
    ArchitectureEntry("a3", _DATA_PARALLEL),
    ArchitectureEntry("a4", _PARTITIONED),
    ArchitectureEntry("a5", _PARTITIONED),
    ArchitectureEntry(
        "a6",
        frozenset(
            {
                Capability.PER_RANK_DATA_SHARD,
                Capability.REPLICATED_STATE,
                Capability.CONTINUES_AFTER_LOSS,
            }
        ),
    ),
    ArchitectureEntry("a7", _PARTITIONED),
)
