"""Stragglers: a rank that is slower than the others, by a factor of its own usual step."""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from measure.faults.acts.act import Act, Scene, Told
from measure.faults.params import COMPUTE


class Straggler(Act):
    """Sleeps in each step, so that the rank takes `factor` times as long as in its last steps
    before: what a step takes is known once, or two slow ranks would make each other slower.

    A slow computer sleeps as its first pass begins; a rank that makes none (a server) as its
    optimizer does. A slow network cannot be had without the right to limit one's link: it is
    emulated by a sleep once the step is made, when what this rank has computed is with its peers,
    and they wait for what it sends next.
    """

    lasts: ClassVar[bool] = True

    def __init__(self, params: Mapping[str, Any], ordinal: int) -> None:
        super().__init__(params, ordinal)
        self._computes = params.get("what", COMPUTE) == COMPUTE
        self._steps_left: int | None = params.get("steps")
        self._pause_s: float | None = None
        self._slept = True
        self._hooks: list[Any] = []
        self._told: Told | None = None
        self._steps_s: Sequence[float] = ()

    def strike(self, at: Scene, told: Told) -> None:
        """Slow from the next step on; from the one after, where none was made yet."""
        self._told, self._steps_s = told, at.steps_s
        self._settle()
        self.attach(at)

    def attach(self, at: Scene) -> None:
        """Hooks into the model and the optimizer."""
        if not self._computes or self._steps_left == 0:
            return
        state = at.architecture.state()
        hook = state.model.register_forward_pre_hook(lambda *_: self._sleep_once())
        self._hooks.append(hook)
        if state.optimizer is not None:
            hook = state.optimizer.register_step_pre_hook(lambda *_: self._sleep_once())
            self._hooks.append(hook)

    def detach(self) -> None:
        """Unhooks."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def before_step(self, step: int) -> None:
        """A slow computer is to sleep in this step."""
        self._slept = False

    def after_step(self, step_s: float) -> None:
        """A slow network sleeps now; counts the slow steps."""
        if self._pause_s is None:
            self._settle()
            return
        if not self._computes:
            self._sleep_once()
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._steps_left == 0:
                self._pause_s = None
                self.detach()

    def _settle(self) -> None:
        """Fixes the pause once a step is known, and says so."""
        if self._told is None or not self._steps_s:
            return
        usual_s = statistics.fmean(self._steps_s)
        self._pause_s = (self.params["factor"] - 1.0) * usual_s
        self._told({"usual_s": usual_s, "pause_s": self._pause_s})
        self._told = None

    def _sleep_once(self) -> None:
        if not self._slept and self._pause_s is not None:
            self._slept = True
            time.sleep(self._pause_s)
