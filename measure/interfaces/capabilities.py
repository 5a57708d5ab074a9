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


@dataclass(frozen=True, slots=True)
class MechanismEntry:
    """One line of the mechanism catalogue."""

    mechanism: str
    requires: tuple[Requirement, ...]
    plugin: str = ""
    """`module:Class` of what runs it; empty where this version only classifies the pair."""
