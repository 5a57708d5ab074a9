"""FT5: replication at every step (paper, II-B): as FT2, with nothing lost but the step at hand."""

from measure.interfaces.mechanism import Surroundings
from measure.mechanisms.peer_memory import PeerMemory


class EveryStepReplication(PeerMemory):
    """Replicates to the next rank's memory after each step."""

    label = "ft5"
    tier_name = "peer memory, every step"

    def interval_steps(self, surroundings: Surroundings) -> int:
        """One, whatever interval other tiers of the run have."""
        return 1
