"""Every fault-tolerance mechanism, with what it requires (paper, section IV-B)."""

from measure.interfaces.capabilities import Capability, MechanismEntry, MissingMeans, Requirement

_FULL_RANK_RING = Requirement(
    Capability.FULL_RANK_GROUP,
    MissingMeans.INFEASIBLE,
    "a long-lived group of all ranks, over which each rank's state is replicated to a peer",
)
_DATA_SHARDS = Requirement(
    Capability.PER_RANK_DATA_SHARD,
    MissingMeans.DEGENERATE,
    "a data shard per rank to deal out again; without one it reduces to a checkpoint-based restart",
)

MECHANISMS = (
    MechanismEntry("ft1", (), "measure.mechanisms.periodic_disk:PeriodicDisk"),
    MechanismEntry("ft2", (_FULL_RANK_RING,)),
    MechanismEntry("ft3", ()),
    MechanismEntry("ft4", ()),
    MechanismEntry("ft5", (_FULL_RANK_RING,)),
    MechanismEntry("ft6", (_FULL_RANK_RING,)),
    MechanismEntry("ft7", (_DATA_SHARDS,)),
    MechanismEntry("ft8", ()),
    MechanismEntry("ft9", (), "measure.mechanisms.none:NoFaultTolerance"),
)
