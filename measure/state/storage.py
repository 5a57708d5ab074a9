"""Storage as a tier: generations of a folder that all ranks reach."""

from collections.abc import Sequence
from typing import Any

from measure.interfaces.tier import Tier
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState
from measure.state.errors import StateError

PUBLISHER = 0
"""The rank that publishes manifests, and whose view of the folder counts."""


class Storage(Tier):
    """The committed generations of `checkpoints`, as rank `rank` sees them."""

    name = "storage"

    def __init__(self, checkpoints: Checkpoints, rank: int) -> None:
        self.checkpoints = checkpoints
        self._rank = rank

    def offer(self) -> list[list[Any]]:
        """[step, digest of the manifest] of each generation that may be offered."""
        if not self.checkpoints.folder.is_dir():
            return []
        return [[g.step, g.digest] for g in self.checkpoints.generations()]

    def candidates(self, offers: Sequence[list[list[Any]]]) -> list[int]:
        """The generations that every rank sees."""
        seen = [{(step, digest) for step, digest in offer} for offer in offers]
        return sorted((step for step, _ in set.intersection(*seen)), reverse=True)

    def load(self, step: int, offers: Sequence[list[list[Any]]]) -> RankState:
        """See Tier; each rank reads its own shards only."""
        offered = {(found, digest) for found, digest in offers[PUBLISHER]}
        for generation in self.checkpoints.generations():
            if generation.step == step and (step, generation.digest) in offered:
                return self.checkpoints.load(generation, self._rank)
        raise StateError(f"the generation of step {step} is not there any more")

    def went_back(self, step: int) -> None:
        """See Tier."""
        if self._rank == PUBLISHER and self.checkpoints.folder.is_dir():
            self.checkpoints.poison(step + 1, f"training went back to step {step}")

    def rejected(self) -> list[tuple[int, str]]:
        """See Tier."""
        if not self.checkpoints.folder.is_dir():
            return []
        return [(found.step, found.why) for found in self.checkpoints.rejected()]
