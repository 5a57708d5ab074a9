"""What keeps a training alive: the interface of every fault-tolerance mechanism."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch.distributed as dist

from measure.faults.schedule import FaultEvent
from measure.interfaces.architecture import Architecture
from measure.interfaces.tier import Tier
from measure.state.contract import RunFacts


class Log(Protocol):
    """Where a mechanism writes what it did: one event a line, with the time."""

    def write(self, event: str, **fields: Any) -> float:
        """Writes one event; returns its time (CLOCK_MONOTONIC, seconds)."""


@dataclass(frozen=True)
class Surroundings:
    """What a mechanism is given beside the architecture, anew in each generation."""

    folder: Path
    """The run's own folder; what is written there outlives the processes."""
    run_key: str
    """Twelve hexadecimal digits that no other run on this host has: for names in shared memory.
    Whatever is made there begins with `failbench-<run_key>-`; the supervisor removes the rest."""
    store: dist.Store
    """A store of this generation of the group, for the training thread."""
    new_store: Callable[[], dist.Store]
    """The same store over a connection of its own, for another thread: a connection serves one
    call after the other, and a wait would keep the training thread waiting."""
    generation: int
    """How often the group was formed again; 0 at first."""
    timeout_s: float
    """How long a peer may be silent while all ranks agree on something."""
    interval_steps: int
    """Steps between two saves."""
    replicas: int
    """How many peers hold each rank's state; 0 where the mechanism has none."""
    one_writer: bool
    """Every rank holds the same model, so that one can save for all."""
    goes_on_alone: bool
    """The architecture goes on after a loss: then nobody saves any more, since a generation needs
    every rank."""
    somebody_lost: Callable[[], bool]
    """Whether the supervisor has reported a loss in this generation."""
    facts: RunFacts
    log: Log
    nodes: tuple[int, ...] = ()
    """The node that each rank of this generation is on; empty where all are on one."""
    node: int | None = None
    """The node that this process is on; None where there is one only."""
    kept: int | None = None
    """How many states each tier keeps at least, whatever is being saved; None: as is usual."""
    proved: Callable[[], Sequence[int]] = tuple
    """The numbers of steps at which monitors last proved the state good, one for each monitor: the
    newest state that is not beyond one is kept as well, for a rollback."""

    def nothing_can_be_whole(self) -> bool:
        """A peer is gone for good, and training goes on without it: no save will have every
        rank's part any more."""
        return self.goes_on_alone and self.somebody_lost()


class Mechanism:
    """Hooks named after moments, all called from the training thread of every rank. One object a
    process: `attach` and `detach` frame each generation of the group.

    Each does nothing unless a mechanism has work at that moment: FT9 has none at all. What a
    mechanism writes down of its saves are the events `saved` (step, s: foreground seconds, bytes,
    path: what they went over), `save-skipped` and `save-failed` (step, why; s where it took time).
    """

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """After the groups are formed, before the first step; may allocate buffers, and form
        groups if all ranks do. InfeasibleError where it cannot work here at all."""

    def first_step_done(self, step: int) -> None:
        """The first step of this generation is complete, and with it the optimizer's tensors are
        there: memory for saves can be prepared. Called before `after_step`, and also where blocks
        without the mechanism are measured."""

    def after_step(self, step: int) -> None:
        """Step `step` (from 0) is complete on this rank; may communicate, if all ranks do."""

    def on_warning(self, event: FaultEvent, due_at: float) -> None:
        """A fault was announced that will strike at `due_at` (CLOCK_MONOTONIC, seconds); called
        before the next step, on every rank, though not before the same one."""

    def tiers(self) -> Sequence[Tier]:
        """Where a recovery may find a state, the one to prefer first."""
        return ()

    def detach(self) -> None:
        """The generation is over on this rank: no more calls until the next `attach`. The
        architecture is still there; its groups are of no use any more, and peers may be dead."""
