"""The failure classes that are told apart, and what known monitors watch for."""

from collections.abc import Mapping
from enum import StrEnum


class Effect(StrEnum):
    """What a failure does to training."""

    STOPS = "stops"
    """The job stands still until it is noticed, and goes on from the last save."""
    SLOWS = "slows"
    """Training goes on slower, until the cause is replaced or goes away by itself."""
    CORRUPTS = "corrupts"
    """Training goes on from a wrong state; all saves since then are wrong too."""


class FailureClass(StrEnum):
    """Failures that are noticed alike and recovered from alike."""

    CRASH = "crash"
    HANG = "hang"
    COORDINATOR_LOSS = "coordinator-loss"
    STRAGGLER = "straggler"
    DIVERGENCE = "divergence"
    SILENT_CORRUPTION = "silent-corruption"


EFFECTS: Mapping[FailureClass, Effect] = {
    FailureClass.CRASH: Effect.STOPS,
    FailureClass.HANG: Effect.STOPS,
    FailureClass.COORDINATOR_LOSS: Effect.STOPS,
    FailureClass.STRAGGLER: Effect.SLOWS,
    FailureClass.DIVERGENCE: Effect.CORRUPTS,
    FailureClass.SILENT_CORRUPTION: Effect.CORRUPTS,
}
CORRUPTING = tuple(each for each, effect in EFFECTS.items() if effect is Effect.CORRUPTS)
WATCHES: Mapping[str, tuple[FailureClass, ...]] = {
    "digest": CORRUPTING,
    "values": CORRUPTING,
    "stragglers": (FailureClass.STRAGGLER,),
}
"""Monitor -> what it watches for; one that is not here says so itself (`watches=`)."""
