"""Carries out the faults of one place: the victim strikes itself, or the node that it is on, after
saying so in its log."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping

from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.rank.event_log import EventLog


class InjectedError(Exception):
    """Raised in the training thread by a fault of kind `exception`."""


class Injector:
    """The schedule as one process sees it: the faults of its place, and the warnings of all.

    A place is a rank of the full group; a process that took over a dead one's place, or was
    started in its stead, meets only the faults that are still to come there.
    """

    def __init__(
        self,
        schedule: Schedule,
        place: int,
        log: EventLog,
        strike_node: Callable[[FaultKind], None] | None = None,
    ) -> None:
        self._schedule, self._place, self._log = schedule, place, log
        self._strike_node = strike_node
        self._pending = set(range(len(schedule.events)))
        self._set_at: dict[int, float] = {}
        self._steps_done = 0
        self._to_raise: int | None = None
        self._warnings: deque[tuple[int, FaultEvent, float]] = deque()

    def take(self, place: int, pending: Iterable[int], armed: Mapping[int, float]) -> None:
        """This process trains as `place` from now on; `pending` faults are still to come, those
        `armed` at a known instant."""
        self._place, self._pending = place, set(pending)
        for ordinal, instant in armed.items():
            if ordinal in self._pending:
                self.arm(ordinal, instant)

    def at_phase(self, phase: StartPhase) -> None:
        """Strikes if a fault is planned for this part of the start."""
        for ordinal, event in enumerate(self._schedule.events):
            if event.phase is phase and self._is_mine(ordinal, event):
                self._strike(ordinal, event)

    def training_started(self, began: float) -> None:
        """Sets the clock: `began` is the instant (CLOCK_MONOTONIC) that `time_s` counts from."""
        for ordinal, event in enumerate(self._schedule.events):
            if event.time_s is not None:
                self._set(began + event.time_s, ordinal, event)

    def before_step(self, step: int) -> None:
        """Called by the training thread before each step; strikes if it is this step's turn."""
        self._steps_done = step
        if self._to_raise is not None:
            self._strike(self._to_raise, self._schedule.events[self._to_raise])
        for ordinal, event in enumerate(self._schedule.events):
            if event.step == step:
                self._due(ordinal, event)

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
        if event.lead_s is not None:
            _at(instant - event.lead_s, self._warn, ordinal, event, instant)
        _at(instant, self._strike_if_mine, ordinal, event)

    def _warn(self, ordinal: int, event: FaultEvent, due_at: float) -> None:
        self._log.write("warning", ordinal=ordinal, rank=event.rank, lead_s=event.lead_s)
        self._warnings.append((ordinal, event, due_at))

    def _strike_if_mine(self, ordinal: int, event: FaultEvent) -> None:
        if self._is_mine(ordinal, event):  # the place may be another's by now
            self._strike(ordinal, event)

    def _strike(self, ordinal: int, event: FaultEvent) -> None:
        if event.kind is FaultKind.EXCEPTION and not _in_training_thread():
            self._to_raise = ordinal  # it strikes when that thread raises, perhaps after a recovery
            return
        self._log.write("fault", ordinal=ordinal, kind=event.kind, steps=self._steps_done)
        if event.kind is FaultKind.CRASH:
            os.kill(os.getpid(), signal.SIGKILL)
        elif event.kind is FaultKind.HANG:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif event.kind is FaultKind.PARTITION:
            self._log.sync()  # it may lie beyond the link that is cut, and be still on its way
            self._strike_all(ordinal, event.kind)
        elif event.kind.strikes_a_node:
            self._strike_all(ordinal, event.kind)
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


def _in_training_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def _at(instant: float, act: Callable[..., None], *arguments: object) -> None:
    """Calls `act` at `instant` (CLOCK_MONOTONIC), from a daemon thread of its own."""

    def wait() -> None:
        time.sleep(max(0.0, instant - time.monotonic()))
        act(*arguments)

    threading.Thread(target=wait, name="fault", daemon=True).start()
