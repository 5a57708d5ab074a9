"""`digest`: whether the state is still what training made of it.

What several ranks hold and each updates by itself is compared every N steps: a difference stays,
and the majority tells whose it is. What only one rank holds, or what is sent anew in every step so
that a difference would spread instead of staying, is digested as a step ends and again before the
next one: between the two nobody trains, and so nothing may change.

Ranks that are all lost to NaN are equal again. So a loss that is not finite is a finding too.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict

from torch import Tensor

from measure.monitors.comparison import Held, difference
from measure.monitors.fingerprints import of_generators, of_tensors, optimizer_tensors
from measure.monitors.periodic import PeriodicMonitor

PARAMETERS, OPTIMIZER = "parameters", "optimizer"


class DigestMonitor(PeriodicMonitor):
    """Sees what changes a parameter or the optimizer's state, on one rank of several that hold it
    within N steps, on others before the next step if it happens between two; at once everywhere
    what changes buffers, random number generators or the position in the data between two."""

    name = "digest"

    def begin(self) -> None:
        """See PeriodicMonitor."""
        self._left: dict[str, str] | None = None
        self._is_finite = True
        self._replication = self.architecture.replication()

    def look_before(self, step: int, own_s: float) -> None:
        """What this step begins with is what the one before ended with."""
        if self._left is None:
            return
        found, left = self._at_rest(), self._left
        changed = [part for part in found if found[part] != left[part]]
        if changed:
            why = f"{', '.join(changed)} of rank {self.rank} changed between two steps"
            self.stop(step, (self.rank,), why, "corruption")

    def look_after(self, step: int, seconds: float, loss: float | None) -> None:
        """Takes what is to be the same before the next step."""
        self._is_finite &= loss is None or math.isfinite(loss)
        self._left = self._at_rest()

    def check(self, done: int) -> None:
        """Compares with those who hold the same; that all ranks came to this point says, too, that
        none of them has found anything since the last time."""
        group = self._replication.ranks
        mine = {
            "copy": min(group),
            "digests": self._shared() if len(group) > 1 else {},
            "proved": self._proved_step,
            "finite": self._is_finite,
        }
        reports = self.all_reports(done, mine)
        # A process that came later knows less of what was proved before it.
        self._proved_step = max(report["proved"] for report in reports)
        held = [Held(n, found["copy"], found["digests"]) for n, found in enumerate(reports)]
        found = difference(held)
        if found is not None:
            self.stop(done, found.ranks, found.why, "divergence")
        if not all(report["finite"] for report in reports):
            why = "equal copies prove nothing: the loss is not finite"
            self.stop(done, (), why, "not-finite")
        self.proved(done)

    def _at_rest(self) -> dict[str, str]:
        """Digests of what nobody may change between two steps; with all that comparing would not
        show."""
        training = self.architecture.state()
        found = {
            "buffers": self._digest(training.model.buffers()),
            "generators": of_generators(self.architecture.context.device),
            "position": str(asdict(training.loader.position())),
        }
        return found if self._replication.independent else {**found, **self._shared()}

    def _shared(self) -> dict[str, str]:
        training = self.architecture.state()
        found = {PARAMETERS: self._digest(training.model.parameters())}
        if training.optimizer is not None:
            found[OPTIMIZER] = self._digest(optimizer_tensors(training.optimizer))
        return found

    def _digest(self, tensors: Iterable[Tensor]) -> str:
        digest, read = of_tensors(tensors)
        self.bytes_read += read
        return digest
