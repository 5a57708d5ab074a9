"""What ranks do in the tests of monitors: they train under a watch, and one spoils its state."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from measure.interfaces.architecture import Architecture
from measure.interfaces.monitor import SuspectError, Suspicion
from measure.monitors.fingerprints import optimizer_tensors
from measure.monitors.registry import load
from measure.monitors.watch import Watch
from tests.measure.ranks import PATIENT_S

_USUAL_STEPS = 5


@dataclass
class Written:
    """A log that is kept in memory."""

    events: list[dict[str, Any]] = field(default_factory=list)

    def write(self, event: str, **fields: Any) -> float:
        """See Log."""
        now = time.monotonic()
        self.events.append({"t": now, "event": event, **fields})
        return now


@dataclass(frozen=True)
class Watched:
    """What one rank saw."""

    steps: int
    suspicion: Suspicion | None
    reports: list[Suspicion]
    checks: list[dict[str, Any]]
    error: str = ""
    """Why it stopped before its last step: it ends, so that its peers do not wait."""


@dataclass(frozen=True)
class Spoilt:
    """One rank's state is spoilt, before its step `step` or within it; or it becomes `factor` times
    as slow."""

    how: str
    rank: int
    step: int
    factor: float = 1.0


def watched(
    architecture: Architecture, monitors: str, steps: int, spoilt: Spoilt | None = None
) -> Watched:
    """Trains under these monitors until one stops it."""
    log, reports = Written(), list[Suspicion]()
    watch = Watch(load([monitors]), reports.append)
    context: Any = architecture.context
    watch.attach(architecture, context.groups.store, 0, PATIENT_S, log)
    suspicion, error, step = None, "", 0
    try:
        for step in range(steps):
            _one_step(architecture, watch, step, spoilt)
    except SuspectError as found:
        suspicion, error = found.suspicion, str(found)
    except RuntimeError as lost:
        error = str(lost)
    checks = [event for event in log.events if event["event"] == "monitor"]
    return Watched(step + (not error), suspicion, reports, checks, error)


def _one_step(architecture: Architecture, watch: Watch, step: int, spoilt: Spoilt | None) -> None:
    mine = spoilt is not None and (spoilt.rank, spoilt.step) == (architecture.context.rank, step)
    how, factor = (spoilt.how, spoilt.factor) if mine and spoilt else ("", 1.0)
    begin = time.monotonic()
    if how in BETWEEN:
        BETWEEN[how](architecture)
    if factor > 1.0:
        _slow_from_now_on(factor, architecture)
    watch.before_step(step, time.monotonic() - begin)
    put_back = _parameters_as_they_are(architecture) if how == "skipped update" else None
    loss = architecture.step().loss
    if put_back is not None:
        put_back()
    watch.after_step(step, time.monotonic() - begin, loss)


def flip(tensor: Tensor, bit: int = 12) -> None:
    """Turns a bit over in the middle of a float32 tensor; 12 is in the middle of the mantissa."""
    words = tensor.detach().view(torch.int32).view(-1)
    words[len(words) // 2] ^= 1 << bit


def _parameter(architecture: Architecture) -> Tensor:
    """The last one of more than one dimension."""
    return [p for p in architecture.state().model.parameters() if p.dim() > 1][-1]


def _optimizer(architecture: Architecture) -> None:
    optimizer = architecture.state().optimizer
    assert optimizer is not None
    flip(next(iter(optimizer_tensors(optimizer))))


def _buffer(architecture: Architecture) -> None:
    flip(next(b for b in architecture.state().model.buffers() if b.is_floating_point()))


def _fill(value: float, architecture: Architecture) -> None:
    with torch.no_grad():
        _parameter(architecture).view(-1)[0] = value


def _slow_from_now_on(factor: float, architecture: Architecture) -> None:
    """The model's pass takes the rank longer, so that a step takes it `factor` times as long: by
    what the first steps from here take, and the same from then on."""
    began: list[float] = []

    def sleep(*_: object) -> None:
        began.append(time.monotonic())
        if len(began) > _USUAL_STEPS:
            step_s = (began[_USUAL_STEPS] - began[0]) / _USUAL_STEPS
            time.sleep((factor - 1.0) * step_s)

    architecture.state().model.register_forward_pre_hook(sleep)


def _parameters_as_they_are(architecture: Architecture) -> Callable[[], None]:
    parameters = list(architecture.state().model.parameters())
    kept = [parameter.detach().clone() for parameter in parameters]

    def put_back() -> None:
        with torch.no_grad():
            for parameter, before in zip(parameters, kept, strict=True):
                parameter.copy_(before)

    return put_back


BETWEEN: dict[str, Callable[[Architecture], object]] = {
    "parameter": lambda architecture: flip(_parameter(architecture)),
    "optimizer": _optimizer,
    "buffer": _buffer,
    "generator": lambda _: torch.rand(1),
    "position": lambda architecture: architecture.state().loader.next_ids(),
    "nan": partial(_fill, float("nan")),
    "huge": partial(_fill, 1e6),
}


def drops_a_peer(architecture: Architecture, monitors: str, steps: int, victim: int) -> Watched:
    """The victim leaves before step 7 of a training that goes on without it."""
    log = Written()
    watch = Watch(load([monitors]))
    context = cast("Any", architecture.context)
    watch.attach(architecture, context.groups.store, 0, 1.0, log, goes_on_alone=True)
    for step in range(steps):
        if step == 7 and context.rank == victim:
            return Watched(step, None, [], [], "gone")
        watch.before_step(step, 0.0)
        watch.after_step(step, 0.0, architecture.step().loss)
    ended = [event for event in log.events if event["event"] == "monitor-ended"]
    return Watched(steps, None, [], ended)
