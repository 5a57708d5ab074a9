"""FT8: elastic process group (paper, II-B). The group is formed again without the lost ranks, and
at its full size once others have come back.

Where every rank holds the whole model, the survivors go on from what they have, as FT7. Where a
part of the model was lost with its rank, no elasticity brings it back: the group waits for a rank
to take the place, and training begins again at step 0.
"""

from collections.abc import Sequence

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Surroundings
from measure.interfaces.tier import Tier
from measure.mechanisms.redistribution import DataRedistribution


class ElasticGroup(DataRedistribution):
    """As DataRedistribution; that the group grows again is the supervisor's work."""

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """See DataRedistribution."""
        super().attach(architecture, surroundings)
        self._replicated = surroundings.one_writer

    def tiers(self) -> Sequence[Tier]:
        """The survivors' memory, where it has everything."""
        return super().tiers() if self._replicated else ()
