"""FT7: data redistribution (paper, II-B). Survivors deal out the data anew, and go on smaller.

Nothing is saved: where every rank holds the whole model, the survivors have it still. The global
batch shrinks with the group, so that the training is not the one that was planned.
"""

from collections.abc import Sequence

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier
from measure.state.live import LiveState


class DataRedistribution(Mechanism):
    """The state is the survivors' own; each keeps only what it needs to stand at a whole step."""

    def __init__(self) -> None:
        self._live = LiveState()

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Notes from now on which updates this rank has made."""
        at = surroundings
        self._live.follow(architecture, at.facts, at.store, restores=at.generation > 0)

    def after_step(self, step: int) -> None:
        """See Mechanism; nothing is sent or saved."""
        self._live.step_done(step)

    def tiers(self) -> Sequence[Tier]:
        """The survivors' memory."""
        return (self._live,)

    def detach(self) -> None:
        """The groups are gone; the state stays."""
        self._live.keep()
