"""What an act is, and what it finds in the process that it strikes."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from measure.interfaces.architecture import Architecture

AHEAD_STEPS = 3
"""So many steps before its own an act hears that it is to come."""
Told = Callable[[Mapping[str, Any]], None]
"""Hears what an act has done, for the log; called once it is done."""


class CannotStrikeError(Exception):
    """There is nothing here that this fault could strike; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class Scene:
    """The process that is struck, in one generation of the group."""

    architecture: Architecture
    folder: Path
    """The run's own: what its mechanism stores is in folders of this."""
    run_key: str
    """Of the names in shared memory."""
    node: int | None = None
    """The node that it is on; None where there is one only."""
    steps_s: Sequence[float] = ()
    """What its last steps took, seconds."""

    @property
    def rank(self) -> int:
        """The rank that it trains as."""
        return self.architecture.context.rank


class Act:
    """One fault, from when it is first heard of to when it is over. All calls come from the
    training thread."""

    lasts: ClassVar[bool] = False
    """It goes on: in later steps, and in later generations of the group."""

    def __init__(self, params: Mapping[str, Any], ordinal: int) -> None:
        self.params = params
        self.random = random.Random(params.get("seed", ordinal))  # noqa: S311 - a seeded choice

    def foresee(self, at: Scene) -> None:
        """Called before each of the last AHEAD_STEPS steps before its own."""

    def strike(self, at: Scene, told: Told) -> None:
        """Before the step begins. CannotStrikeError, and nothing has changed, where there is
        nothing to strike."""
        raise NotImplementedError

    def attach(self, at: Scene) -> None:
        """An act that lasts goes on in a new generation, whose model is another object."""

    def detach(self) -> None:
        """The generation is over: nothing of it may be held."""

    def before_step(self, step: int) -> None:
        """Each step from its own on, as long as it lasts."""

    def after_step(self, step_s: float) -> None:
        """The same, once the architecture has made the step in so many seconds. CannotStrikeError,
        and nothing has changed, where that shows that there is nothing to strike."""
