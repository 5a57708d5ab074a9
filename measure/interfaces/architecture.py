"""How ranks train together: the interface of every architecture plug-in."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import nn
from torch.optim import Optimizer

from measure.interfaces.workload import Workload
from measure.rank.context import RankContext
from measure.workloads.loader import Loader


@dataclass(frozen=True, slots=True)
class StepResult:
    """What one rank did in one training step.

    `loss` is the mean loss of the samples that this rank scored; None on a rank that scores none
    (a server, an inner pipeline stage). `samples` is how many samples this rank worked on; 0 on a
    rank that trains on none.
    """

    loss: float | None
    samples: int


@dataclass(frozen=True, slots=True)
class TrainingState:
    """What makes up one rank's state: what a mechanism saves, and what its size is taken from.

    `optimizer` is None on a rank that holds none (a parameter-server worker).
    """

    model: nn.Module
    optimizer: Optimizer | None
    loader: Loader


@dataclass(frozen=True, slots=True)
class Replication:
    """Who holds the same as one rank: what its parameters can be held against."""

    ranks: tuple[int, ...]
    """The ranks, itself among them, whose parameters have equal bits after every step; so has the
    optimizer's state of those that hold one."""
    independent: bool
    """Each of them keeps its copy by updating it itself, so that what changes on one stays
    different. False where the copies are sent anew in every step, or no other rank has any."""


class Architecture(ABC):
    """One rank's part in a distributed training; the rank process calls everything here."""

    def __init__(self, context: RankContext, workload: Workload) -> None:
        self.context = context
        self.workload = workload

    @staticmethod
    @abstractmethod
    def check_shape(world_size: int, workload: Workload) -> None:
        """Raises ShapeError, with what would fit, before anything starts. No communication."""

    @abstractmethod
    def build(self) -> None:
        """Forms the groups and builds this rank's part of the model. Called once, on every rank."""

    @abstractmethod
    def step(self) -> StepResult:
        """One training step with the next batch. Called on every rank, in the same order; raises
        when a peer that it cannot do without is lost."""

    @abstractmethod
    def state(self) -> TrainingState:
        """This rank's state, live (not a copy)."""

    def replication(self) -> Replication:
        """Who holds the same as this rank, after `build`; nobody else unless a plug-in says so."""
        return Replication((self.context.rank,), independent=False)

    def peer_lost(self, rank: int) -> None:  # noqa: B027 - most cannot go on without a peer
        """The supervisor says that `rank` is dead. Called from the training thread between steps,
        on architectures with CONTINUES_AFTER_LOSS only: they drop the peer."""

    def lost_peers(self) -> dict[int, str]:
        """Peers that this rank has dropped by itself, with how it noticed
        (`connection closed`, `time limit`, `supervisor`)."""
        return {}
