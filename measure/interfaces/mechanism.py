"""What keeps a training alive: the interface of every fault-tolerance mechanism."""

from measure.faults.schedule import FaultEvent
from measure.interfaces.architecture import Architecture


class Mechanism:
    """Hooks named after moments, all called from the training thread of every rank.

    Each does nothing unless a mechanism has work at that moment: FT9 has none at all.
    """

    def attach(self, architecture: Architecture) -> None:
        """After the groups are formed, before the first step; may allocate buffers."""

    def after_step(self, step: int) -> None:
        """Step `step` (from 0) is complete on this rank; may communicate, if all ranks do."""

    def on_warning(self, event: FaultEvent) -> None:
        """A fault was announced; called at the next step boundary, on every rank."""

    def detach(self) -> None:
        """The run is over on this rank; frees what `attach` allocated."""
