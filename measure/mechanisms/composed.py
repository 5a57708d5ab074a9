"""Several mechanisms as one: `ft4+ft2+ft1`. Each works as it would alone; a recovery takes the
newest state that all ranks can prove, of whichever tier."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace

from measure.faults.schedule import FaultEvent
from measure.interfaces.architecture import Architecture
from measure.interfaces.mechanism import Mechanism, Surroundings
from measure.interfaces.tier import Tier

SLOWER_TIER_RATIO = 5
"""Each part saves so many times less often than the one before it: what is kept for longer, and
costs more, is needed more rarely."""


class Composed(Mechanism):
    """Its parts, the preferred first. The interval is that of the first of those that are
    `periodic`."""

    def __init__(self, parts: Sequence[Mechanism], periodic: Sequence[bool]) -> None:
        self._parts, self._periodic = tuple(parts), tuple(periodic)

    def attach(self, architecture: Architecture, surroundings: Surroundings) -> None:
        """See Mechanism; the order is the same on all ranks, as every hook's is."""
        interval_steps = surroundings.interval_steps
        for part, periodic in zip(self._parts, self._periodic, strict=True):
            part.attach(architecture, replace(surroundings, interval_steps=interval_steps))
            if periodic:
                interval_steps *= SLOWER_TIER_RATIO

    def after_step(self, step: int) -> None:
        """See Mechanism."""
        for part in self._parts:
            part.after_step(step)

    def first_step_done(self, step: int) -> None:
        """See Mechanism."""
        for part in self._parts:
            part.first_step_done(step)

    def on_warning(self, event: FaultEvent, due_at: float) -> None:
        """See Mechanism."""
        for part in self._parts:
            part.on_warning(event, due_at)

    def tiers(self) -> Sequence[Tier]:
        """Those of all parts."""
        return tuple(tier for part in self._parts for tier in part.tiers())

    def detach(self) -> None:
        """See Mechanism."""
        with ExitStack() as all_of_them:  # whatever one of them raises
            for part in self._parts:
                all_of_them.callback(part.detach)
