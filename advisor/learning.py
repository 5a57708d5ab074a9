"""Does training learn faster after a fault? Loss after F1 against runs without a fault. Pure.

The paper's comparison (section VI-C and Fig. 2): from the instant of the fault, over one window
that all runs cover, how far the smoothed loss went down; runs with the fault against matched ones
without. More samples a second is no evidence of learning.
"""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from db.pooling import Mean, mean_of

SMOOTHED_STEPS = 20
"""Steps of the moving average (paper, Fig. 2)."""


@dataclass(frozen=True, slots=True)
class LossCurve:
    """One run: the mean loss of each step and when it ended, in seconds since training began."""

    run_id: str
    t_s: tuple[float, ...]
    loss: tuple[float, ...]
    fault_s: float | None
    """When the first fault struck; None: no fault."""


@dataclass(frozen=True, slots=True)
class Learning:
    """How far the loss went down over `window_s` seconds from the fault, mean over the runs.

    `p_value` is Welch's, two-sided; None with fewer than two runs on a side.
    """

    from_s: float
    window_s: float
    with_fault: Mean
    without_fault: Mean
    p_value: float | None

    @property
    def differs(self) -> bool:
        """Whether the two can be told apart at 5 %."""
        return self.p_value is not None and self.p_value < 0.05


def curve(record: Mapping[str, Any]) -> LossCurve:
    """The loss curve of a run record."""
    began_s = record["training_started_s"] or 0.0
    series = record["series"]
    pairs = [
        (t_s - began_s, loss)
        for t_s, loss in zip(series["t_s"], series["loss"], strict=True)
        if loss is not None
    ]
    fired = [fault["at_s"] - began_s for fault in record["faults"] if fault["fired"]]
    return LossCurve(
        record["run_id"],
        tuple(t_s for t_s, _ in pairs),
        tuple(loss for _, loss in pairs),
        min(fired, default=None),
    )


def compare(curves: Sequence[LossCurve]) -> Learning | None:
    """Runs with a fault against runs without; None where one side is missing, or too short.

    A run without a fault is taken from the mean instant of the others' faults.
    """
    struck = [c for c in curves if c.fault_s is not None and len(c.t_s) > SMOOTHED_STEPS]
    calm = [c for c in curves if c.fault_s is None and len(c.t_s) > SMOOTHED_STEPS]
    if not struck or not calm:
        return None
    mean_fault_s = sum(c.fault_s or 0.0 for c in struck) / len(struck)
    begins = [(c, c.fault_s if c.fault_s is not None else mean_fault_s) for c in struck + calm]
    window_s = min(c.t_s[-1] - begin_s for c, begin_s in begins)
    if window_s <= 0.0:
        return None
    gains = [_reduction(c, begin_s, window_s) for c, begin_s in begins]
    with_fault, without = gains[: len(struck)], gains[len(struck) :]
    first, second = mean_of(with_fault), mean_of(without)
    assert first is not None
    assert second is not None
    return Learning(mean_fault_s, window_s, first, second, _welch(with_fault, without))


def _reduction(found: LossCurve, begin_s: float, window_s: float) -> float:
    """How far the smoothed loss went down between two instants."""
    smoothed = _smoothed(found.loss)
    return _at(found, smoothed, begin_s) - _at(found, smoothed, begin_s + window_s)


def _smoothed(loss: Sequence[float]) -> list[float]:
    """The mean of each value and the SMOOTHED_STEPS - 1 before it, as far as there are any."""
    sums = [0.0, *accumulate(loss)]
    return [
        (sums[i + 1] - sums[max(0, i + 1 - SMOOTHED_STEPS)]) / min(i + 1, SMOOTHED_STEPS)
        for i in range(len(loss))
    ]


def _at(found: LossCurve, smoothed: Sequence[float], instant_s: float) -> float:
    """The smoothed loss of the last step that had ended by then (of the first, before it)."""
    return smoothed[max(0, bisect_right(found.t_s, instant_s) - 1)]


def _welch(first: Sequence[float], second: Sequence[float]) -> float | None:
    if len(first) < 2 or len(second) < 2:
        return None
    if len({*first}) == 1 and len({*second}) == 1:
        return 1.0 if first[0] == second[0] else 0.0
    from scipy.stats import ttest_ind  # slow to import, and seldom needed

    return float(ttest_ind(first, second, equal_var=False).pvalue)
