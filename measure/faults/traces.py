"""The named traces: F1 to F3 of the paper (section V-B), and F2-adjacent.

Victims start at rank 3 (the paper's), or at the last rank of a smaller world. F1: r. F2: r and
r + 2 at once. F2-adjacent: r and r + 1 at once, which takes a ring replica with its owner.
F3: r, r + 2 and r + 4, one `spacing_s` after the other. Rank 0 is never a victim, since it may
be a coordinator; a schedule file can name it.
"""

from measure.errors import UsageError
from measure.faults.schedule import FaultEvent, Schedule, check
from measure.profiles import Profile

NO_FAULT = "none"
_FIRST_VICTIM = 3
_OFFSETS: dict[str, tuple[tuple[int, int], ...]] = {
    # rank after the first victim, spacings after the first fault
    "F1": ((0, 0),),
    "F2": ((0, 0), (2, 0)),
    "F2-adjacent": ((0, 0), (1, 0)),
    "F3": ((0, 0), (2, 1), (4, 2)),
}
TRACES = tuple(_OFFSETS)
PAPER_TRACES = ["F1", "F2", "F3"]


def trace_named(name: str, profile: Profile, world_size: int, lead_s: float | None) -> Schedule:
    """The schedule of a trace; UsageError where it is unknown, or needs more ranks."""
    found = {trace.lower(): trace for trace in TRACES}.get(name.lower())
    if name.lower() == NO_FAULT:
        return Schedule()
    if found is None:
        raise UsageError(
            f"unknown trace {name!r}: known are {NO_FAULT}, {', '.join(t.lower() for t in TRACES)},"
            " or the path of a schedule (FILE.json)"
        )
    offsets = _OFFSETS[found]
    if world_size < len(offsets) + 2:
        raise UsageError(f"{found} needs at least {len(offsets) + 2} ranks, not {world_size}")
    ranks = _victims([offset for offset, _ in offsets], world_size)
    schedule = Schedule(
        found,
        tuple(
            _event(rank, spacings, profile, lead_s)
            for rank, (_, spacings) in zip(ranks, offsets, strict=True)
        ),
        profile.spacing_s if any(spacings for _, spacings in offsets) else None,
    )
    check(schedule, world_size)
    return schedule


def _event(rank: int, spacings: int, profile: Profile, lead_s: float | None) -> FaultEvent:
    if spacings:
        return FaultEvent(rank, after_s=spacings * profile.spacing_s, lead_s=lead_s)
    # By step, not by time: a slow machine has made as many steps by then as a fast one.
    return FaultEvent(rank, step=profile.fault_step, lead_s=lead_s)


def _victims(offsets: list[int], world_size: int) -> list[int]:
    """Distinct ranks, none of them 0, as near as the world size allows to the stated ones."""
    first = min(_FIRST_VICTIM, world_size - 1 - max(offsets))
    first = max(first, 1)
    victims: list[int] = []
    for offset in offsets:
        rank = (first + offset) % world_size
        while rank == 0 or rank in victims:
            rank = (rank + 1) % world_size
        victims.append(rank)
    return victims
