"""Profiles: how large and how long a run is. Stdlib only: read before torch is there."""

from dataclasses import dataclass

from measure.errors import UsageError


@dataclass(frozen=True, slots=True)
class Profile:
    """Times and lengths of one profile; the sizes of models are in `measure/workloads`."""

    name: str
    steps: int
    """Training steps of a run."""
    dropped_steps: int
    """First steps that are left out of every statistic (caches, lazy buffers, first buckets)."""
    fault_step: int
    """The step at which F1 to F3 strike first."""
    spacing_s: float
    """Time between the faults of F3 (the paper's 30 s, scaled)."""
    round_limit_s: float
    """How long A1 async and A6 wait for a silent peer (the paper's 5 s)."""
    group_timeout_s: float
    interval_steps: int
    """Steps between two saves (the paper's 100)."""
    lead_s: float
    """How long ahead faults are announced where a mechanism needs it (the paper's 2 s)."""
    start_limit_s: float
    """How long ranks may take to build their part and form their groups."""
    step_limit_s: float
    """A rank that makes no step for so long, with nobody dead and no timeout due, hangs."""


PROFILES = {
    p.name: p
    for p in (
        Profile("smoke", 60, 3, 25, 0.15, 2.0, 2.0, 10, 0.15, 30.0, 8.0),
        Profile("cpu", 200, 10, 50, 1.2, 5.0, 10.0, 20, 1.0, 60.0, 20.0),
        Profile("paper", 1500, 50, 300, 30.0, 5.0, 600.0, 100, 2.0, 300.0, 120.0),
    )
}


def profile_named(name: str) -> Profile:
    """The profile; UsageError with the known names otherwise."""
    if name not in PROFILES:
        raise UsageError(f"unknown profile {name!r}: known are {', '.join(PROFILES)}")
    return PROFILES[name]
