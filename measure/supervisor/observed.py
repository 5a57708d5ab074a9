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
    INTERRUPTED = "interrupted"


@dataclass
class RankView:
    """One rank, as seen from outside."""

    rank: int
    ready: bool = False
    built: bool = False
    died_at: float | None = None
    stopped_at: float | None = None
    how: str = ""
    error: str = ""
    finished_at: float | None = None
    exit_code: int | None = None
    killed_by_supervisor: bool = False
    silent_since: float | None = None
    """When its heartbeat stopped, for a rank that lived."""

    @property
    def active(self) -> bool:
        """It may still make steps."""
        return self.died_at is None and self.stopped_at is None and self.finished_at is None


@dataclass
class Observed:
    """A whole run, as seen from outside."""

    began_at: float
    world_size: int
    training_at: float | None = None
    ended_at: float = 0.0
    ending: Ending | None = None
    ranks: list[RankView] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.ranks = [RankView(rank) for rank in range(self.world_size)]
