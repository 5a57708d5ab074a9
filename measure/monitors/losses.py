"""Whether a loss is far above those before it. Pure; stdlib only.

The score of a loss x against the losses w before it is

    z = (x - median(last RECENT of w)) / max(s, FLOOR |that median|)
    s = 1.4826 / sqrt(2) x median(|w[i + 1] - w[i]|)

The median of differences makes s the standard deviation of normal losses, and hardly anything of
the trend of a loss that falls is in it. Both medians stay where they are with up to half of the
losses gone wild. The floor keeps a training whose losses hardly move from calling a small step a
large one.
"""

import math
import statistics
from collections import deque
from collections.abc import Sequence
from itertools import pairwise

WINDOW = 50
"""Losses that say how much they scatter."""
RECENT = 11
"""Losses that say where a training stands."""
LEAST = 20
"""With fewer nobody is suspected."""
THRESHOLD = 8.0
"""A higher score is a spike."""
IN_A_ROW = 2
"""So many spikes one after the other are a suspicion: one can be a batch of odd samples, while a
state that is damaged stays so."""
FLOOR = 0.02
_NORMAL = 1.4826 / math.sqrt(2.0)


def robust_score(loss: float, window: Sequence[float]) -> float:
    """The score of a loss against two losses or more, in their order; all of them finite. It has
    no unit. Infinite where the window is all zeros and the loss is not."""
    middle = statistics.median(list(window)[-RECENT:])
    deviation = _NORMAL * statistics.median(abs(b - a) for a, b in pairwise(window))
    scale = max(deviation, FLOOR * abs(middle))
    if scale > 0.0:
        return (loss - middle) / scale
    return 0.0 if loss == middle else math.copysign(math.inf, loss - middle)


class Spikes:
    """The losses of one rank, step by step."""

    def __init__(self) -> None:
        self._window: deque[float] = deque(maxlen=WINDOW)
        self._in_a_row = 0

    def take(self, loss: float) -> float | None:
        """Takes the next loss, which is finite; returns its score if it completes a suspicion.

        What is a spike is not learned from.
        """
        score = robust_score(loss, self._window) if len(self._window) >= LEAST else 0.0
        if score <= THRESHOLD:
            self._in_a_row = 0
            self._window.append(loss)
            return None
        self._in_a_row += 1
        return score if self._in_a_row >= IN_A_ROW else None
