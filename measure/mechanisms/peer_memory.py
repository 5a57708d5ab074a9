"""FT2: in-memory checkpoint (paper, II-B). Every `interval_steps` steps each rank's state goes to
the memory of the next rank of the ring, while training waits."""

import time
from collections.abc import Sequence

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier
from measure.rank.links import group_links
from measure.rank.state_size import expected_state_bytes
from measure.state.contract import capture
from measure.state.errors import StateError
from measure.state.replicas import Replicas

PATH = "peer memory"
"""What saves go over, as the log calls it."""


class PeerMemory(Mechanism):
    """Replicates to peers' memory at an interval; variants replicate more often, or more."""

    label = "ft2"
    tier_name = "peer memory"

    def __init__(self) -> None:
        self._replicas = Replicas(self.label, self.tier_name)
        self._given_up = False

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Forms a group for the replicas, and reserves their memory."""
        self._architecture: Architecture | None = architecture
        self._at = surroundings
        self._given_up = False
        context = architecture.context
        self._replicas.attach(
            surroundings,
            context,
            group_links(context),
            self.peers(surroundings),
            expected_state_bytes(architecture.state()),
        )

    def peers(self, surroundings: Surroundings) -> int:
        """How many peers hold each rank's state."""
        return 1

    def interval_steps(self, surroundings: Surroundings) -> int:
        """Steps between two saves."""
        return surroundings.interval_steps

    def after_step(self, step: int) -> None:
        """Saves after every `interval_steps` steps."""
        done = step + 1
        if done % self.interval_steps(self._at) or self._is_over():
            return
        began = time.monotonic()
        try:
            size_bytes = self._save(done)
        except (StateError, RuntimeError) as error:
            spent_s = time.monotonic() - began
            self._at.log.write("save-failed", step=done, s=spent_s, why=str(error)[:300])
            if not self._at.goes_on_alone:
                raise
            self._given_up = True
            return
        self._at.log.write(
            "saved", step=done, s=time.monotonic() - began, bytes=size_bytes, path=PATH
        )

    def tiers(self) -> Sequence[Tier]:
        """Peers' memory."""
        return (self._replicas,)

    def detach(self) -> None:
        """Lets go of the group; the memory stays."""
        self._replicas.detach()
        self._architecture = None

    def _is_over(self) -> bool:
        """Whether a peer is gone for good, so that nothing can be whole any more."""
        return self._given_up or self._at.nothing_can_be_whole()

    def _save(self, done: int) -> int:
        assert self._architecture is not None
        state = capture(self._architecture, done, self._at.facts)
        return self._replicas.save(state, f"save-{done}")
