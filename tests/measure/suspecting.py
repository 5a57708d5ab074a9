"""Loaded into the fork server: a rank whose state goes wrong at a step, and a monitor that notices
it later; and every rank writes down what it ended with.

What is to happen stands in the JSON file that FAILBENCH_TEST_SUSPECTING names: a list with one
object a generation that trains. `place` changes a parameter before it makes step `corrupt`; once
`notice` steps are done, the places `raisers` suspect the ranks `named`, and say that `proved`
steps had been good. `dies` is a place, and the step before which it kills itself. What is left out
does not happen.
"""

import json
import os
import signal
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from measure.interfaces.architecture import Architecture
from measure.interfaces.monitor import SuspectError, Suspicion
from measure.rank.training_loop import TrainingLoop
from measure.state.contract import RunFacts, capture
from measure.state.digest import digests

VARIABLE = "FAILBENCH_TEST_SUSPECTING"
_MEET_WITHIN_S = 20.0
_one_step, _run = TrainingLoop.one_step, TrainingLoop.run


def _now() -> dict[str, Any]:
    """What is to happen in the generation that trains: the run's folder is the current one."""
    plan = json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    generation = len(Path("lineage.jsonl").read_text(encoding="utf-8").splitlines()) - 1
    found: dict[str, Any] = plan[generation] if generation < len(plan) else {}
    return found


def _corrupt(architecture: Architecture) -> None:
    parameters = architecture.state().model.parameters()
    largest = max(parameters, key=lambda parameter: parameter.numel())
    with torch.no_grad():
        largest.view(-1)[0] += 1.0


def _meet(place: int, raisers: list[int]) -> None:
    """All who are to notice have made the step: as where a monitor compares them."""
    begin = f"noticed-{len(list(Path().glob('incidents/*')))}"
    Path(f"{begin}-{place}").touch()
    deadline = time.monotonic() + _MEET_WITHIN_S
    while not all(Path(f"{begin}-{other}").exists() for other in raisers):
        assert time.monotonic() < deadline, "some never noticed it"
        time.sleep(0.002)


def one_step(self: TrainingLoop, step: int) -> None:
    now, place = _now(), self.injector._place
    if step == now.get("corrupt") and place == now["place"]:
        _corrupt(self.architecture)
    if now.get("dies") == [place, step]:
        os.kill(os.getpid(), signal.SIGKILL)
    _one_step(self, step)
    if step + 1 == now.get("notice") and place in now["raisers"]:
        _meet(place, now["raisers"])
        named = tuple(now["named"])
        why = f"ranks {named} differ" if named else "somebody differs"
        raise SuspectError(
            Suspicion("test", step + 1, now["proved"], named, why, "corruption", "stop")
        )


def run(self: TrainingLoop, first: int, steps: int) -> None:
    _run(self, first, steps)
    found = digests(capture(self.architecture, steps, RunFacts("", {})))
    path = Path(f"{os.environ[VARIABLE]}.{self.architecture.context.rank}")
    path.write_text(json.dumps(asdict(found)), encoding="utf-8")


TrainingLoop.one_step, TrainingLoop.run = one_step, run  # type: ignore[method-assign]
