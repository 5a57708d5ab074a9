"""`values`: whether the numbers of a training can be true.

Every step: the loss is finite, and not far above those before (losses.py). Every N steps: all
parameters and gradients are finite, and within ranges learned from this run (ranges.py). It needs
no peer, and cannot tell where a wrong number came from: gradients are everybody's as soon as they
are averaged.
"""

import math
from collections.abc import Mapping

import torch
from torch import Tensor

from measure.monitors.losses import Spikes
from measure.monitors.periodic import PeriodicMonitor
from measure.monitors.ranges import LearnedRange
from measure.state.names import named_parameters
from measure.state.tensor_bytes import size_bytes

PARAMETER_FACTOR, GRADIENT_FACTOR = 10.0, 100.0
"""How far above its largest magnitude so far a tensor may be. Between two checks parameters move
by a few percent, gradients by an order of magnitude; the upper bits of a float's exponent are
worth 2^4 and more."""


class ValuesMonitor(PeriodicMonitor):
    """Sees what turns numbers into infinity, NaN or something far out of range."""

    name = "values"

    def begin(self) -> None:
        """See PeriodicMonitor."""
        self._spikes = Spikes()
        self._ranges = {
            "parameter": LearnedRange(PARAMETER_FACTOR),
            "gradient": LearnedRange(GRADIENT_FACTOR),
        }

    def look_after(self, step: int, seconds: float, loss: float | None) -> None:
        """The loss of this step, where this rank scores."""
        if loss is None:
            return
        if not math.isfinite(loss):
            self.stop(step + 1, (), f"the loss on rank {self.rank} is {loss}", "not-finite")
        score = self._spikes.take(loss)
        if score is not None:
            why = f"the loss on rank {self.rank} is {loss:.4g}, {score:.1f} deviations too high"
            self.stop(step + 1, (), why, "loss-spike")

    def check(self, done: int) -> None:
        """Every tensor of this rank."""
        named = named_parameters(self.architecture.state().model)
        self._check(done, "parameter", named)
        self._check(done, "gradient", {n: p.grad for n, p in named.items() if p.grad is not None})
        self.proved(done)

    def _check(self, done: int, what: str, tensors: Mapping[str, Tensor]) -> None:
        self.bytes_read += sum(size_bytes(tensor) for tensor in tensors.values())
        found = magnitudes(tensors)
        wrong = self._ranges[what].take(found)
        if wrong is None:
            return
        name, limit = wrong
        whose = f"{what} {name} of rank {self.rank}"
        if math.isfinite(found[name]):
            why = f"{whose} reaches {found[name]:.3g}, above {limit:.3g}"
            self.stop(done, (), why, "corruption")
        self.stop(done, (), f"{whose} is not finite", "not-finite")


def magnitudes(tensors: Mapping[str, Tensor]) -> dict[str, float]:
    """The largest magnitude in each tensor that is not empty, by name; infinity or NaN where it
    holds one. One transfer from a device, however many there are."""
    some = {name: tensor.detach() for name, tensor in tensors.items() if tensor.numel()}
    if not some:
        return {}
    found = [torch.linalg.vector_norm(tensor, math.inf).float() for tensor in some.values()]
    return dict(zip(some, torch.stack(found).tolist(), strict=True))
