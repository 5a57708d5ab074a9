"""What keeps a training alive: the interface of every fault-tolerance mechanism."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch.distributed as dist

from measure.faults.schedule import FaultEvent
from measure.interfaces.architecture import Architecture
from measure.state.contract import RunFacts


class Log(Protocol):
    """Where a mechanism writes what it did: one event a line, with the time."""

    def write(self, event: str, **fields: Any) -> float:
        """Writes one event; returns its time (CLOCK_MONOTONIC, seconds)."""


@dataclass(frozen=True)
class Surroundings:
    """What a mechanism is given beside the architecture."""

    folder: Path
    """The run's own folder; what is written there outlives the processes."""
    store: dist.Store
    """A store of this generation of the group."""
    generation: int
    """How often the group was formed again; 0 at first."""
    timeout_s: float
    """How long a peer may be silent while all ranks agree on something."""
    interval_steps: int
    one_writer: bool
    """Every rank holds the same model, so that one can save for all."""
    goes_on_alone: bool
    """The architecture goes on after a loss: then nobody saves any more, since a generation needs
    every rank."""
    somebody_lost: Callable[[], bool]
    """Whether the supervisor has reported a loss in this generation."""
    facts: RunFacts
    log: Log


@dataclass(frozen=True, slots=True)
class Restored:
    """Where a rank stands after a recovery: the next step, and what proves its state.

    `proof` has what must be equal on all ranks (step, data position, parameters where they are
    replicated); ranks whose proofs differ must not train together.
    """

    step: int
    proof: Mapping[str, str]
    source: str
    """What it was restored from, in words; empty when it starts from nothing."""


class Mechanism:
    """Hooks named after moments, all called from the training thread of every rank.

    Each does nothing unless a mechanism has work at that moment: FT9 has none at all.
    """

    recovers = False
    """Whether it brings training back after a loss; otherwise the loss is the run's end."""

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """After the groups are formed, before the first step; may allocate buffers."""

    def after_step(self, step: int) -> None:
        """Step `step` (from 0) is complete on this rank; may communicate, if all ranks do."""

    def on_warning(self, event: FaultEvent) -> None:
        """A fault was announced; called at the next step boundary, on every rank."""

    def restore(self) -> Restored:
        """After a loss, on every rank of the new group, replacements included: brings the newest
        state back that all ranks can prove."""
        return Restored(0, {}, "")

    def detach(self) -> None:
        """The run is over on this rank; frees what `attach` allocated."""
