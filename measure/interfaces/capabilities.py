"""What an architecture can do, and what a mechanism asks of it; pairs follow (matrix.py)."""

from dataclasses import dataclass
from enum import StrEnum


class Capability(StrEnum):
    """A property of an architecture's communication or state layout."""

    FULL_RANK_GROUP = "full_rank_group"
    """A process group of all ranks that lives as long as the job."""
    PER_RANK_DATA_SHARD = "per_rank_data_shard"
    """Each rank reads its own part of the data, so parts can be dealt out again."""
    REPLICATED_STATE = "replicated_state"
    """Every rank holds (or is sent) the whole model, so one rank can save for all."""
    CONTINUES_AFTER_LOSS = "continues_after_loss"
    """Survivors keep training by themselves when a worker is lost (graceful degradation)."""


class MissingMeans(StrEnum):
    """What becomes of a pair whose architecture lacks the capability."""

    DEGENERATE = "degenerate"
    INFEASIBLE = "infeasible"


@dataclass(frozen=True, slots=True)
class Requirement:
    """A capability that a mechanism needs; `because` completes 'it needs ...' in words."""

    capability: Capability
    missing_means: MissingMeans
    because: str


@dataclass(frozen=True, slots=True)
class ArchitectureEntry:
    """One line of the architecture catalogue; `measure.architectures.registry` loads `plugin`."""

    architecture: str
    capabilities: frozenset[Capability]
    plugin: str = ""
    """`module:class` of the measure.interfaces.architecture.Architecture."""
    workloads: tuple[str, ...] = ()
    """Names of the workloads it can train; the first is its default."""
    coordinator: int | None = None
    """The rank without which no other can go on, where there is one (a parameter server)."""

    @property
    def default_workload(self) -> str:
        """What the paper trains on it (section V-C)."""
        return self.workloads[0]


class Way(StrEnum):
    """How training is brought back after a loss."""

    SPARE = "spare"
    """In place: survivors keep their processes, warm spares take the free places."""
    SMALLER = "smaller"
    """In place: survivors go on as a smaller group."""
    RESTART = "restart"
    """All processes are ended, and as many new ones started."""


class Cadence(StrEnum):
    """When a mechanism works while nothing has failed."""

    NEVER = "never"
    PERIODIC = "periodic"
    EVERY_STEP = "every_step"
    ON_WARNING = "on_warning"


@dataclass(frozen=True, slots=True)
class MechanismEntry:
    """One line of the mechanism catalogue."""

    mechanism: str
    requires: tuple[Requirement, ...]
    plugin: str = ""
    """`module:Class` of what runs it."""
    ways: tuple[Way, ...] = ()
    """How it can bring training back, the usual way first; none: a loss is the run's end."""
    cadence: Cadence = Cadence.NEVER
    replicas: int = 0
    """How many peers hold each rank's state, unless somebody asks for another number."""
    grows: bool = False
    """A group that became smaller is formed at its full size again when a rank comes back."""
    parts: tuple["MechanismEntry", ...] = ()
    """Of a composed mechanism: what it is made of, the preferred first."""

    @property
    def saves_at_intervals(self) -> bool:
        """Whether an interval says anything of it."""
        return any(part.cadence is Cadence.PERIODIC for part in self.parts or (self,))

    @property
    def writes_to_storage(self) -> bool:
        """Whether its periodic saves go to files, and not to the memory of peers."""
        parts = self.parts or (self,)
        return any(part.cadence is Cadence.PERIODIC and not part.replicas for part in parts)

    @property
    def works_while_training(self) -> bool:
        """Whether it costs anything while nothing fails or is announced."""
        busy = (Cadence.PERIODIC, Cadence.EVERY_STEP)
        return any(part.cadence in busy for part in self.parts or (self,))

    @property
    def wants_warning(self) -> bool:
        """Whether it needs faults to be announced."""
        return any(part.cadence is Cadence.ON_WARNING for part in self.parts or (self,))
