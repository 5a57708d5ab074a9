"""FT3: asynchronous disk checkpoint (paper, II-B). Every `interval_steps` steps the state is copied
into host buffers, which is all that training waits for; a thread writes them to storage.

What is on the disk, and when it counts, is as with FT1. A save that is due while another one is
still being written is skipped, on all ranks.

A save in flight when the generation of the group ends is given up, or committed if every shard is
there; where nobody was lost, `detach` waits for it. A process that ends without `detach` drops it:
the log then has neither `saved` nor `save-failed` for it.
"""

import time
from collections.abc import Sequence

from measure.errors import InfeasibleError
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier
from measure.mechanisms.periodic_disk import (
    bytes_of_all_writers,
    open_storage,
    retention_of,
    serves,
)
from measure.rank.state_size import expected_state_bytes
from measure.state import host_memory
from measure.state.background import BackgroundSaves, Ended, Terms
from measure.state.contract import RankState, capture, copied, own_part
from measure.state.manifest import Serves

FOLDER = "checkpoints-asynchronous"
_PATIENCE = 10
"""Training waits for nobody here: one rank's shard may take so many times longer after another's
than a peer may be silent elsewhere."""


class AsynchronousDisk(Mechanism):
    """Saves to storage at an interval, beside the training."""

    def __init__(self) -> None:
        self._buffers: RankState | None = None
        self._attached: BackgroundSaves | None = None

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """Makes the folder, and starts the thread. InfeasibleError where storage or memory is too
        small."""
        self._architecture, self._at = architecture, surroundings
        context = architecture.context
        self._serves = serves(context.rank, surroundings.one_writer)
        self._storage = open_storage(architecture, surroundings, FOLDER, "storage, asynchronous")
        self._need_memory()
        self._stall_s = 0.0
        terms = Terms(
            self._storage.checkpoints.folder,
            context.rank,
            context.world_size,
            self._serves,
            {"mechanism": "ft3", "group_generation": surroundings.generation},
            retention_of(surroundings),
            surroundings.timeout_s * _PATIENCE,
            surroundings.proved,
        )
        self._attached = BackgroundSaves(terms, surroundings.new_store(), self._ended)

    def first_step_done(self, step: int) -> None:
        """Makes the buffers, and touches them."""
        if self._buffers is None:
            self._buffers = host_memory.buffers_like(self._captured(step + 1))

    def after_step(self, step: int) -> None:
        """Copies the state after every `interval_steps` steps, and hands it to the thread."""
        done = step + 1
        if done % self._at.interval_steps or self._is_over():
            return
        if self._saves.in_flight is not None:
            why = self._saves.skip(done, self._at.store)
            self._at.log.write("save-skipped", step=done, why=why)
            return
        began = time.monotonic()
        snapshot = self._snapshot(done)
        self._stall_s = time.monotonic() - began
        self._saves.save(snapshot)

    def tiers(self) -> Sequence[Tier]:
        """Storage."""
        return (self._storage,)

    def detach(self) -> None:
        """Ends the thread; see the top of this file for the save in flight."""
        if self._attached is None:  # `attach` did not come so far
            return
        if not self._at.somebody_lost():
            self._saves.wait(self._at.timeout_s)
        step = self._saves.in_flight
        if not self._saves.close(self._at.new_store, self._at.timeout_s):
            self._buffers = None  # the thread has them, for as long as it hangs
            why = "the writer hangs: what it had was left to it"
            self._at.log.write("save-failed", step=step, why=why)
        self._attached = None

    @property
    def _saves(self) -> BackgroundSaves:
        assert self._attached is not None
        return self._attached

    def _captured(self, done: int) -> RankState:
        """What this rank writes, live."""
        state = capture(self._architecture, done, self._at.facts)
        return own_part(state) if self._serves is Serves.PART else state

    def _snapshot(self, done: int) -> RankState:
        """A copy of it in the buffers; in new ones where it has another layout by now."""
        state = self._captured(done)
        if self._buffers is None or not host_memory.fits(self._buffers, state):
            self._buffers = host_memory.buffers_like(state)
        return copied(state, into=self._buffers)

    def _ended(self, ended: Ended) -> None:
        """Called from the thread."""
        if ended.vetoed:
            self._at.log.write("save-skipped", step=ended.step, why=ended.why[:300])
            return
        took = {"s": self._stall_s, "background_s": ended.seconds}
        if ended.why:
            self._at.log.write("save-failed", step=ended.step, why=ended.why[:300], **took)
            return
        self._at.log.write("saved", step=ended.step, bytes=ended.size_bytes, path="storage", **took)

    def _is_over(self) -> bool:
        """Whether a peer is gone for good, so that no generation can be complete any more."""
        dropped = self._at.goes_on_alone and bool(self._architecture.lost_peers())
        return dropped or self._at.nothing_can_be_whole()

    def _need_memory(self) -> None:
        """InfeasibleError unless the buffers will fit; at first all ranks of a host make theirs."""
        if self._buffers is not None or self._serves is Serves.PART:
            return
        needed = expected_state_bytes(self._architecture.state())
        if not self._at.generation:
            needed = bytes_of_all_writers(self._architecture, self._at)
        free = host_memory.available_bytes()
        if free < needed:
            raise InfeasibleError(
                f"too little memory for host buffers: {needed} bytes are needed, {free} available"
            )
