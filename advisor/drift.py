"""How much a machine became slower or faster during a campaign, from its baselines. Pure.

Step times of runs without a mechanism, each as a fraction of the mean of its like, against the
hours since the first: the slope of the least-squares line with its 95 % interval (Student's t). The
likes have each their own level, so that a group which ran late does not pass for a drift.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import sqrt
from statistics import fmean
from typing import Any

from db.campaign_queries import BaselineStep
from db.pooling import t_quantile_95


@dataclass(frozen=True, slots=True)
class Drift:
    """Change of the step time per hour, as a fraction of itself; positive where it grew.

    `half_width` is half the 95 % interval; `n` baselines over `hours`.
    """

    fraction_per_hour: float
    half_width: float
    n: int
    hours: float

    @property
    def is_seen(self) -> bool:
        """Whether the interval leaves zero out."""
        return abs(self.fraction_per_hour) > self.half_width

    def as_json(self) -> dict[str, Any]:
        """The drift as `advisor campaigns show --format json` has it."""
        return {
            "fraction_per_hour": self.fraction_per_hour,
            "ci95_half_width": self.half_width,
            "n": self.n,
            "hours": self.hours,
            "is_seen": self.is_seen,
        }


def drift_of(steps: Sequence[BaselineStep]) -> Drift | None:
    """None where there are too few baselines to tell: three of a kind, at two moments, are."""
    points = [pair for group in _groups(steps).values() for pair in _centred(group)]
    groups = len(_groups(steps))
    freedom = len(points) - groups - 1
    spread = sum(hours**2 for hours, _ in points)
    if freedom < 1 or spread <= 0.0:
        return None
    slope = sum(hours * share for hours, share in points) / spread
    rest = sum((share - slope * hours) ** 2 for hours, share in points)
    half_width = t_quantile_95(freedom) * sqrt(rest / freedom / spread)
    moments = [_hours(step) for step in steps]
    return Drift(slope, half_width, len(points), max(moments) - min(moments))


def _groups(steps: Sequence[BaselineStep]) -> Mapping[tuple[str, ...], list[BaselineStep]]:
    found: dict[tuple[str, ...], list[BaselineStep]] = {}
    for step in steps:
        found.setdefault(step.group, []).append(step)
    return {group: several for group, several in found.items() if len(several) > 1}


def _centred(steps: Sequence[BaselineStep]) -> list[tuple[float, float]]:
    """(Hours, step time as a fraction) of each, both less the mean of the group."""
    hours = [_hours(step) for step in steps]
    mean_hours, mean_s = fmean(hours), fmean(step.step_s for step in steps)
    return [
        (hour - mean_hours, step.step_s / mean_s - 1.0)
        for hour, step in zip(hours, steps, strict=True)
    ]


def _hours(step: BaselineStep) -> float:
    return datetime.fromisoformat(step.started_at).timestamp() / 3600.0
