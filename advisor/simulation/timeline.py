"""The job as it would go without failures: work and saves on one axis of time, and what is kept.

A position is the failure-free time until there. On it a tier's period is its interval with all
saves in it, its own last: S_1 = x_1 + C_1, S_j = n_j S_(j-1) + C_j with n_j = x_j / x_(j-1). A
position's newest state on tier j is the end of the last save of j or of a rarer tier before it.
"""

from math import floor, inf

import numpy as np

from advisor.simulation.process import Process
from advisor.simulation.times import Seconds

_NEARLY = 1.0 + 1e-12
"""Undoes the rounding of a position that is a whole number of periods."""


class Timeline:
    """The failure-free course of a process: `total_s` long, of which `work_s` is work.

    `periods_s` has each tier's period; 0 for one that keeps every moment.
    """

    def __init__(self, process: Process) -> None:
        stretch = 1.0 + process.overhead
        self.work_s = process.work_s * stretch
        self._tiers = process.tiers
        self.periods_s: list[float] = []
        self._each: list[float] = []
        saving_s = period_s = before_s = 0.0
        for tier in process.tiers:
            interval_s = tier.interval_s * stretch
            each = round(interval_s / before_s) if before_s else inf
            period_s = (each * period_s if before_s else interval_s) + tier.stall_s
            saves = floor(self.work_s / interval_s * _NEARLY) if interval_s else 0
            saving_s += saves * tier.stall_s
            self.periods_s.append(period_s)
            self._each.append(each)
            before_s = interval_s
        # How many of its periods fit into that of the next, rarer tier.
        self._each = [*self._each[1:], inf]
        self.total_s = self.work_s + saving_s

    def kept(self, position_s: Seconds, tier: int | None) -> Seconds:
        """The newest state on the tier, as a position; 0 where nothing survives (None)."""
        if tier is None:
            return np.zeros_like(position_s)
        if self.periods_s[tier] == 0.0:
            return position_s
        kept_s, rest_s = None, position_s
        for place in range(len(self.periods_s) - 1, tier - 1, -1):
            period_s, most = self.periods_s[place], self._each[place]
            whole = rest_s * (_NEARLY / period_s)
            np.floor(whole, out=whole)
            if most < inf:
                np.minimum(whole, most, out=whole)
            saved_s = whole * period_s
            kept_s = saved_s if kept_s is None else kept_s + saved_s
            if place > tier:
                # In the stall of the rarer tier everything that is more frequent is saved.
                # Rounding may put a position a little before the end of a save that it is at.
                rest_s = np.where(whole >= most, 0.0, np.maximum(rest_s - saved_s, 0.0))
        assert kept_s is not None
        return kept_s
