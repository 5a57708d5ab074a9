"""Which monitor notices what, and how late. Pure; arrays broadcast.

A monitor misses a share of a class's failures for good, and notices every other one at its first
check after the onset. Of several monitors that see a failure, the one that checks most often is
the first: every check of a rarer one falls together with one of its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from advisor.completion_time import Real
from advisor.failure_classes.catalogue import FailureClass
from advisor.failure_classes.stated import ClassRate, Monitor


def first_noticed(kind: FailureClass, monitors: Sequence[Monitor]) -> tuple[float, ...]:
    """Share of a class's failures that each of `monitors` (by rising interval) is the first to
    notice; what is left of 1 is noticed by none."""
    shares, left = [], 1.0
    for monitor in monitors:
        missed = monitor.miss.get(kind, 1.0)
        shares.append(left * (1.0 - missed))
        left *= missed
    return tuple(shares)


def missed_share(kind: FailureClass, monitors: Sequence[Monitor]) -> float:
    """Share of a class's failures that none of the monitors ever notices."""
    left = 1.0
    for monitor in monitors:
        left *= monitor.miss.get(kind, 1.0)
    return left


def wrong_probability(
    classes: Sequence[ClassRate], monitors: Sequence[Monitor], work_s: Real
) -> Real:
    """That the result was trained from a state that went wrong unnoticed.

    Only work that is part of the result counts, `work_s` of it: what was done again took its wrong
    states with it.
    """
    rate = sum(each.rate_per_s * missed_share(each.kind, monitors) for each in classes)
    return 0.0 - np.expm1(-rate * np.asarray(work_s, dtype=np.float64))


@dataclass(frozen=True, slots=True)
class Slowed:
    """What stragglers do to a job: the pace of its work, and how often one is replaced.

    pace = (1 + r D) / (1 + r D / f)   r their rate, f the factor, D how long one lasts in the mean:
    in a healthy time 1 / r and a slow one D, work of 1 / r + D / f is done.
    """

    pace: Real
    replaced_per_s: Real
    noticed: Real
    """Share of the stragglers that is noticed before it goes away by itself."""
    lasting_s: Real


def slowed(straggler: ClassRate | None, monitor: Monitor | None, every_s: Real) -> Slowed:
    """By stragglers of this class under this monitor, which checks after `every_s` of healthy work.

    A straggler comes at any moment between two checks, and slow steps put the next one off: it is
    noticed after U(0, f y) + cost + delay, unless its own length, exponential, is over.
    """
    every_s = np.asarray(every_s, dtype=np.float64)
    if straggler is None or straggler.factor is None or straggler.length_s is None:
        nothing = np.zeros_like(every_s)
        return Slowed(nothing + 1.0, nothing, nothing, nothing)
    length_s, factor = straggler.length_s, straggler.factor
    if monitor is None:
        noticed, lasting_s = np.zeros_like(every_s), np.full_like(every_s, length_s)
    else:
        sees = 1.0 - monitor.miss[straggler.kind]
        window = factor * every_s / length_s
        fixed = np.exp(-(monitor.cost_s + monitor.delay_s) / length_s)
        # E[e^(-D / l)] and E[min(D, l)] of a delay D and an exponential length l.
        in_time = fixed * -np.expm1(-window) / window
        noticed = sees * in_time
        lasting_s = length_s * (1.0 - noticed)
    rate = straggler.rate_per_s
    healthy = 1.0 + rate * lasting_s
    pace = healthy / (1.0 + rate * lasting_s / factor)
    return Slowed(pace, rate * noticed / healthy, noticed, lasting_s)
