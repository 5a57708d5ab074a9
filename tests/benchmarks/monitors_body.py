"""What each rank does in the benchmark of the monitors: steps with and without them, in turn."""

import time
from typing import Any

from measure.interfaces.architecture import Architecture
from measure.monitors.registry import load
from measure.monitors.watch import Watch
from tests.measure.monitors.bodies import Written

_LIMIT_S = 60.0


def in_blocks(
    architecture: Architecture, monitors: str, block_steps: int, pairs: int
) -> tuple[list[float], list[float]]:
    """Seconds of a step: (watched, bare), each the mean of a block, in turn; a pair is left out."""
    context: Any = architecture.context
    watch = Watch(load([monitors]))
    found: tuple[list[float], list[float]] = [], []
    for number in range(2 * (pairs + 1)):
        is_watched = number % 4 in (0, 3)  # the second of a pair may find other caches
        if is_watched:
            watch.attach(architecture, context.groups.store, 0, _LIMIT_S, Written())
        begin = time.perf_counter()
        for step in range(number * block_steps, (number + 1) * block_steps):
            if is_watched:
                watch.before_step(step, 0.0)
            loss = architecture.step().loss
            if is_watched:
                watch.after_step(step, 0.0, loss)
        took_s = (time.perf_counter() - begin) / block_steps
        watch.detach()
        if number > 1:
            found[0 if is_watched else 1].append(took_s)
    return found
