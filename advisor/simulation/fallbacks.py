"""What failures fall back to, as shares of all of them. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from advisor.simulation.process import Kind, Process


@dataclass(frozen=True, slots=True)
class Fallbacks:
    """Shares of all failures, which add up to 1.

    `tiers`: a failure goes back to the newest state of that tier. `saved`: an emergency save was
    made for it. `missed`: none was, and there is no tier, so that it goes back to the last
    emergency save, or without one to the beginning. `unsurvived`: nothing survives it, so that it
    always goes back to the beginning.
    """

    tiers: tuple[float, ...]
    saved: float
    missed: float
    unsurvived: float


def fallbacks_of(process: Process) -> Fallbacks:
    """What the failures of the process fall back to."""
    warnings = process.warnings
    return fallbacks(
        process.kinds,
        [tier.survives for tier in process.tiers],
        None if warnings is None else (warnings.in_time_fraction, warnings.survives),
    )


def fallbacks(
    kinds: Sequence[Kind], survived: Sequence[int], announced: tuple[float, int] | None
) -> Fallbacks:
    """What failures of these kinds fall back to, with tiers that survive so much, the most
    frequent first. `announced`: the share that an emergency save is made for, and what that
    survives; None: no mechanism makes any."""
    tiers = [0.0] * len(survived)
    saved = missed = unsurvived = 0.0
    for kind in kinds:
        share = kind.share
        tier = next((i for i, most in enumerate(survived) if most >= kind.severity), None)
        is_held = announced is not None and kind.severity <= announced[1]
        if announced is not None and is_held:
            saved += share * announced[0]
            share *= 1.0 - announced[0]
        if tier is not None:
            tiers[tier] += share
        elif is_held:
            missed += share
        else:
            unsurvived += share
    return Fallbacks(tuple(tiers), saved, missed, unsurvived)
