"""Loaded into the fork server: kills a rank in a moment that a schedule cannot name, and has every
rank write down what it ended with.

What is to happen stands in the JSON file that FAILBENCH_TEST_MOMENT names: `place`, `step`,
`moment`, and for `commit` the number of the agreement in a save at whose entry it dies. The
victim removes the file before it kills itself: whoever takes its place goes on.

With `emergency` in the place of `step`, the moment is one of the next emergency save, or of the
second step after it; what strikes then is the fault of that number in the schedule, so that the
run's record knows of it.
"""

import json
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import torch

from measure.mechanisms.just_in_time import JustInTime
from measure.rank.training_loop import TrainingLoop
from measure.state import agreement, background, durable, replicas
from measure.state.contract import RunFacts, capture
from measure.state.digest import digests
from measure.state.segments import Slot
from measure.workloads.loader import Loader

VARIABLE = "FAILBENCH_TEST_MOMENT"
_BLOCKED_S, _INTO_S = 0.06, 0.003
_now: dict[str, Any] = {
    "step": -1,
    "moment": "",
    "agreements": 0,
    "ids": {},
    "injector": None,
    "after_emergency": None,
}


def _plan() -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    except (OSError, KeyError, ValueError):
        return {}
    return found


def _die() -> None:
    ordinal = _plan().get("emergency")
    Path(os.environ[VARIABLE]).unlink()
    if ordinal is not None:
        injector = _now["injector"]
        injector._strike(ordinal, injector._schedule.events[ordinal])
    os.kill(os.getpid(), signal.SIGKILL)


def _die_within_a_collective() -> None:
    """The peers are blocked by then: this rank comes late, and dies as it communicates."""
    threading.Timer(_BLOCKED_S + _INTO_S, _die).start()
    time.sleep(_BLOCKED_S)


def _in_moment(moment: str) -> bool:
    return bool(_now["moment"] == moment)


_one_step, _run = TrainingLoop.one_step, TrainingLoop.run
_next_ids, _backward = Loader.next_ids, torch.autograd.backward
_write, _fill, _agree_on = durable.Draft.write, Slot.fill, agreement.agree_on
_emergency_save = JustInTime._save


def one_step(self: TrainingLoop, step: int) -> None:
    plan = _plan()
    _now.update(step=step, injector=self.injector)
    due = step == (_now["after_emergency"] if "emergency" in plan else plan.get("step"))
    if due and plan.get("place") == self.injector._place:
        _now.update(moment=plan["moment"], agreements=plan["nth"])
    if _in_moment("collective"):
        _die_within_a_collective()
    after_step = self.mechanism.after_step

    def saving(number: int) -> None:
        if _in_moment("start of a save"):
            _die()
        after_step(number)

    vars(self.mechanism)["after_step"] = saving
    try:
        _one_step(self, step)
    finally:
        del vars(self.mechanism)["after_step"]
        _now["moment"] = "" if _now["moment"] not in _IN_BACKGROUND else _now["moment"]


def emergency_save(self: JustInTime, victim: int, done: int) -> Any:
    plan = _plan()
    mine = "emergency" in plan and plan["place"] == _now["injector"]._place
    if mine and plan["moment"].endswith("of a save"):
        _now.update(moment=plan["moment"], agreements=plan["nth"])
        if _in_moment("start of a save"):
            _die()
    found = _emergency_save(self, victim, done)
    if mine:
        _now["after_emergency"] = done + 1
    return found


_IN_BACKGROUND = ("middle of a save", "commit of a save")


def run(self: TrainingLoop, first: int, steps: int) -> None:
    _run(self, first, steps)
    found = digests(capture(self.architecture, steps, RunFacts("", {})))
    ended = {
        "parameters": found.parameters,
        "buffers": found.buffers,
        "optimizer": found.optimizer,
        "rng": found.rng,
        "position": found.position,
        "ids": _now["ids"],
    }
    path = Path(f"{os.environ[VARIABLE]}.{self.architecture.context.rank}")
    path.write_text(json.dumps(ended), encoding="utf-8")


def next_ids(self: Loader) -> list[int]:
    found = _next_ids(self)
    _now["ids"][_now["step"]] = found
    return found


def backward(*arguments: Any, **options: Any) -> None:
    if _in_moment("compute"):
        _die()
    _backward(*arguments, **options)


def write(self: durable.Draft, data: memoryview | bytes) -> None:
    if _in_moment("middle of a save"):
        _die()
    _write(self, data)


def fill(self: Slot, *arguments: Any, **options: Any) -> None:
    if _in_moment("middle of a save"):
        _die()
    _fill(self, *arguments, **options)


def agree_on(*arguments: Any, **options: Any) -> Any:
    if _in_moment("commit of a save"):
        _now["agreements"] -= 1
        if _now["agreements"] == 0:
            _die()
    return _agree_on(*arguments, **options)


TrainingLoop.one_step, TrainingLoop.run = one_step, run  # type: ignore[method-assign]
Loader.next_ids = next_ids  # type: ignore[method-assign]
torch.autograd.backward = backward
durable.Draft.write = write  # type: ignore[method-assign]
Slot.fill = fill  # type: ignore[method-assign]
JustInTime._save = emergency_save  # type: ignore[method-assign]
for _module in (agreement, background, replicas):
    if hasattr(_module, "agree_on"):
        vars(_module)["agree_on"] = agree_on
