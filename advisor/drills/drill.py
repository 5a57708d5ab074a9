"""What a drill is: a fault schedule, and what each mechanism is to make of it. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from db.records import RunOutcome

DEFAULT_WORLD_SIZE = 4
"""Ranks of a drill's run: few, so that a suite is short; every victim is among the first four."""
INTERVAL_STEPS = 10
"""Between two saves."""
SCHEDULE_PREFIX = "drill-"
"""How the traces of drills begin, so that their runs are told from others."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What a mechanism is to make of a fault: any of these run outcomes, and after each recovery
    at most so many steps made again (None: as many as there are)."""

    outcomes: frozenset[RunOutcome]
    most_lost_steps: int | None = None

    def in_words(self) -> str:
        """`recovered, 10 steps lost at most`."""
        said, most = " or ".join(sorted(self.outcomes)), self.most_lost_steps
        if most is None:
            return said
        steps = {0: "no step", 1: "1 step"}.get(most, f"{most} steps")
        return f"{said}, {steps} lost{' at most' if most else ''}"


@dataclass(frozen=True, slots=True)
class Drill:
    """One fault, tried on every mechanism that it applies to.

    `events` are those of a fault schedule (data/schemas/fault-schedule-1.schema.json), `settings`
    keys of a campaign file beside those that follow from the drill.
    """

    name: str
    proves: str
    """What is shown where it passes, in words."""
    events: Sequence[Mapping[str, Any]]
    promises: Mapping[str, Promise]
    """By mechanism; where it is not named, the drill does not apply to it."""
    architecture: str = "a2"
    steps: int = 30
    """Training steps of the run."""
    smoke_steps: int | None = None
    """Those in the profile smoke, whose steps are many times shorter, where the fault comes by the
    clock; None: as many."""
    deadline_s: float = 60.0
    """The run is over by then, whatever it shows."""
    monitors: tuple[str, ...] = ()
    """Those that are switched on."""
    noticed_by: str | None = None
    """The monitor that has to find something; None: any detector will do."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def steps_in(self, profile: str) -> int:
        """Training steps of its run in a profile."""
        return self.smoke_steps if profile == "smoke" and self.smoke_steps else self.steps

    @property
    def trace(self) -> str:
        """The name of its schedule, as records have it before their digest."""
        return f"{SCHEDULE_PREFIX}{self.name}"
