"""All monitors of one rank, called together."""

from collections.abc import Callable, Sequence

import torch.distributed as dist

from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Log
from measure.interfaces.monitor import Monitor, Suspicion
from measure.state.errors import PeerFailedError


class Watch:
    """The monitors of a job, in the order of the catalogue; none: nothing is looked at.

    After a step they look in the opposite order, so that the first one frames what the others do:
    the time that stragglers are told by has no digest in it, and a digest that is to be the same
    before the next step is taken last.
    """

    def __init__(
        self,
        monitors: Sequence[Monitor] = (),
        report: Callable[[Suspicion], None] = lambda suspicion: None,
    ) -> None:
        self._monitors = tuple(monitors)
        self._attached: list[Monitor] = []
        self._goes_on_alone = False
        for monitor in self._monitors:
            monitor.report = report

    def attach(
        self,
        architecture: Architecture,
        store: dist.Store,
        generation: int,
        timeout_s: float,
        log: Log,
        goes_on_alone: bool = False,
    ) -> None:
        """See Monitor. Where the architecture `goes_on_alone`, a peer may be lost and nobody stops
        for it: a monitor that waits in vain for one ends, for this generation, and says so."""
        self._goes_on_alone, self._log = goes_on_alone, log
        for monitor in self._monitors:
            monitor.attach(architecture, store, generation, timeout_s, log)
            self._attached.append(monitor)

    def before_step(self, step: int, own_s: float) -> None:
        """See Monitor."""
        for monitor in tuple(self._attached):
            self._call(monitor, lambda each: each.before_step(step, own_s))

    def after_step(self, step: int, seconds: float, loss: float | None) -> None:
        """See Monitor."""
        for monitor in tuple(reversed(self._attached)):
            self._call(monitor, lambda each: each.after_step(step, seconds, loss))

    def detach(self) -> None:
        """See Monitor; may be called again."""
        while self._attached:
            self._attached.pop().detach()

    def _call(self, monitor: Monitor, call: Callable[[Monitor], None]) -> None:
        try:
            call(monitor)
        except PeerFailedError as error:
            if not self._goes_on_alone:
                raise
            self._attached.remove(monitor)
            monitor.detach()
            self._log.write("monitor-ended", monitor=monitor.name, why=str(error)[:300])
