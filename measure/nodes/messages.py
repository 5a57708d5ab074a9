"""What agents and supervisors tell each other, as it stands in messages. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from measure.rank.heartbeat import Beat

BEAT_S = 0.1
LEASE_S = 1.8
"""An agent whose last answered beat was sent so long ago ends its ranks: the others may be going on
without them."""
SILENT_S = 2.5
"""A node of which nothing was heard for so long is cut off. Longer than the lease: by then its
ranks are dead, for the lease runs from when a beat was sent, and this from when one arrived."""

_INSTANTS = ("at", "training_at")


@dataclass(frozen=True, slots=True)
class Hello:
    """What an agent says of its node."""

    node: int
    host: str
    address: str
    boot: str
    pid: int
    interface: str
    """Carries the training; found by the address, or chosen."""
    recovery_interface: str
    """Carries what ranks send each other to save and to restore."""
    chosen: bool
    """Whether somebody chose an interface."""

    def to_json(self) -> dict[str, Any]:
        """For a message."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Orders:
    """What an agent must know of a run."""

    run_key: str
    job: str
    """JobSpec as JSON."""
    folder: str
    """The run's, on storage that all nodes share."""
    slots: int
    store_host: str
    store_port: int

    def to_json(self) -> dict[str, Any]:
        """For a message."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class ClockShift:
    """How far a node's clock (CLOCK_MONOTONIC) is ahead of the supervisor's, seconds, and by how
    much that may be wrong, either way."""

    ahead_s: float
    error_s: float


def ages(slot: int, beat: Beat, now: float) -> list[float | int | None]:
    """A slot's beat as it travels: instants as ages in seconds, None before the first."""
    times = (beat.beat_at, beat.step_at, beat.storage_at)
    beat_age, step_age, storage_age = (now - at if at else None for at in times)
    return [slot, beat.steps, beat_age, step_age, storage_age]


def beat_of(told: Sequence[Any], now: float) -> tuple[int, Beat]:
    """(slot, beat) of what `ages` gave, on another clock, on which it is `now`."""
    slot, steps, *found = told
    beat_at, step_at, storage_at = (0.0 if age is None else now - age for age in found)
    return slot, Beat(beat_at, steps, step_at, storage_at)


def shift_of(sent_at: float, theirs: float, heard_at: float) -> ClockShift:
    """What one round trip tells: at some instant between `sent_at` and `heard_at`, on the node's
    clock, the supervisor's showed `theirs`."""
    ahead_s = (sent_at + heard_at) / 2.0 - theirs
    return ClockShift(ahead_s, (heard_at - sent_at) / 2.0)


def shifted(message: Mapping[str, Any], shift_s: float) -> dict[str, Any]:
    """A supervisor's message on the clock of a node that is `shift_s` ahead of the supervisor's."""
    found = dict(message)
    for key in _INSTANTS:
        if found.get(key) is not None:
            found[key] += shift_s
    if found.get("armed"):
        found["armed"] = {ordinal: at + shift_s for ordinal, at in found["armed"].items()}
    return found
