"""Heartbeats: a small file that ranks write in memory and the supervisor reads.

One slot a rank: the last beat (CLOCK_MONOTONIC), the last one in storage, the steps done, when the
last step ended, and in which part of which step the training thread is. A stopped process stops
beating; a blocked one beats on without making steps. The file belongs to one host, whose clock all
of its ranks share.
"""

import mmap
import struct
import threading
import time
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from measure.state.storage_waits import is_in_storage

_BEAT = struct.Struct("<dd")
_PROGRESS = struct.Struct("<qd")
_PLACE = struct.Struct("<qq")
_SLOT_BYTES = 64  # one cache line a rank, so that ranks do not wait for each other
_PERIOD_S = 0.1


class Where(IntEnum):
    """The part of a step that a training thread is in: where it hangs, if it does."""

    ELSEWHERE = 0
    """Not training: it starts, recovers or has ended."""
    BEFORE = 1
    """What comes before the step: reading, warnings."""
    IN = 2
    """The step itself, with its communication."""
    AFTER = 3
    """What monitors and the mechanism do after it."""


@dataclass(frozen=True, slots=True)
class Beat:
    """What one slot says; instants are 0.0 before the first."""

    beat_at: float
    steps: int
    step_at: float
    storage_at: float = 0.0
    """The last beat at which it was reading or writing files, which takes as long as the disk
    does."""
    where: str = ""
    """Where its training thread is, such as `in step 8`; empty where it trains no step, or on
    another host."""


def create(path: Path, world_size: int) -> None:
    """Writes an empty file of `world_size` slots."""
    path.write_bytes(bytes(_SLOT_BYTES * world_size))


class Heartbeat:
    """A rank's own slot; beats from a thread, so that a long step is not taken for a death."""

    def __init__(self, path: Path, rank: int) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._base = rank * _SLOT_BYTES
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def step_done(self, steps: int) -> None:
        """`steps` steps are complete on this rank."""
        _PROGRESS.pack_into(self._map, self._base + _BEAT.size, steps, time.monotonic())

    def at(self, where: Where, step: int) -> None:
        """The training thread comes to this part of `step` (from 0)."""
        _PLACE.pack_into(self._map, self._base + _BEAT.size + _PROGRESS.size, where, step)

    @property
    def where(self) -> str:
        """As of Beat."""
        return _where(self._map, self._base)

    def _beat(self) -> None:
        storage_at = 0.0
        while True:
            now = time.monotonic()
            storage_at = now if is_in_storage() else storage_at
            _BEAT.pack_into(self._map, self._base, now, storage_at)
            time.sleep(_PERIOD_S)


class HeartbeatReader:
    """The supervisor's view of all slots."""

    def __init__(self, path: Path, world_size: int) -> None:
        with path.open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 0)
        self._world_size = world_size

    def read(self) -> list[Beat]:
        """Every rank's slot, in the order of ranks."""
        beats = []
        for base in range(0, self._world_size * _SLOT_BYTES, _SLOT_BYTES):
            beat_at, storage_at = _BEAT.unpack_from(self._map, base)
            steps, step_at = _PROGRESS.unpack_from(self._map, base + _BEAT.size)
            beats.append(Beat(beat_at, steps, step_at, storage_at, _where(self._map, base)))
        return beats

    def put(self, rank: int, beat: Beat) -> None:
        """Writes a slot for a rank of another host, on this host's clock."""
        base = rank * _SLOT_BYTES
        _BEAT.pack_into(self._map, base, beat.beat_at, beat.storage_at)
        _PROGRESS.pack_into(self._map, base + _BEAT.size, beat.steps, beat.step_at)

    def close(self) -> None:
        """Lets go of the file."""
        self._map.close()


def _where(slots: mmap.mmap, base: int) -> str:
    where, step = _PLACE.unpack_from(slots, base + _BEAT.size + _PROGRESS.size)
    return f"{Where(where).name.lower()} step {step}" if where else ""
