"""Real ranks that train under a schedule, and what their state was at each moment of each step."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from measure.faults.acts.act import Scene
from measure.faults.injector import Injector
from measure.faults.schedule import FaultEvent, Schedule
from measure.interfaces.architecture import Architecture
from measure.rank.event_log import EventLog, read_log
from measure.state.contract import RunFacts, capture
from measure.state.tensor_bytes import on_host, view_of
from tests.measure.ranks import Failed, Request, run_ranks

FACTS = RunFacts("test", {"torch": "2"})
RUN_KEY = "0123456789ab"

Bytes = dict[str, npt.NDArray[np.uint8]]


@dataclass(frozen=True)
class Trained:
    """What one rank showed. Of each step: the bytes of all tensors as they were left by the one
    before, once faults had struck, and after the step."""

    left: list[Bytes]
    struck: list[Bytes]
    stepped: list[Bytes]
    steps_s: list[float]
    events: list[dict[str, Any]]
    """Of its log: `fault` and `fault-failed`."""
    told: list[int]
    """The ordinals that the supervisor would have heard of."""
    hooks: int
    """How many are left in the model at the end."""


def trained_under(
    architecture: str,
    workload: str,
    folder: Path,
    events: tuple[FaultEvent, ...],
    steps: int,
    world_size: int = 3,
) -> list[Trained]:
    """What each rank showed in `steps` steps under these faults."""
    asked = Request(architecture, workload, _train, (str(folder), events, steps))
    answers: list[Any] = run_ranks(asked, world_size)
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    return answers


def scene_of(architecture: Architecture, folder: str) -> Scene:
    return Scene(architecture, Path(folder), RUN_KEY)


def changed(before: Bytes, after: Bytes, prefix: str = "") -> list[str]:
    """The tensors of this prefix that differ."""
    names = sorted(name for name in after if name.startswith(prefix))
    return [n for n in names if n not in before or not np.array_equal(before[n], after[n])]


def bits_between(before: Bytes, after: Bytes) -> int:
    """How many bits differ, of tensors that both have."""
    return sum(
        int(np.unpackbits(before[name] ^ after[name]).sum()) for name in before.keys() & after
    )


def _train(
    architecture: Architecture, folder: str, events: tuple[FaultEvent, ...], steps: int
) -> Trained:
    rank = architecture.context.rank
    path = Path(folder) / f"rank-{rank}.jsonl"
    told: list[int] = []
    log = EventLog(path, rank)
    injector = Injector(Schedule("test", events), rank, log, on_struck=told.append)
    injector.attach(scene_of(architecture, folder))
    left, struck, stepped = list[Bytes](), list[Bytes](), list[Bytes]()
    steps_s: list[float] = []
    for step in range(steps):
        left.append(_bytes(architecture, step))
        injector.before_step(step)
        struck.append(_bytes(architecture, step))
        begin = log.write("begins")
        architecture.step()
        steps_s.append(log.write("ends") - begin)
        injector.after_step(steps_s[-1])
        stepped.append(_bytes(architecture, step + 1))
    found = [e for e in read_log(path) if e["event"] in ("fault", "fault-failed")]
    hooks = len(architecture.state().model._forward_pre_hooks)
    return Trained(left, struck, stepped, steps_s, found, told, hooks)


def _bytes(architecture: Architecture, step: int) -> Bytes:
    tensors = capture(architecture, step, FACTS).tensors
    return {
        name: np.frombuffer(bytes(view_of(on_host(tensor))), dtype=np.uint8)
        for name, tensor in tensors.items()
    }
