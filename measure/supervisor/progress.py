"""Whether recoveries lead anywhere. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from measure.rank.heartbeat import Beat


@dataclass
class Progress:
    """How far training has come, as recoveries see it one after the other."""

    reached: int = -1
    without: int = 0
    """So many recoveries in a row found nobody further than the one before."""

    def note(self, beats: Sequence[Beat], counts: bool) -> int:
        """A recovery begins; it `counts` unless nobody was lost and nothing is suspected. Returns
        `without`."""
        reached = max(beat.steps for beat in beats)
        if reached > self.reached:
            self.without = 0
        elif counts:
            self.without += 1
        self.reached = max(self.reached, reached)
        return self.without
