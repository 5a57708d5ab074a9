"""Expected completion time in renewal form: failures strike recovery and saves too. Pure.

    E[segment] = (M + T_det) e^(R/M) (e^((x + C)/M) - 1)        x of work, then a save
    E[T_tot]   = E[segment] for each whole interval + E[segment] of the rest, without a save

symbol  name here      unit  meaning
x       interval_s     s     work between two saves
C       stall_s        s     what one save adds to the run
M       mtbf_s         s     mean time between failures of the whole job, exponential
T_det   detection_s    s     a failure while another is not yet detected is detected with it
R       recovery_s     s     T_restore + T_PG + T_init; begins anew once a failure in it is detected

Source: Bougeret et al., "Checkpointing strategies for parallel jobs" (SC 2011), where T_det is the
downtime; with T_det = 0 it is Daly's (2006). Derivation and limits: docs/completion_time.md.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from advisor.checkpoint_interval import exact_interval_s
from advisor.completion_time import Real
from advisor.optimizer import Conditions, CostModel, interval_bounds

SHOWN_DIFFERENCE = 0.01
"""Eq. (5) is flagged where the exact time differs from it by more than this share."""
FLAT_WASTE = 0.002
"""Waste (1 - T0 / E[T_tot]) by which intervals are told apart; a change that gains less is none."""
_WHOLE = 1e-12
"""Relative rounding within which a job is a whole number of intervals."""


@dataclass(frozen=True, slots=True)
class IntervalChoice:
    """How an interval compares with the best one, in whole steps within the limits.

    `gain_fraction` is the waste that the best one would save. From `flat_from_steps` to
    `flat_to_steps` the waste is less than `FLAT_WASTE` above the least.
    """

    best_steps: int
    gain_fraction: float
    flat_from_steps: int
    flat_to_steps: int

    @property
    def is_worth_a_change(self) -> bool:
        return self.gain_fraction >= FLAT_WASTE


def periodic_completion_s(
    *,
    duration_s: Real,
    interval_s: Real,
    stall_s: Real,
    mtbf_s: Real,
    detection_s: Real,
    recovery_s: Real,
) -> Real:
    """Expected time of `duration_s` of work with a save after each whole interval.

    The rest after the last whole interval ends the job without a save. Infinity where the expected
    time exceeds what a float holds.
    """
    whole = np.floor(np.asarray(duration_s) / interval_s * (1.0 + _WHOLE))
    rest_s = np.maximum(duration_s - whole * interval_s, 0.0)
    segment_s = _attempts_s(interval_s + stall_s, mtbf_s, detection_s, recovery_s)
    last_s = _attempts_s(rest_s, mtbf_s, detection_s, recovery_s)
    with np.errstate(invalid="ignore", over="ignore"):
        return np.where(whole > 0.0, whole * segment_s, 0.0) + last_s


def continuous_completion_s(
    *,
    duration_s: Real,
    overhead: Real,
    mtbf_s: Real,
    detection_s: Real,
    recovery_s: Real,
    lost_s: Real = 0.0,
) -> Real:
    """The same for a mechanism that always has a state at most `lost_s` of work old.

    The overhead lies evenly on all work. Doing the lost work again is part of each recovery.
    """
    with np.errstate(over="ignore"):
        return (
            duration_s
            * (1.0 + overhead)
            * (1.0 + detection_s / mtbf_s)
            * np.exp((recovery_s + lost_s) / np.asarray(mtbf_s))
        )


def exact_completion_s(model: CostModel, conditions: Conditions, interval_steps: Real) -> Real:
    """The exact time of one candidate; `interval_steps` counts only if the model is periodic."""
    common = {
        "duration_s": conditions.duration_s,
        "mtbf_s": conditions.mtbf_s,
        "detection_s": conditions.detection_s,
        "recovery_s": _recovery_s(model, conditions),
    }
    if model.is_periodic:
        interval_s = interval_steps * conditions.step_time_s
        return periodic_completion_s(interval_s=interval_s, stall_s=model.stall_s, **common)
    lost_s = model.lost_steps * conditions.step_time_s
    return continuous_completion_s(overhead=model.overhead, lost_s=lost_s, **common)


def waste(
    *, interval_s: Real, stall_s: Real, mtbf_s: Real, detection_s: Real, recovery_s: Real
) -> Real:
    """Share of the time that is not work, 1 - T0 / E[T_tot], in a job of many intervals."""
    return 1.0 - interval_s / _attempts_s(interval_s + stall_s, mtbf_s, detection_s, recovery_s)


def interval_choice(
    model: CostModel, conditions: Conditions, interval_steps: int
) -> IntervalChoice | None:
    """How `interval_steps` compares with the best interval; None where none is possible.

    For a periodic model and one scenario. The model's own `interval_steps` does not bind: this is
    about a change of it.
    """
    shortest, longest = (float(bound) for bound in interval_bounds(model, conditions))
    if shortest > longest:
        return None
    low, high = int(shortest), int(longest)

    def waste_at(steps: int) -> float:
        return float(
            waste(
                interval_s=steps * conditions.step_time_s,
                stall_s=model.stall_s,
                mtbf_s=conditions.mtbf_s,
                detection_s=conditions.detection_s,
                recovery_s=_recovery_s(model, conditions),
            )
        )

    ideal = float(exact_interval_s(model.stall_s, conditions.mtbf_s)) / float(
        conditions.step_time_s
    )
    below = min(max(int(ideal), low), high)
    best = min(below, min(below + 1, high), key=waste_at)
    least = waste_at(best)

    def is_flat(steps: int) -> bool:
        return waste_at(steps) - least < FLAT_WASTE

    # Waste falls up to the best and rises after it, so each end is found by halving.
    return IntervalChoice(
        best_steps=best,
        gain_fraction=max(waste_at(interval_steps) - least, 0.0),
        flat_from_steps=_furthest(best, low, is_flat),
        flat_to_steps=_furthest(best, high, is_flat),
    )


def _furthest(near: int, far: int, is_flat: Callable[[int], bool]) -> int:
    """The last flat number on the way from `near`, which is flat, to `far`."""
    if is_flat(far):
        return far
    while abs(far - near) > 1:
        middle = (near + far) // 2
        near, far = (middle, far) if is_flat(middle) else (near, middle)
    return near


def _recovery_s(model: CostModel, conditions: Conditions) -> Real:
    return model.restore_s + conditions.regroup_s + conditions.init_s


def _attempts_s(length_s: Real, mtbf_s: Real, detection_s: Real, recovery_s: Real) -> Real:
    """Expected time until `length_s` passes without a failure, with all recoveries between."""
    mtbf_s = np.asarray(mtbf_s)
    with np.errstate(over="ignore", invalid="ignore"):
        spent_s = (mtbf_s + detection_s) * np.exp(recovery_s / mtbf_s) * np.expm1(length_s / mtbf_s)
    return np.where(np.asarray(length_s) > 0.0, spent_s, 0.0)
