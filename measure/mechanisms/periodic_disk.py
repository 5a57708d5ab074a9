"""FT1: periodic disk checkpoint (paper, II-B). Every `interval_steps` steps, while training waits.

One rank writes for all where the model is replicated, the others only what is theirs (random
generators, data position); elsewhere each rank writes its shard. A save counts once every rank
has reported its shard and one has published the manifest, on which all agree: what fails
anywhere has failed everywhere.
"""

import time

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Restored, Surroundings
from measure.state.agreement import load_together, save_together
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
            size_bytes = self._save(done)
        except StateError as error:
            if not self._at.goes_on_alone:
                raise
            self._given_up = True
            self._at.log.write("saves-given-up", step=done, why=str(error)[:300])
            return
        self._at.log.write(
            "saved", step=done, s=time.monotonic() - began, bytes=size_bytes, path="storage"
        )

    def restore(self) -> Restored:
        """The newest generation that every rank can verify; from nothing if there is none."""
        try:
            loaded = load_together(
                self._checkpoints,
                self._at.store,
                "restore",
                self._rank,
                self._world_size,
                self._at.timeout_s,
            )
        except NoCheckpointError:
            return self._proved(0, "")
        for rejected in loaded.rejected:
            self._at.log.write("checkpoint-rejected", step=rejected.step, why=rejected.why)
        step = loaded.generation.step
        if self._rank == _PUBLISHER:
            # What is newer belongs to a run that is over: it must never be taken for this one's.
            self._checkpoints.poison(step + 1, f"training went back to step {step}")
        restore(self._architecture, loaded.states[self._rank])
        return self._proved(step, f"checkpoint {loaded.generation.folder.name}")

    def _is_over(self) -> bool:
        """Whether a peer is gone for good, so that no generation can be complete any more."""
        return self._given_up or (self._at.goes_on_alone and self._at.somebody_lost())

    def _save(self, done: int) -> int:
        """Saves on all ranks, or on none; returns the bytes of this rank's own shard."""
        state = capture(self._architecture, done, self._at.facts)

        def write() -> Receipt:
            return self._checkpoints.write(state, self._serves())

        lineage = {"mechanism": "ft1", "group_generation": self._at.generation}
        receipts = save_together(
            self._checkpoints,
            self._at.store,
            f"save-{done}",
            state,
            write,
            lineage,
            self._at.timeout_s,
        )
        if self._rank == _PUBLISHER:
            self._checkpoints.prune(_RETENTION)
        return receipts[self._rank].size_bytes

    def _serves(self) -> Serves:
        if not self._at.one_writer:
            return Serves.OWN
        return Serves.ALL if self._rank == _PUBLISHER else Serves.PART

    def _proved(self, step: int, source: str) -> Restored:
        state = capture(self._architecture, step, self._at.facts)
        return Restored(step, proof_of(state, self._at.one_writer), source)


def proof_of(state: RankState, replicated: bool) -> dict[str, str]:
    """What every rank of a group must have in common: where it stands, and the parameters where
    the model is replicated. (Not its buffers: DDP sends rank 0's around before each pass.)"""
    found = digests(state)
    proof = {"step": str(state.step), "position": found.position}
    return {**proof, "parameters": found.parameters} if replicated else proof
