"""The kinds of faults, and the moments beside steps and times at which they strike. Stdlib only."""

from enum import StrEnum


class FaultKind(StrEnum):
    """What happens to the victim, which does it to itself, or to the node that it is on."""

    CRASH = "crash"
    """SIGKILL: fail-stop, nothing is flushed, no handler runs."""
    HANG = "hang"
    """SIGSTOP: alive, its sockets open, but silent."""
    EXCEPTION = "exception"
    """Its training code raises; the process ends by itself, with a traceback."""
    NODE_CRASH = "node-crash"
    """The node is lost: SIGKILL of its agent and of all its ranks, and what its memory held."""
    PARTITION = "partition"
    """The node's link is cut: its ranks live, and reach nobody."""
    COORDINATOR_LOSS = "coordinator-loss"
    """SIGKILL of the rank that has what no other has (a parameter server)."""
    STORE_LOSS = "store-loss"
    """SIGKILL of the process with the store through which ranks find each other and agree."""
    STRAGGLER = "straggler"
    """Each of its steps takes longer: its computing, or what it sends."""
    SKIPPED_UPDATE = "skipped-update"
    """One step of its optimizer comes to nothing: parameters and optimizer are as before it."""
    WRONG_RNG = "wrong-rng"
    """Its random number generators have moved on by themselves."""
    PARTIAL_RESTORE = "partial-restore"
    """Half of its model's tensors are as they were some steps before."""
    FLIP_PARAMETER = "flip-parameter"
    """One bit of one parameter."""
    FLIP_GRADIENT = "flip-gradient"
    """One bit of one gradient, as the optimizer is to use it."""
    FLIP_BUFFER = "flip-buffer"
    """One bit of the optimizer's tensors, or of the model's buffers."""
    FLIP_REPLICA = "flip-replica"
    """One bit of a state that it holds in shared memory."""
    FULL_STORAGE = "full-storage"
    """What it writes to storage is refused for want of space (ENOSPC), from now on."""
    SLOW_STORAGE = "slow-storage"
    """What it writes to storage takes longer, from now on."""
    CORRUPT_SHARD = "corrupt-shard"
    """One bit of its shard of the newest committed generation of checkpoints."""
    MISSING_SHARD = "missing-shard"
    """Its shard of the newest committed generation of checkpoints is gone."""
    CORRUPT_MANIFEST = "corrupt-manifest"
    """One bit of the newest manifest of checkpoints."""

    @property
    def strikes_a_node(self) -> bool:
        """Whether all ranks of a node are lost with the one that is named."""
        return self in (FaultKind.NODE_CRASH, FaultKind.PARTITION)

    @property
    def ends_its_rank(self) -> bool:
        """Whether the rank that is named is lost; it trains on after any other kind."""
        return self in _ENDING


_ENDING = frozenset(
    {
        FaultKind.CRASH,
        FaultKind.HANG,
        FaultKind.EXCEPTION,
        FaultKind.NODE_CRASH,
        FaultKind.PARTITION,
        FaultKind.COORDINATOR_LOSS,
    }
)


class StartPhase(StrEnum):
    """A part of a run before its first step, at which a fault may strike."""

    STARTING = "starting"
    """The process is up and has met nobody yet."""
    FORMING_GROUPS = "forming-groups"
    """Its peers may be waiting for it in the formation of groups; of the recovery from fault 0,
    where that strikes while training."""


class RecoveryPhase(StrEnum):
    """A part of the recovery from fault 0 at which another one may strike, beside the formation of
    groups."""

    NOTICING = "noticing"
    """The victim has just noticed that the group is broken, and told nobody."""
    ELECTING = "electing"
    """It has said so, and waits for who goes on."""
    RESTORING = "restoring"
    """Groups are formed; the ranks are about to agree on a state."""
    CHECKING = "checking"
    """It has its state, and waits for the consistency gate."""


Phase = StartPhase | RecoveryPhase


class Warned(StrEnum):
    """What is wrong with the warning of an announced fault (`params.warning`)."""

    LOST = "lost"
    """Nobody hears it; the fault comes."""
    LATE = "late"
    """It comes when a tenth of the lead is left."""
    FALSE = "false"
    """It comes in time, and the fault does not."""
