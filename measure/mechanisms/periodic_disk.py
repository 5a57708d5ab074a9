"""FT1: periodic disk checkpoint (paper, II-B). Every `interval_steps` steps, while training waits.

One rank writes for all where the model is replicated, the others only what is theirs (random
generators, data position); elsewhere each rank writes its shard. A save counts once every rank
has reported its shard and one has published the manifest, on which all agree: what fails
anywhere has failed everywhere.
"""

import time
from collections.abc import Sequence
from dataclasses import replace

from measure.errors import InfeasibleError
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier
from measure.rank.state_size import expected_state_bytes
from measure.state import durable
from measure.state.agreement import save_together
from measure.state.checkpoints import Checkpoints
from measure.state.contract import capture
from measure.state.errors import NoSpaceError, StateError
from measure.state.manifest import Receipt, Serves
from measure.state.retention import Retention
from measure.state.storage import PUBLISHER, Storage

FOLDER = "checkpoints"
RETENTION = Retention()


def serves(rank: int, one_writer: bool) -> Serves:
    """Whom a rank's shard serves."""
    if not one_writer:
        return Serves.OWN
    return Serves.ALL if rank == PUBLISHER else Serves.PART


def retention_of(at: Surroundings) -> Retention:
    """Which generations a run keeps."""
    return RETENTION if at.kept is None else replace(RETENTION, recent=at.kept)


def open_storage(
    architecture: Architecture, at: Surroundings, folder: str = FOLDER, name: str = Storage.name
) -> Storage:
    """The checkpoints in a folder of the run as this rank's tier; the publisher makes the folder,
    and sweeps what dead writers left. InfeasibleError if, as the run begins, the disk is too small
    for what retention keeps.

    Of several mechanisms each has a folder and a name of its own: one's pruning would take away
    what another is just writing.
    """
    rank = architecture.context.rank
    checkpoints = Checkpoints(at.folder / folder)
    if rank == PUBLISHER:
        checkpoints.open()
    if not at.generation and serves(rank, at.one_writer) is not Serves.PART:
        needed = bytes_of_all_writers(architecture, at) * (retention_of(at).recent + 1)
        try:
            durable.need_space(at.folder, needed)
        except NoSpaceError as error:
            raise InfeasibleError(f"too little storage for checkpoints: {error}") from error
    storage = Storage(checkpoints, rank)
    storage.name = name
    return storage


def bytes_of_all_writers(architecture: Architecture, at: Surroundings) -> int:
    """What one generation of checkpoints has in bytes, if every writer has as much as this one."""
    writers = 1 if at.one_writer else architecture.context.world_size
    return expected_state_bytes(architecture.state()) * writers


class PeriodicDisk(Mechanism):
    """Saves to storage at an interval, while training waits."""

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Makes the folder; the publisher sweeps what dead writers left."""
        self._architecture, self._at = architecture, surroundings
        self._rank = architecture.context.rank
        self._storage = open_storage(architecture, surroundings)
        self._given_up = False

    def after_step(self, step: int) -> None:
        """Saves after every `interval_steps` steps."""
        done = step + 1
        if done % self._at.interval_steps or self._is_over():
            return
        began = time.monotonic()
        try:
            size_bytes = self._save(done)
        except StateError as error:
            self._at.log.write(
                "save-failed", step=done, s=time.monotonic() - began, why=str(error)[:300]
            )
            if not self._at.goes_on_alone:
                raise
            self._given_up = True
            return
        self._at.log.write(
            "saved", step=done, s=time.monotonic() - began, bytes=size_bytes, path="storage"
        )

    def tiers(self) -> Sequence[Tier]:
        """Storage."""
        return (self._storage,)

    def _is_over(self) -> bool:
        """Whether a peer is gone for good, so that no generation can be complete any more."""
        return self._given_up or self._at.nothing_can_be_whole()

    def _save(self, done: int) -> int:
        """Saves on all ranks, or on none; returns the bytes of this rank's own shard."""
        state = capture(self._architecture, done, self._at.facts)
        checkpoints = self._storage.checkpoints

        def write() -> Receipt:
            return checkpoints.write(state, serves(self._rank, self._at.one_writer))

        lineage = {"mechanism": "ft1", "group_generation": self._at.generation}
        receipts = save_together(
            checkpoints,
            self._at.store,
            f"save-{done}",
            state,
            write,
            lineage,
            self._at.timeout_s,
        )
        if self._rank == PUBLISHER:
            checkpoints.prune(retention_of(self._at), self._at.proved())
        return receipts[self._rank].size_bytes
