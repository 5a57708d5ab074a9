"""FT6: several replicas (paper, II-B): as FT2, with each rank's state in the memory of the next k
ranks, so that k ranks in a row may be lost at once."""

from measure.interfaces.mechanism import Surroundings
from measure.mechanisms.peer_memory import PeerMemory

_USUAL = 2


class KReplicas(PeerMemory):
    """Replicates to the memory of `Surroundings.replicas` peers at an interval."""

    label = "ft6"
    tier_name = "peer memory, several replicas"

    def peers(self, surroundings: Surroundings) -> int:
        """As many as were asked for."""
        return surroundings.replicas or _USUAL
