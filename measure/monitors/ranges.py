"""Whether numbers are within a range that is learned from those before them. Pure; stdlib only."""

import math
import statistics
from collections.abc import Mapping


class LearnedRange:
    """The largest magnitude of each of several tensors, check by check.

    A tensor may exceed its own largest so far `factor` times, or the usual one of all tensors,
    whichever is larger: one that begins at zero grows without any fault.
    """

    def __init__(self, factor: float) -> None:
        self._factor = factor
        self._largest: dict[str, float] = {}

    def take(self, magnitudes: Mapping[str, float]) -> tuple[str, float] | None:
        """Takes a check's magnitudes by the tensors' names: (the first that is not finite or out
        of range, what it may be at most); None, and the range has learned them.

        The first check is held against nothing but finiteness.
        """
        usual = statistics.median(self._largest.values()) if self._largest else math.inf
        for name, found in magnitudes.items():
            limit = self._factor * max(self._largest.get(name, 0.0), usual)
            if not math.isfinite(found) or found > limit:
                return name, limit
        for name, found in magnitudes.items():
            self._largest[name] = max(found, self._largest.get(name, 0.0))
        return None
