"""Every fault-tolerance mechanism, with what it requires (paper, section IV-B)."""

from measure.interfaces.capabilities import (
    Cadence,
    Capability,
    MechanismEntry,
    MissingMeans,
    Requirement,
    Way,
)

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

_IN_PLACE = (Way.SPARE, Way.RESTART)
_PLUGINS = "measure.mechanisms"

MECHANISMS = (
    MechanismEntry(
        "ft1", (), f"{_PLUGINS}.periodic_disk:PeriodicDisk", _IN_PLACE, Cadence.PERIODIC
    ),
    MechanismEntry(
        "ft2",
        (_FULL_RANK_RING,),
        f"{_PLUGINS}.peer_memory:PeerMemory",
        _IN_PLACE,
        Cadence.PERIODIC,
        replicas=1,
    ),
    MechanismEntry(
        "ft3",
        (),
        f"{_PLUGINS}.asynchronous_disk:AsynchronousDisk",
        _IN_PLACE,
        Cadence.PERIODIC,
    ),
    MechanismEntry(
        "ft4",
        (),
        f"{_PLUGINS}.just_in_time:JustInTime",
        _IN_PLACE,
        Cadence.ON_WARNING,
        replicas=1,
    ),
    MechanismEntry(
        "ft5",
        (_FULL_RANK_RING,),
        f"{_PLUGINS}.every_step:EveryStepReplication",
        _IN_PLACE,
        Cadence.EVERY_STEP,
        replicas=1,
    ),
    MechanismEntry(
        "ft6",
        (_FULL_RANK_RING,),
        f"{_PLUGINS}.k_replicas:KReplicas",
        _IN_PLACE,
        Cadence.PERIODIC,
        replicas=2,
    ),
    MechanismEntry(
        "ft7",
        (_DATA_SHARDS,),
        f"{_PLUGINS}.redistribution:DataRedistribution",
        (Way.SMALLER,),
    ),
    MechanismEntry(
        "ft8", (), f"{_PLUGINS}.elastic:ElasticGroup", (Way.SMALLER, Way.RESTART), grows=True
    ),
    MechanismEntry("ft9", (), f"{_PLUGINS}.none:NoFaultTolerance"),
)
