"""The cost of moving state as a function of its size: latency + bytes / bandwidth, fitted.

symbol  name here     unit  meaning
a       latency_s     s     cost that does not depend on the size, never negative
1/b     s_per_byte    s/B   inverse bandwidth, never negative
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.units import format_bytes, format_bytes_per_s, format_duration


@dataclass(frozen=True, slots=True)
class LinearTransfer:
    """A fitted transfer, and the sizes it was fitted over."""

    latency_s: float
    s_per_byte: float
    points: int
    min_bytes: float
    max_bytes: float

    def duration_s(self, size_bytes: float) -> float:
        return self.latency_s + self.s_per_byte * size_bytes

    def scale(self, size_bytes: float, from_bytes: float) -> float:
        """How many times as long the size takes as `from_bytes` does."""
        return self.duration_s(size_bytes) / self.duration_s(from_bytes)

    def in_words(self) -> str:
        parts = [format_duration(self.latency_s)] if self.latency_s else []
        if self.s_per_byte:
            parts.append(f"size / {format_bytes_per_s(1.0 / self.s_per_byte)}")
        fit = " + ".join(parts)
        if self.points == 1:
            return f"{fit}, from one measurement at {format_bytes(self.min_bytes)}"
        return (
            f"{fit}, fitted over {self.points} measurements "
            f"({format_bytes(self.min_bytes)} to {format_bytes(self.max_bytes)})"
        )


def fit_transfer(sizes_bytes: Sequence[float], durations_s: Sequence[float]) -> LinearTransfer:
    """Least squares on relative errors, so that the small sizes count as much as the large.

    One distinct size gives a transfer without latency. Raises ValueError without a measurement.
    """
    if not sizes_bytes or len(sizes_bytes) != len(durations_s):
        raise ValueError("a transfer is fitted over at least one (size, duration) pair")
    sizes, durations = np.asarray(sizes_bytes, float), np.asarray(durations_s, float)
    latency_s, s_per_byte = _weighted_fit(sizes, durations)
    return LinearTransfer(latency_s, s_per_byte, len(sizes), float(sizes.min()), float(sizes.max()))


def _weighted_fit(
    sizes: np.ndarray[tuple[int], np.dtype[np.float64]],
    durations: np.ndarray[tuple[int], np.dtype[np.float64]],
) -> tuple[float, float]:
    """(latency, s per byte) minimising sum ((a + s/b - t) / t)^2 with a >= 0 and 1/b >= 0."""
    per_size = sizes / durations
    proportional = float(per_size.sum() / (per_size**2).sum())
    if np.ptp(sizes) == 0.0:
        return 0.0, proportional
    design = np.stack([1.0 / durations, per_size], axis=1)
    latency_s, s_per_byte = np.linalg.lstsq(design, np.ones_like(durations), rcond=None)[0]
    if latency_s < 0.0:
        return 0.0, proportional
    if s_per_byte <= 0.0:
        # Durations that fall with size are noise: the flat fit is the closest allowed one.
        inverse = 1.0 / durations
        return float(inverse.sum() / (inverse**2).sum()), 0.0
    return float(latency_s), float(s_per_byte)
