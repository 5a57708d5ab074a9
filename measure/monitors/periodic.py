"""What monitors share: a look at every step, and every N steps a check that is written down."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import torch.distributed as dist

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Log
from measure.interfaces.monitor import Kind, Monitor, Severity, SuspectError, Suspicion
from measure.state.agreement import agree_on


class PeriodicMonitor(Monitor):
    """Subclasses override `look_before`, `look_after` and `check`; each does nothing here."""

    def __init__(self, interval_steps: int) -> None:
        self._interval_steps = interval_steps
        self._proved_step = 0

    def attach(
        self,
        architecture: Architecture,
        store: dist.Store,
        generation: int,
        timeout_s: float,
        log: Log,
    ) -> None:
        """See Monitor. Agreements have a place of their own in the store: those of mechanisms
        follow one another by themselves."""
        self.architecture, self._log = architecture, log
        self._store, self._timeout_s = dist.PrefixStore("monitors", store), timeout_s
        self._is_first, self._spent_s, self._waited_s, self.bytes_read = True, 0.0, 0.0, 0
        self.begin()

    def before_step(self, step: int, own_s: float) -> None:
        """See Monitor."""
        if self._is_first:
            # What was proved of steps that will be made again is of a run that is over.
            self._is_first, self._proved_step = False, min(self._proved_step, step)
        with self._timed():
            self.look_before(step, own_s)

    def after_step(self, step: int, seconds: float, loss: float | None) -> None:
        """See Monitor."""
        done = step + 1
        try:
            with self._timed():
                self.look_after(step, seconds, loss)
                if done % self._interval_steps == 0:
                    self.check(done)
        finally:
            if done % self._interval_steps == 0:
                self._write_down(done)

    @property
    def rank(self) -> int:
        """This rank, in the group of this generation."""
        return self.architecture.context.rank

    def begin(self) -> None:
        """A generation begins: what was learned of another one may not hold."""

    def look_before(self, step: int, own_s: float) -> None:
        """Before every step; see Monitor."""

    def look_after(self, step: int, seconds: float, loss: float | None) -> None:
        """After every step; see Monitor. No communication."""

    def check(self, done: int) -> None:
        """After every N steps, on every rank, `done` steps are complete; may call `all_reports`."""

    def all_reports(self, done: int, mine: Mapping[str, Any]) -> list[dict[str, Any]]:
        """What every rank reports at this check, in rank order. PeerFailedError if one does not."""
        context, begin = self.architecture.context, time.monotonic()
        try:
            return agree_on(
                self._store,
                f"{self.name}/{done}",
                context.rank,
                context.world_size,
                mine,
                self._timeout_s,
            )
        finally:
            self._waited_s += time.monotonic() - begin

    def proved(self, done: int) -> None:
        """The state is good after `done` steps, as far as this monitor can tell."""
        self._proved_step = done

    def suspicion(
        self,
        done: int,
        ranks: tuple[int, ...],
        why: str,
        kind: Kind,
        severity: Severity = "stop",
    ) -> Suspicion:
        """What this monitor found after `done` steps."""
        return Suspicion(self.name, done, self._proved_step, ranks, why, kind, severity)

    def stop(self, done: int, ranks: tuple[int, ...], why: str, kind: Kind) -> NoReturn:
        """Raises SuspectError with what was found."""
        raise SuspectError(self.suspicion(done, ranks, why, kind))

    @contextmanager
    def _timed(self) -> Iterator[None]:
        begin = time.monotonic()
        try:
            yield
        finally:
            self._spent_s += time.monotonic() - begin

    def _write_down(self, done: int) -> None:
        self._log.write(
            "monitor",
            monitor=self.name,
            step=done,
            s=self._spent_s,
            waited_s=self._waited_s,
            bytes=self.bytes_read,
        )
        self._spent_s, self._waited_s, self.bytes_read = 0.0, 0.0, 0
