"""Stragglers: a rank that takes longer than it used to, by a factor; to compute, or to send.

What its steps took is known once, as it strikes: two slow ranks would make each other slower, if
each followed its own latest steps, which wait for the other.
"""

import statistics
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from measure.faults.acts import pacing
from measure.faults.acts.act import Act, CannotStrikeError, Scene, Told
from measure.faults.acts.pacing import Connection
from measure.faults.params import COMPUTE, NETWORK


class _Slow(Act):
    """What both share: they begin once a step is known, and end after `steps` slow ones."""

    lasts: ClassVar[bool] = True

    def __init__(self, params: Mapping[str, Any], ordinal: int) -> None:
        super().__init__(params, ordinal)
        self._factor: float = params["factor"]
        self._steps_left: int | None = params.get("steps")
        self._told: Told | None = None
        self._steps_s: Sequence[float] = ()
        self._usual_s: float | None = None

    def strike(self, at: Scene, told: Told) -> None:
        """Slow from the next step on, or the one after."""
        self._told, self._steps_s = told, at.steps_s
        self._learn()
        self.attach(at)

    def _learn(self) -> None:
        if self._usual_s is None and self._steps_s:
            self._usual_s = statistics.fmean(self._steps_s)

    def _has_begun(self, **what: Any) -> None:
        """Says so, once."""
        if self._told is not None:
            self._told({"usual_s": self._usual_s, **what})
            self._told = None

    def _is_over(self) -> bool:
        return self._steps_left == 0

    def _count(self) -> None:
        """One slow step is made."""
        if self._steps_left is not None:
            self._steps_left -= 1
            if self._is_over():
                self.detach()


class SlowCompute(_Slow):
    """Sleeps in each step: as its first pass begins, or, on a rank that makes none (a server), as
    its optimizer does."""

    _slept = True

    def __init__(self, params: Mapping[str, Any], ordinal: int) -> None:
        super().__init__(params, ordinal)
        self._hooks: list[Any] = []

    def attach(self, at: Scene) -> None:
        """Hooks into the model and the optimizer."""
        if self._is_over():
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
        """It is to sleep in this step, unless none was made yet."""
        self._slept = self._usual_s is None or self._is_over()

    def after_step(self, step_s: float) -> None:
        """Counts the slow steps."""
        if self._usual_s is None:
            self._learn()
        elif not self._is_over():
            self._count()

    def _sleep_once(self) -> None:
        if self._slept or self._usual_s is None:
            return
        self._slept = True
        pause_s = (self._factor - 1.0) * self._usual_s
        self._has_begun(pause_s=pause_s)
        time.sleep(pause_s)


class SlowNetwork(_Slow):
    """Each of the process's connections is limited, so that what it has sent in one step takes
    `factor` times the usual step from then on: the link, not the sleep of anybody, is slow."""

    _before: Mapping[Connection, int] | None = None
    _limited: Sequence[Connection] = ()

    def detach(self) -> None:
        """Sets the connections free that are still there."""
        for connection in self._limited:
            pacing.limit(connection, None)
        self._limited, self._before = (), None

    def before_step(self, step: int) -> None:
        """Where none is limited, as in a new generation, whose connections are others, what this
        step sends is seen: not what formed the group, or restored a state, before it."""
        if not self._limited and not self._is_over():
            self._before = pacing.sent_bytes()

    def after_step(self, step_s: float) -> None:
        """Limits after the first step; counts the slow ones. CannotStrikeError where nothing was
        sent that could be limited."""
        if self._before is None:
            if self._limited:
                self._count()
            return
        self._learn()
        assert self._usual_s is not None
        slow_step_s = self._factor * self._usual_s
        grown = {c: n - self._before.get(c, 0) for c, n in pacing.sent_bytes().items()}
        rates = {c: int(n / slow_step_s) for c, n in grown.items() if n > 0}
        for connection, rate in rates.items():
            pacing.limit(connection, rate)
        self._limited, self._before = tuple(rates), None
        if rates:
            self._has_begun(connections=len(rates), bytes_per_s=sum(rates.values()))
        elif self._told is not None:
            raise CannotStrikeError("no TCP connection of this rank sent anything in its step")


_SLOW = {COMPUTE: SlowCompute, NETWORK: SlowNetwork}


def straggler(params: Mapping[str, Any], ordinal: int) -> Act:
    """The act of what is slow."""
    return _SLOW[params.get("what", COMPUTE)](params, ordinal)
