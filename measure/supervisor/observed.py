"""What the supervisor saw of a run: plain data, on its own clock (CLOCK_MONOTONIC, seconds)."""

from dataclasses import dataclass, field
from enum import StrEnum


class Ending(StrEnum):
    """Why the supervisor ended the run."""

    ALL_FINISHED = "all ranks finished"
    ALL_STOPPED = "all survivors stopped"
    HUNG = "a rank made no progress"
    DEADLINE = "the run's deadline passed"
    NEVER_STARTED = "training did not begin"
    REFUSED = "the ranks did not prove one state"
    INTERRUPTED = "interrupted"


@dataclass
class RankView:
    """One rank, as seen from outside."""

    rank: int
    ready: bool = False
    member: bool = True
    """It has a part in the training; a spare has none until it takes a dead rank's place."""
    plays: int | None = None
    """The rank that it trains as."""
    built: bool = False
    """Of the generation that is being formed, or trains."""
    restored_step: int = 0
    """The step that it is to train next in this generation."""
    proof: dict[str, str] = field(default_factory=dict)
    died_at: float | None = None
    stopped_at: float | None = None
    how: str = ""
    error: str = ""
    finished_at: float | None = None
    exit_code: int | None = None
    killed_by_supervisor: bool = False
    given_up: bool = False
    """It could not be set free for a recovery, and was ended so that another takes its place."""
    silent_since: float | None = None
    """When its heartbeat stopped, for a rank that lived."""

    @property
    def active(self) -> bool:
        """It may still make steps."""
        return self.died_at is None and self.stopped_at is None and self.finished_at is None


@dataclass(frozen=True, slots=True)
class Recovery:
    """One completed recovery, by its milestones."""

    lost: tuple[int, ...]
    """The slots that were lost."""
    idle_at: float
    """Every survivor had noticed, and waited for orders."""
    ordered_at: float
    """The survivors and replacements of the next generation had been chosen and told."""
    train_at: float
    """All had formed, restored and proved one state: training went on."""
    generation: int
    step: int
    """The step at which training went on."""
    way: str
    """`spare`, `started` (a cold process took the place) or `restart` (all processes anew)."""


@dataclass
class Observed:
    """A whole run, as seen from outside."""

    began_at: float
    world_size: int
    training_at: float | None = None
    ended_at: float = 0.0
    ending: Ending | None = None
    ranks: list[RankView] = field(default_factory=list)
    """By slot: first the ranks that the run began with, then spares and later processes."""
    recoveries: list[Recovery] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    """What the consistency gate found, in words."""

    def __post_init__(self) -> None:
        self.ranks = [RankView(rank, plays=rank) for rank in range(self.world_size)]

    @property
    def members(self) -> list[RankView]:
        """Those with a part in the training, now or before."""
        return [view for view in self.ranks if view.member]
