"""What the supervisor saw of a run: plain data, on its own clock (CLOCK_MONOTONIC, seconds)."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from measure.nodes.messages import ClockShift


class Ending(StrEnum):
    """Why the supervisor ended the run."""

    ALL_FINISHED = "all ranks finished"
    ALL_STOPPED = "all survivors stopped"
    HUNG = "a rank made no progress"
    DEADLINE = "the run's deadline passed"
    NEVER_STARTED = "training did not begin"
    REFUSED = "the ranks did not prove one state"
    INFEASIBLE = "the cell cannot work here"
    NO_PROGRESS = "failure after failure without a new step"
    INTERRUPTED = "interrupted"


@dataclass
class RankView:
    """One rank, as seen from outside."""

    rank: int
    ready: bool = False
    member: bool = True
    """It has a part in the training; a spare has none until it takes a dead rank's place."""
    plays: int | None = None
    """The place that it has: a rank of the full group."""
    group_rank: int | None = None
    """The rank that it trains as; another than its place in a group that became smaller."""
    built: bool = False
    """Of the generation that is being formed, or trains."""
    restored_step: int = 0
    """The step that it is to train next in this generation."""
    proof: dict[str, str] = field(default_factory=dict)
    source: str = ""
    """Which tier it was restored from; empty where it starts anew."""
    global_batch: int | None = None
    """Samples of one step over all ranks."""
    infeasible: str = ""
    """Why the cell cannot work here, as far as this rank can tell."""
    died_at: float | None = None
    stopped_at: float | None = None
    stuck: bool = False
    """It stopped, but its training thread does not come free: it can follow no order."""
    how: str = ""
    error: str = ""
    finished_at: float | None = None
    exit_code: int | None = None
    killed_by_supervisor: bool = False
    given_up: bool = False
    """The supervisor ended it so that another takes its place: it could not be set free for a
    recovery, or all were started anew, or it was a suspect again."""
    quarantined: bool = False
    """It was a suspect of two incidents: nothing of it is used any more."""
    silent_since: float | None = None
    """When its heartbeat stopped, for a rank that lived."""
    where: str = ""
    """In which part of which step it was then (measure.rank.heartbeat.Where)."""
    node: int | None = None
    """The node that it is on; None where there is one only."""

    @property
    def active(self) -> bool:
        """It may still make steps."""
        return self.died_at is None and self.stopped_at is None and self.finished_at is None


@dataclass
class NodeView:
    """One node of several, as seen from outside."""

    node: int
    host: str
    address: str
    interface: str
    """Carries the training."""
    recovery_interface: str
    """Carries what ranks send each other to save and to restore."""
    chosen: bool
    """Whether somebody chose an interface; otherwise the one that reaches the supervisor was
    found."""
    lost: str = ""
    """How: `node-crash` (its agent died) or `partition` (it was silent)."""
    lost_at: float | None = None
    shift: ClockShift | None = None
    """Of its clock, as round trips of its beats tell; None before the first."""
    first_passed: dict[str, tuple[int, int]] = field(default_factory=dict)
    """(sent, received) bytes by interface, as the run began."""
    last_passed: dict[str, tuple[int, int]] = field(default_factory=dict)

    def passed(self, told: list[tuple[str, int, int]]) -> None:
        """So many bytes have passed each interface by now: (name, sent, received)."""
        self.last_passed = {name: (sent, received) for name, sent, received in told}
        self.first_passed = self.first_passed or self.last_passed


@dataclass(frozen=True, slots=True)
class Recovery:
    """One completed recovery, by its milestones."""

    lost: tuple[int, ...]
    """The slots that were lost."""
    lost_at: float
    """The supervisor saw the first of the losses."""
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
    """`spare`, `started` (a process that was started after the loss took the place), `smaller`,
    `grown` (nobody was lost: the group is whole again) or `restart` (all processes anew)."""
    source: str
    """Which tier the state came from; empty where training began anew."""
    world_size: int
    why: str = ""
    """The suspicion that it answers; empty where somebody was lost, or nobody."""


@dataclass
class Incident:
    """What monitors suspected in one generation, and what was done about it."""

    incident: int
    generation: int
    at: float
    """The supervisor heard the first suspicion."""
    step: int
    """Where it was noticed: steps done."""
    proved_step: int
    """The last number of steps done at which those monitors proved the state good."""
    monitors: tuple[str, ...]
    kinds: tuple[str, ...]
    suspects: tuple[int, ...]
    """Slots."""
    scope: str
    """Of measure.supervisor.suspicion.Scope."""
    not_after: int | None
    """States of more steps were poisoned; None: none was."""
    quarantined: tuple[int, ...]
    """Slots."""
    why: str
    folder: str
    """Of the evidence, in the folder of the run; empty where there is none."""
    not_kept: str
    """What of the evidence could not be kept, in words."""
    restored_step: int | None = None
    """The step at which training went on; None if it did not."""
    count: int = 1
    """How often it was reported."""

    @property
    def stops(self) -> bool:
        """Whether training stopped for it."""
        return self.scope != "report"

    @property
    def goes_back(self) -> bool:
        """Whether training was to be brought back after it."""
        return self.scope in ("retry", "rebuild", "rollback")

    def is_like(self, other: "Incident") -> bool:
        """Whether both report the same of the same ranks."""
        mine = self.scope, self.generation, self.monitors, self.kinds, self.suspects
        theirs = other.scope, other.generation, other.monitors, other.kinds, other.suspects
        return not self.stops and mine == theirs


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
    lineage: list[dict[str, Any]] = field(default_factory=list)
    """The lines of measure.supervisor.lineage."""
    incidents: list[Incident] = field(default_factory=list)
    why_stopped: str = ""
    """Why training was not brought back, where that was to be tried."""
    nodes: list[NodeView] = field(default_factory=list)
    """Where there are several."""
    refused: list[str] = field(default_factory=list)
    """What the consistency gate found, in words."""

    def __post_init__(self) -> None:
        self.ranks = [RankView(rank, plays=rank) for rank in range(self.world_size)]

    def shift_of(self, slot: int) -> ClockShift | None:
        """Of the clock of a process's node; None where nothing is known of it."""
        node = self.ranks[slot].node
        return None if node is None else self.nodes[node].shift

    @property
    def members(self) -> list[RankView]:
        """Those with a part in the training, now or before."""
        return [view for view in self.ranks if view.member]
