"""Hiccups that are no failures: how often one outlasts the detection timeout. Pure.

A rank that is silent for longer than the timeout is taken for lost; if it was only slow (a storage
that hangs, a long garbage collection, a busy switch), that is a false alarm, and costs a recovery.
"""

from dataclasses import dataclass
from math import isfinite
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from advisor.durations_file import parse_lines
from advisor.errors import UserError
from advisor.units import format_duration, parse_duration_s

Seconds = NDArray[np.float64]


class Hiccups(Protocol):
    """How often a healthy job is silent for longer than a timeout."""

    def rate_above_per_s(self, timeout_s: Seconds) -> Seconds: ...

    def in_words(self) -> str: ...


@dataclass(frozen=True, slots=True)
class ExponentialHiccups:
    """One every `every_s` in the mean, of `mean_s` in the mean, exponential."""

    every_s: float
    mean_s: float

    def __post_init__(self) -> None:
        if not (0.0 < self.every_s < np.inf and 0.0 < self.mean_s < np.inf):
            raise UserError("hiccups need a mean time between them and a mean length above 0")

    def rate_above_per_s(self, timeout_s: Seconds) -> Seconds:
        rates: Seconds = np.exp(-timeout_s / self.mean_s) / self.every_s
        return rates

    def in_words(self) -> str:
        return (
            f"a hiccup every {format_duration(self.every_s)}, {format_duration(self.mean_s)} long "
            "in the mean, exponential"
        )


@dataclass(frozen=True, slots=True)
class ObservedHiccups:
    """Hiccups that were seen in `over_s` of training. Raises UserError for what cannot be.

    One more than was seen is counted above every timeout: that the next one is longer than all
    so far is as likely as any other rank of it.
    """

    observed_s: tuple[float, ...]
    over_s: float

    def __post_init__(self) -> None:
        if not all(isfinite(each) and each > 0.0 for each in self.observed_s):
            raise UserError("observed hiccups have to be above 0")
        if not (isfinite(self.over_s) and self.over_s > 0.0):
            raise UserError("the time over which hiccups were observed has to be above 0")

    def rate_above_per_s(self, timeout_s: Seconds) -> Seconds:
        ordered = np.sort(np.asarray(self.observed_s, dtype=np.float64))
        longer = len(ordered) - np.searchsorted(ordered, timeout_s, side="right")
        return np.asarray((longer + 1.0) / self.over_s, dtype=np.float64)

    def in_words(self) -> str:
        seen = f"{len(self.observed_s):,} hiccups seen in {format_duration(self.over_s)}"
        return f"{seen}, and one more above every timeout"


def parse_hiccups(text: str) -> tuple[float, ...]:
    """Seconds, from one duration a line; a hiccup of no length is no hiccup. Raises UserError with
    the line."""
    return tuple(each for each in parse_lines(text, parse_duration_s) if each > 0.0)
