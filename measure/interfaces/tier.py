"""Where states are kept for a recovery: the interface of every tier (storage, peers' memory, ...).

A recovery takes the newest state that all ranks can prove, whichever tier has it. Every rank says
what it could contribute (`offer`); from all offers follows, without communication, which steps
the tier may have whole (`candidates`); then all ranks load one candidate after the other
(measure.rank.restoring), the newest first, until one succeeds on every rank.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from measure.state.contract import RankState


class Tier(ABC):
    """One place for states. All calls come from the training thread; after a loss those of one
    generation end before the next one's begin. Tiers are made once a process and outlive
    generations; the mechanism attaches them."""

    name: str
    """What a report calls it: `storage`, `peer memory`, `own memory`."""

    @abstractmethod
    def offer(self) -> Any:
        """What this rank could contribute, for JSON; no communication. Never raises for damaged
        content: what cannot be offered is left out."""

    @abstractmethod
    def candidates(self, offers: Sequence[Any]) -> list[int]:
        """The steps that the tier may be able to give every rank, newest first; pure. `offers`
        has every rank's, in rank order; the result must be the same on every rank."""

    @abstractmethod
    def load(self, step: int, offers: Sequence[Any]) -> RankState:
        """This rank's state after `step` steps, verified. Called on every rank alike, so that it
        may communicate; StateError where this rank cannot have it, and then no rank uses it."""

    def went_back(self, step: int) -> None:  # noqa: B027 - most have nothing to do
        """All ranks go on from `step`: what the tier has of later steps belongs to a run that is
        over, and must never be offered again. Called on every rank."""

    def rejected(self) -> list[tuple[int, str]]:
        """Candidates that this rank does not offer, and why: for the log."""
        return []
