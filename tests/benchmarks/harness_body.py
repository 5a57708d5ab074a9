"""What each rank does in the benchmark of the harness: its loop and a bare one, in turn."""

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from measure.faults.injector import Injector
from measure.faults.schedule import Schedule
from measure.interfaces.architecture import Architecture
from measure.mechanisms.none import NoFaultTolerance
from measure.rank.event_log import EventLog
from measure.rank.heartbeat import Heartbeat
from measure.rank.training_loop import TrainingLoop

_WARM_STEPS = 20


def both_loops(
    architecture: Architecture, folder: str, pairs: int
) -> tuple[list[float], list[float]]:
    """Seconds of a step: (inside the harness, bare), in turn, on one model in one process.

    Ranks wait for each other in every step, so that what the harness costs any of them is in it.
    """
    rank = architecture.context.rank
    log = EventLog(Path(folder) / f"rank-{rank}.jsonl", rank)
    loop = TrainingLoop(
        architecture,
        NoFaultTolerance(),
        Injector(Schedule(), rank, log),
        log,
        Heartbeat(Path(folder) / "heartbeats", rank),
        list,
        lambda peer, how: None,
    )
    for _ in range(_WARM_STEPS):
        architecture.step()
    inside: list[float] = []
    bare: list[float] = []
    for number in range(pairs):
        if number % 2:  # the second of a pair may find other caches than the first
            bare.append(_seconds(architecture.step))
        inside.append(_seconds(partial(loop.one_step, number)))
        if not number % 2:
            bare.append(_seconds(architecture.step))
    return inside, bare


def _seconds(action: Callable[[], object]) -> float:
    begin = time.perf_counter()
    action()
    return time.perf_counter() - begin
