"""When a group that became smaller is formed at its full size again: between two steps, which all
ranks are told beforehand, so that no step is broken off. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from measure.rank.heartbeat import Beat

_LEAST_STEPS_AHEAD = 3
_AHEAD_S = 0.2
"""Longer than it takes to tell every rank."""
_LEAST_STEPS_AFTER = 5
"""A group is not interrupted to grow when fewer steps are left."""


@dataclass(frozen=True, slots=True)
class Pause:
    """All stop before `step`; one takes `step_s` seconds at present."""

    step: int
    step_s: float


def next_pause(beats: Sequence[Beat], first_step: int, train_at: float, steps: int) -> Pause | None:
    """The next pause; nobody will have begun its step before all have heard of it. None where too
    few of the `steps` steps would be left, or a rank has made none yet since training went on, at
    `train_at` (CLOCK_MONOTONIC, seconds) with `first_step`."""
    if any(beat.step_at < train_at for beat in beats):
        return None
    last = max(beats, key=lambda beat: beat.steps)
    step_s = (last.step_at - train_at) / max(1, last.steps - first_step)
    ahead = math.ceil(_AHEAD_S / step_s) if step_s > 0.0 else _LEAST_STEPS_AHEAD
    pause = last.steps + max(_LEAST_STEPS_AHEAD, ahead)
    return Pause(pause, step_s) if pause + _LEAST_STEPS_AFTER < steps else None
