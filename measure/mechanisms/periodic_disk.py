"""FT1: periodic disk checkpoint (paper, II-B). Every `interval_steps` steps, while training waits.

One rank writes for all where the model is replicated, the others only what is theirs (random
generators, data position); elsewhere each rank writes its shard. A save counts once every rank
has reported its shard and one has published the manifest, on which all agree: what fails
anywhere has failed everywhere.
"""

import time
from collections.abc import Callable
from typing import Any

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Restored, Surroundings
from measure.state.agreement import agree, agree_on
from measure.state.checkpoints import Checkpoints
from measure.state.contract import RankState, capture, restore
from measure.state.digest import digests
from measure.state.errors import NoCheckpointError, StateError
from measure.state.manifest import Receipt, Serves
from measure.state.retention import Retention

FOLDER = "checkpoints"
_RETENTION = Retention()
_PUBLISHER = 0


class PeriodicDisk(Mechanism):
    """Saves to storage at an interval; goes back to the newest complete generation."""

    recovers = True

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Makes the folder; the publisher sweeps what dead writers left."""
        self._architecture, self._at = architecture, surroundings
        self._rank = architecture.context.rank
        self._world_size = architecture.context.world_size
        self._checkpoints = Checkpoints(surroundings.folder / FOLDER)
        self._given_up = False
        if self._rank == _PUBLISHER:
            self._checkpoints.open()

    def after_step(self, step: int) -> None:
        """Saves after every `interval_steps` steps."""
        done = step + 1
        if done % self._at.interval_steps or self._is_over():
            return
        began = time.monotonic()
        try:
            receipts = self._save(done)
        except StateError as error:
            if not self._at.goes_on_alone:
                raise
            self._given_up = True
            self._at.log.write("saves-given-up", step=done, why=str(error)[:300])
            return
        own = next(receipt for receipt in receipts if receipt.rank == self._rank)
        self._at.log.write(
            "saved", step=done, s=time.monotonic() - began, bytes=own.size_bytes, path="storage"
        )

    def restore(self) -> Restored:
        """The newest generation that verifies on every rank; from nothing if there is none."""
        try:
            loaded = self._checkpoints.newest({self._rank})
        except NoCheckpointError:
            self._agree("restore", {"step": 0})
            return self._proved(0, "")
        for rejected in loaded.rejected:
            self._at.log.write("checkpoint-rejected", step=rejected.step, why=rejected.why)
        self._agree("restore", {"step": loaded.generation.step})
        restore(self._architecture, loaded.states[self._rank])
        return self._proved(loaded.generation.step, f"checkpoint {loaded.generation.folder.name}")

    def _is_over(self) -> bool:
        """Whether a peer is gone for good, so that no generation can be complete any more."""
        return self._given_up or (self._at.goes_on_alone and self._at.somebody_lost())

    def _save(self, done: int) -> list[Receipt]:
        state = capture(self._architecture, done, self._at.facts)
        name = f"save-{done}"
        outcome = _attempt(lambda: self._checkpoints.write(state, self._serves()))
        receipts = agree(
            self._at.store, name, self._rank, self._world_size, outcome, self._at.timeout_s
        )
        published: Any = {}
        if self._rank == _PUBLISHER:
            published = _attempt(lambda: self._publish(done, receipts))
        self._agree(f"{name}-published", published)
        if self._rank == _PUBLISHER:
            self._checkpoints.prune(_RETENTION)
        return receipts

    def _publish(self, done: int, receipts: list[Receipt]) -> dict[str, Any]:
        lineage = {"mechanism": "ft1", "group_generation": self._at.generation}
        self._checkpoints.publish(done, self._world_size, receipts, lineage)
        return {}

    def _serves(self) -> Serves:
        if not self._at.one_writer:
            return Serves.OWN
        return Serves.ALL if self._rank == _PUBLISHER else Serves.PART

    def _agree(self, name: str, report: Any) -> None:
        """All ranks report the same thing, or none of them goes on."""
        reports = agree_on(
            self._at.store, name, self._rank, self._world_size, report, self._at.timeout_s
        )
        if any(other != reports[0] for other in reports):
            raise StateError(f"{name}: ranks do not agree: {reports}")

    def _proved(self, step: int, source: str) -> Restored:
        state = capture(self._architecture, step, self._at.facts)
        return Restored(step, proof_of(state, self._at.one_writer), source)


def proof_of(state: RankState, replicated: bool) -> dict[str, str]:
    """What every rank of a group must have in common: where it stands, and the model where it is
    replicated."""
    found = digests(state)
    proof = {"step": str(state.step), "position": found.position}
    return {**proof, "parameters": found.parameters} if replicated else proof


def _attempt(action: Callable[[], Any]) -> Any:
    """What the action returns, or the exception that it ended with: either is to be reported."""
    try:
        return action()
    except (OSError, StateError) as error:
        return error
