"""Carries out one rank's faults: the victim strikes itself, after saying so in its log."""

import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable

from measure.faults.schedule import FaultEvent, FaultKind, Schedule, StartPhase
from measure.rank.event_log import EventLog


class InjectedError(Exception):
    """Raised in the training thread by a fault of kind `exception`."""


class Injector:
    """The schedule as one rank sees it: its own faults, and the warnings of all."""

    def __init__(self, schedule: Schedule, rank: int, log: EventLog) -> None:
        self._schedule, self._rank, self._log = schedule, rank, log
        self._own = [(n, e) for n, e in enumerate(schedule.events) if e.rank == rank]
        self._steps_done = 0
        self._to_raise: int | None = None
        self._warnings: deque[FaultEvent] = deque()

    def at_phase(self, phase: StartPhase) -> None:
        """Strikes if a fault is planned for this part of the start."""
        for ordinal, event in self._own:
            if event.phase is phase:
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
            raise InjectedError(f"fault {self._to_raise} of the schedule")
        for ordinal, event in enumerate(self._schedule.events):
            if event.step == step:
                self._due(ordinal, event)

    def arm(self, ordinal: int, instant: float) -> None:
        """Event 0 has struck, so that the time of event `ordinal` is known. From any thread."""
        self._set(instant, ordinal, self._schedule.events[ordinal])

    def warnings(self) -> list[FaultEvent]:
        """The faults announced since the last call."""
        found = []
        while self._warnings:
            found.append(self._warnings.popleft())
        return found

    def _due(self, ordinal: int, event: FaultEvent) -> None:
        """Its step has come: the fault, or the warning of it."""
        if event.lead_s is not None:
            self._set(time.monotonic() + event.lead_s, ordinal, event)
        elif event.rank == self._rank:
            self._strike(ordinal, event)

    def _set(self, instant: float, ordinal: int, event: FaultEvent) -> None:
        if event.lead_s is not None:
            _at(instant - event.lead_s, self._warn, ordinal, event)
        if event.rank == self._rank:
            _at(instant, self._strike, ordinal, event)

    def _warn(self, ordinal: int, event: FaultEvent) -> None:
        self._log.write("warning", ordinal=ordinal, rank=event.rank, lead_s=event.lead_s)
        self._warnings.append(event)

    def _strike(self, ordinal: int, event: FaultEvent) -> None:
        self._log.write("fault", ordinal=ordinal, kind=event.kind, steps=self._steps_done)
        if event.kind is FaultKind.CRASH:
            os.kill(os.getpid(), signal.SIGKILL)
        elif event.kind is FaultKind.HANG:
            os.kill(os.getpid(), signal.SIGSTOP)
        elif threading.current_thread() is threading.main_thread():
            raise InjectedError(f"fault {ordinal} of the schedule")
        else:
            self._to_raise = ordinal


def _at(instant: float, act: Callable[..., None], *arguments: object) -> None:
    """Calls `act` at `instant` (CLOCK_MONOTONIC), from a daemon thread of its own."""

    def wait() -> None:
        time.sleep(max(0.0, instant - time.monotonic()))
        act(*arguments)

    threading.Thread(target=wait, name="fault", daemon=True).start()
