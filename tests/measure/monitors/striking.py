"""Ranks that are struck again and again by faults that they survive, from one state each time: with
monitors, to see who notices and when; and without, to see what is left of it."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist

from measure.faults.acts.act import AHEAD_STEPS, Act, CannotStrikeError, Scene
from measure.faults.acts.catalogue import ACTS
from measure.faults.kinds import FaultKind
from measure.interfaces.architecture import Architecture
from measure.interfaces.monitor import SuspectError, Suspicion
from measure.monitors.registry import load
from measure.monitors.watch import Watch
from measure.state.agreement import agree_on
from measure.state.contract import RunFacts, capture, copied, restore
from measure.state.digest import digests
from tests.measure.monitors.bodies import Written
from tests.measure.ranks import PATIENT_S

INTERVALS = 2
"""Each strike comes in the first interval of the monitor, and training ends with the second."""


@dataclass(frozen=True)
class Strike:
    """A fault of one rank, before the step `at` counted from the state that each strike finds."""

    kind: FaultKind
    victim: int
    at: int
    seed: int


@dataclass(frozen=True)
class Answer:
    """What came of one strike, the same on all ranks."""

    strike: Strike
    after_steps: int | None
    """Steps from the strike until a monitor stopped training; None: none did."""
    suspects: tuple[int, ...]
    is_harmed: bool
    """Not stopped, and some rank's state at the end is not what training makes of it."""
    is_void: bool = False
    """The victim has nothing that this kind strikes."""


def drawn(
    kinds: Sequence[FaultKind], count: int, ranks: int, every: int, seed: int
) -> list[Strike]:
    """`count` strikes, of each kind the same number, on random ranks at random steps."""
    dice = random.Random(seed)
    return [
        Strike(kinds[n % len(kinds)], dice.randrange(ranks), dice.randrange(1, every), n + seed)
        for n in range(count)
    ]


def struck(
    architecture: Architecture, monitors: str, every: int, strikes: Sequence[Strike]
) -> list[Answer]:
    """What came of each strike."""
    trials = _Trials(architecture, monitors, every)
    return [trials.of(number, strike) for number, strike in enumerate(strikes)]


class _Trials:
    def __init__(self, architecture: Architecture, monitors: str, every: int) -> None:
        context: Any = architecture.context
        self._architecture, self._monitors, self._every = architecture, monitors, every
        self._context, self._store = context, context.groups.store
        for _ in range(every):
            architecture.step()
        self._facts = RunFacts("trials", {})
        self._begin = copied(capture(architecture, every, self._facts))
        for _ in range(INTERVALS * every):
            architecture.step()
        self._usual = self._digest()

    def of(self, number: int, strike: Strike) -> Answer:
        restore(self._architecture, self._begin)
        store = dist.PrefixStore(f"trial/{number}", self._store)
        self._agree(store, "begin", {})  # nobody sends to who has not gone back
        watch = Watch(load([self._monitors] if self._monitors else []))
        watch.attach(self._architecture, store, number, PATIENT_S, Written())
        try:
            return self._trained(store, watch, strike)
        finally:
            watch.detach()

    def _trained(self, store: dist.Store, watch: Watch, strike: Strike) -> Answer:
        mine = strike.victim == self._context.rank
        act = ACTS[strike.kind]({"seed": strike.seed}, 0) if mine else None
        for step in range(INTERVALS * self._every):
            is_void = _is_void(act, step - strike.at, Scene(self._architecture, Path(), ""))
            number = self._every + step
            said = self._before(store, watch, number, is_void)
            if any(each["void"] for each in said):
                return Answer(strike, None, (), False, is_void=True)
            if suspects := [each["suspects"] for each in said if each["suspects"] is not None]:
                return Answer(strike, step - strike.at, tuple(suspects[0]), False)
            loss = self._architecture.step().loss
            if act is not None and step >= strike.at:
                act.after_step(0.0)
            stopped = _found(partial(watch.after_step, number, 0.0, loss))
            if stopped is not None:
                after_steps = step + 1 - strike.at
                return Answer(strike, after_steps, stopped.ranks, False)
        ends = self._agree(store, "end", {"as usual": self._digest() == self._usual})
        return Answer(strike, None, (), not all(each["as usual"] for each in ends))

    def _before(
        self, store: dist.Store, watch: Watch, step: int, is_void: bool
    ) -> list[dict[str, Any]]:
        """What each rank says before a step. Others would wait in it for one that suspects: in a
        run the supervisor sets them free."""
        found = _found(lambda: watch.before_step(step, 0.0))
        told = {"void": is_void, "suspects": found and list(found.ranks)}
        return self._agree(store, f"before/{step}", told)

    def _agree(self, store: dist.Store, name: str, mine: dict[str, Any]) -> list[dict[str, Any]]:
        rank, size = self._context.rank, self._context.world_size
        return agree_on(store, name, rank, size, mine, PATIENT_S)

    def _digest(self) -> str:
        return digests(capture(self._architecture, 0, self._facts)).whole


def _is_void(act: Act | None, since: int, scene: Scene) -> bool:
    """Has the act strike when its step has come; whether there is nothing to strike."""
    if act is None:
        return False
    if -AHEAD_STEPS <= since < 0:
        act.foresee(scene)
    if since == 0:
        try:
            act.strike(scene, lambda told: None)
        except CannotStrikeError:
            return True
    return False


def _found(look: Callable[[], None]) -> Suspicion | None:
    try:
        look()
    except SuspectError as error:
        return error.suspicion
    return None
