"""What a mechanism asks of a tool: read off its cadence and its paths, never off its name."""

from enum import StrEnum

from advisor.errors import UserError
from db.records import Cadence, Mechanism, TransferPath


class Need(StrEnum):
    """One thing that a tool can or cannot do."""

    STORAGE = "storage"
    """Every so many steps a checkpoint on shared storage, for which training waits."""
    BACKGROUND = "background"
    """The same, written from a copy in host memory while training goes on."""
    PEER = "peer"
    """Every so many steps a copy of each rank's state in another rank's memory."""
    PEERS = "peers"
    """The same, in the memory of several others."""
    EVERY_STEP = "every_step"
    """A copy in another rank's memory after each step."""
    WARNING = "warning"
    """A save when a failure is announced, before it strikes."""
    SURVIVORS = "survivors"
    """The ranks that are left go on from the state that they hold, fewer than before."""
    NOTHING = "nothing"
    """No fault tolerance at all."""


def need_of(mechanism: Mechanism) -> Need:
    """What a tool has to do to realise the mechanism. Raises UserError for an unknown kind."""
    by_cadence = {
        Cadence.EVERY_STEP: Need.EVERY_STEP,
        Cadence.ON_WARNING: Need.WARNING,
        Cadence.AFTER_FAILURE: Need.SURVIVORS,
        Cadence.NEVER: Need.NOTHING,
    }
    if mechanism.cadence is not Cadence.PERIODIC:
        return by_cadence[mechanism.cadence]
    if mechanism.save_path is TransferPath.PEER:
        return Need.PEER if mechanism.default_replicas < 2 else Need.PEERS
    if mechanism.persist_path is TransferPath.STORAGE_WRITE:
        return Need.BACKGROUND
    if mechanism.save_path is TransferPath.STORAGE_WRITE:
        return Need.STORAGE
    raise UserError(
        f"{mechanism.mechanism_id.upper()} saves by {mechanism.save_path.value}, which no tool is "
        "known to do"
    )
