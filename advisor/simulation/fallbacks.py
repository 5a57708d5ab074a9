"""What failures fall back to, as shares of all of them. Pure."""

from dataclasses import dataclass

from advisor.simulation.process import Process


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
    tiers = [0.0] * len(process.tiers)
    saved = missed = unsurvived = 0.0
    warnings = process.warnings
    for kind in process.kinds:
        share, tier = kind.share, process.tier_for(kind.severity)
        is_held = warnings is not None and kind.severity <= warnings.survives
        if warnings is not None and is_held:
            saved += share * warnings.in_time_fraction
            share *= 1.0 - warnings.in_time_fraction
        if tier is not None:
            tiers[tier] += share
        elif is_held:
            missed += share
        else:
            unsurvived += share
    return Fallbacks(tuple(tiers), saved, missed, unsurvived)
