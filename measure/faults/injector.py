"""Carries out the faults of one place: the victim strikes itself, or the node that it is on, after
saying so in its log. What it survives (measure.faults.acts) it says once it is done."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from measure.faults.acts.act import AHEAD_STEPS, Act, CannotStrikeError, Scene
from measure.faults.acts.catalogue import ACTS
from measure.faults.kinds import Phase, RecoveryPhase, StartPhase, Warned
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.rank.event_log import EventLog

_SIGNALS = {
    FaultKind.CRASH: signal.SIGKILL,
    FaultKind.COORDINATOR_LOSS: signal.SIGKILL,
    FaultKind.HANG: signal.SIGSTOP,
}
_NOT_TOLD = (RecoveryPhase.NOTICING, RecoveryPhase.ELECTING)
"""Phases before the next order, which says what has struck."""
_STEPS_REMEMBERED = 8


class InjectedError(Exception):
    """Raised in the training thread by a fault of kind `exception`."""


def _nobody_hears(ordinal: int) -> None:
    """Where no supervisor is to hear what struck."""


class Injector:
    """The schedule as one process sees it: the faults of its place, and the warnings of all.

    A place is a rank of the full group; a process that took over a dead one's place, or was
    started in its stead, meets only the faults that are still to come there. `on_struck` hears of
    the faults that this process has survived, which must not strike again where steps are made
    again.
    """

    def __init__(
        self,
        schedule: Schedule,
        place: int,
        log: EventLog,
        strike_node: Callable[[FaultKind], None] | None = None,
        on_struck: Callable[[int], None] = _nobody_hears,
    ) -> None:
        self._schedule, self._place, self._log = schedule, place, log
        self._strike_node, self._on_struck = strike_node, on_struck
        self._pending = set(range(len(schedule.events)))
        self._over: set[int] = set()
        """Those that this process survived, or could not carry out."""
        self._set_at: dict[int, float] = {}
        self._steps_done = 0
        self._steps_s: deque[float] = deque(maxlen=_STEPS_REMEMBERED)
        self._for_training_thread: deque[int] = deque()
        self._warnings: deque[tuple[int, FaultEvent, float]] = deque()
        self._scene: Scene | None = None
        self._acts: dict[int, Act] = {}
        """By the ordinal of their fault: those that are foreseen, and those that go on."""

    def take(self, place: int, pending: Iterable[int], armed: Mapping[int, float]) -> None:
        """This process trains as `place` from now on; `pending` faults are still to come, those
        `armed` at a known instant."""
        self._place, self._pending = place, set(pending) - self._over
        for ordinal, instant in armed.items():
            if ordinal in self._pending:
                self.arm(ordinal, instant)

    def attach(self, scene: Scene) -> None:
        """The group is formed, and this is what faults find here."""
        self._scene = replace(scene, steps_s=self._steps_s)
        for act in self._acts.values():
            act.attach(self._scene)

    def detach(self) -> None:
        """The generation is over: nothing of its scene is held any more."""
        self._scene = None
        for act in self._acts.values():
            act.detach()
        self._acts = {ordinal: act for ordinal, act in self._acts.items() if act.lasts}

    def at_phase(self, phase: Phase) -> None:
        """Strikes if a fault is planned for this part of the start, or of a recovery."""
        for ordinal, event in enumerate(self._schedule.events):
            if event.phase is phase and self._is_mine(ordinal, event) and self._is_turn(ordinal):
                self._strike(ordinal, event)

    def training_started(self, began: float) -> None:
        """Sets the clock: `began` is the instant (CLOCK_MONOTONIC) that `time_s` counts from."""
        for ordinal, event in enumerate(self._schedule.events):
            if event.time_s is not None:
                self._set(began + event.time_s, ordinal, event)

    def before_step(self, step: int) -> None:
        """Called by the training thread before each step; strikes if it is this step's turn."""
        self._steps_done = step
        while self._for_training_thread:
            ordinal = self._for_training_thread.popleft()
            self._strike_if_mine(ordinal, self._schedule.events[ordinal])
        for ordinal, event in enumerate(self._schedule.events):
            if event.step == step:
                self._due(ordinal, event)
            elif event.step is not None and step < event.step <= step + AHEAD_STEPS:
                self._foresee(ordinal, event)
        for _, act in self._struck():
            act.before_step(step)

    def after_step(self, step_s: float) -> None:
        """The architecture has made the step, in so many seconds."""
        self._steps_s.append(step_s)
        for ordinal, act in self._struck():
            try:
                act.after_step(step_s)
            except CannotStrikeError as error:
                self._failed(ordinal, error)

    def arm(self, ordinal: int, instant: float) -> None:
        """Event 0 has struck, so that the time of event `ordinal` is known. From any thread; a
        second time says nothing new."""
        self._set(instant, ordinal, self._schedule.events[ordinal])

    def warnings(self) -> list[tuple[FaultEvent, float]]:
        """The faults announced since the last call, and when they will strike; without those
        that have struck by now, while this rank was recovering."""
        found = []
        while self._warnings:
            ordinal, event, due_at = self._warnings.popleft()
            if ordinal in self._pending and due_at > time.monotonic():
                found.append((event, due_at))
        return found

    def _is_mine(self, ordinal: int, event: FaultEvent) -> bool:
        return event.rank == self._place and ordinal in self._pending

    def _is_turn(self, ordinal: int) -> bool:
        """Whether a phase counts: of the recovery from event 0, once that has struck. Who has
        just noticed that was not told so."""
        event, first = self._schedule.events[ordinal], self._schedule.events[0]
        of_the_start = event.phase is StartPhase.STARTING or first.phase is not None
        return of_the_start or event.phase in _NOT_TOLD or 0 not in self._pending

    def _struck(self) -> Iterator[tuple[int, Act]]:
        """The acts whose faults have struck, each with its ordinal; some last for one step."""
        for ordinal, act in list(self._acts.items()):
            if ordinal not in self._pending:
                yield ordinal, act

    def _due(self, ordinal: int, event: FaultEvent) -> None:
        """Its step has come: the fault, or the warning of it."""
        if event.lead_s is not None:
            if ordinal in self._pending:
                self._set(time.monotonic() + event.lead_s, ordinal, event)
        elif self._is_mine(ordinal, event):
            self._strike(ordinal, event)

    def _set(self, instant: float, ordinal: int, event: FaultEvent) -> None:
        if ordinal in self._set_at:
            return
        self._set_at[ordinal] = instant
        if event.warned_s is not None:
            told = replace(event, lead_s=event.warned_s)
            _at(instant - event.warned_s, self._warn, ordinal, told, instant)
        _at(instant, self._strike_if_mine, ordinal, event)

    def _warn(self, ordinal: int, event: FaultEvent, due_at: float) -> None:
        self._log.write("warning", ordinal=ordinal, rank=event.rank, lead_s=event.lead_s)
        self._warnings.append((ordinal, event, due_at))

    def _strike_if_mine(self, ordinal: int, event: FaultEvent) -> None:
        if self._is_mine(ordinal, event):  # the place may be another's by now
            self._strike(ordinal, event)

    def _strike(self, ordinal: int, event: FaultEvent) -> None:
        if event.warned is Warned.FALSE:
            self._has_survived(ordinal, event, {"warning": Warned.FALSE})
        elif _needs_training_thread(event.kind) and not _in_training_thread():
            self._for_training_thread.append(ordinal)  # perhaps after a recovery
        elif event.kind in ACTS:
            self._act(ordinal, event)
        else:
            self._end(ordinal, event.kind)

    def _end(self, ordinal: int, kind: FaultKind) -> None:
        self._log.write("fault", ordinal=ordinal, kind=kind, steps=self._steps_done)
        if kind in _SIGNALS:
            os.kill(os.getpid(), _SIGNALS[kind])
        elif kind.strikes_a_node:
            if kind is FaultKind.PARTITION:
                self._log.sync()  # it may lie beyond the link that is cut, and be on its way
            self._strike_all(ordinal, kind)
        else:
            raise InjectedError(f"fault {ordinal} of the schedule")

    def _strike_all(self, ordinal: int, kind: FaultKind) -> None:
        """The node of this process; a fault that cannot be carried out has not fired, and the log
        says why."""
        assert self._strike_node is not None, "a schedule for several nodes, and there is one"
        self._pending.discard(ordinal)
        try:
            self._strike_node(kind)
        except OSError as error:
            self._log.write("fault-failed", ordinal=ordinal, why=str(error))

    def _foresee(self, ordinal: int, event: FaultEvent) -> None:
        if event.kind in ACTS and self._is_mine(ordinal, event):
            self._act_of(ordinal, event).foresee(self._here())

    def _act(self, ordinal: int, event: FaultEvent) -> None:
        """As of `_strike_all`: once, whether it can be carried out or not."""
        act = self._act_of(ordinal, event)
        self._pending.discard(ordinal)
        try:
            act.strike(self._here(), partial(self._has_survived, ordinal, event))
        except (CannotStrikeError, OSError) as error:
            self._failed(ordinal, error)

    def _failed(self, ordinal: int, error: Exception) -> None:
        """Also where the step is made again: a log that has both says nothing for certain."""
        self._acts.pop(ordinal).detach()
        self._over.add(ordinal)
        self._log.write("fault-failed", ordinal=ordinal, why=str(error))

    def _act_of(self, ordinal: int, event: FaultEvent) -> Act:
        if ordinal not in self._acts:
            self._acts[ordinal] = ACTS[event.kind](event.params, ordinal)
        return self._acts[ordinal]

    def _here(self) -> Scene:
        assert self._scene is not None, "training, and not attached"
        return self._scene

    def _has_survived(self, ordinal: int, event: FaultEvent, what: Mapping[str, Any]) -> None:
        self._log.write("fault", ordinal=ordinal, kind=event.kind, steps=self._steps_done, **what)
        self._pending.discard(ordinal)
        self._over.add(ordinal)
        self._on_struck(ordinal)


def _needs_training_thread(kind: FaultKind) -> bool:
    return kind in ACTS or kind is FaultKind.EXCEPTION


def _in_training_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _at(instant: float, act: Callable[..., None], *arguments: object) -> None:
    """Calls `act` at `instant` (CLOCK_MONOTONIC), from a daemon thread of its own."""

    def wait() -> None:
        time.sleep(max(0.0, instant - time.monotonic()))
        act(*arguments)

    threading.Thread(target=wait, name="fault", daemon=True).start()
