"""The choice with the least largest regret where the MTBF is only known to lie in a range.

symbol  name here     unit  meaning
M                     s     MTBF, anywhere in [A, B]
A, B    low_s, high_s s     ends of the range
T(c,M)                s     Eq. (5) of a choice c: a candidate at an interval
r(c,M)  regret        s     T(c, M) - min over all choices of T(., M)

The minimax choice has the least max over M of r (Savage 1951). At a fixed interval T is linear in
1/M; the least over choices of such lines is concave in it, and so r is convex in 1/M: its largest
value is at A or at B, and only these two are looked at. (As a fraction, T / min T - 1, it is
quasiconvex, and the same holds.) Over the interval, both r(., A) and r(., B) fall up to their own
best interval and rise after it, and so does the larger of the two; its least whole number of steps
is bisected between these two intervals.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.optimizer import Conditions, CostModel, best_interval_steps, evaluate
from advisor.recommendation import RegretChoice


@dataclass(frozen=True, slots=True)
class Choice:
    """A candidate: its cost model, with an interval of None where that is free."""

    mechanism: str
    model: CostModel


def minimax_choices(
    choices: Sequence[Choice], conditions: Conditions, low_s: float, high_s: float
) -> tuple[RegretChoice, ...]:
    """Every candidate at its interval with the least largest regret, the best candidate first.

    Ties stay in the order of `choices`. Candidates that keep the limits at no interval are left
    out.
    """
    ends = _ends(conditions, low_s, high_s)
    soonest_s = _soonest_s(choices, ends)
    found = [
        regret_at(choice, _minimax_model(choice.model, ends, soonest_s), ends, soonest_s)
        for choice in choices
        if np.all(np.isfinite(evaluate(choice.model, ends).expected_s))
    ]
    return tuple(sorted(found, key=lambda each: each.largest_regret_s))


def held_regret(
    choices: Sequence[Choice],
    held: Choice,
    conditions: Conditions,
    low_s: float,
    high_s: float,
) -> RegretChoice:
    """The regret of one choice at the interval that `held.model` names."""
    ends = _ends(conditions, low_s, high_s)
    return regret_at(held, held.model, ends, _soonest_s(choices, ends))


def regret_at(
    choice: Choice, model: CostModel, ends: Conditions, soonest_s: NDArray[np.float64]
) -> RegretChoice:
    """The regret of a model with its interval fixed, at both ends of the MTBF."""
    times_s = np.broadcast_to(evaluate(model, ends).expected_s, soonest_s.shape)
    regret_s = times_s - soonest_s
    return RegretChoice(
        mechanism=choice.mechanism,
        interval_steps=model.interval_steps if model.is_periodic else None,
        regret_low_s=float(regret_s[0]),
        regret_high_s=float(regret_s[1]),
        largest_regret_s=float(regret_s.max()),
        largest_regret_fraction=float((times_s / soonest_s - 1.0).max()),
    )


def _ends(conditions: Conditions, low_s: float, high_s: float) -> Conditions:
    return replace(conditions, mtbf_s=np.array([low_s, high_s]))


def _soonest_s(choices: Sequence[Choice], ends: Conditions) -> NDArray[np.float64]:
    """Of all choices, each at its best interval there: at A and at B (s)."""
    times = [np.broadcast_to(evaluate(c.model, ends).expected_s, (2,)) for c in choices]
    return np.asarray(np.min(times, axis=0), dtype=np.float64)


def _minimax_model(model: CostModel, ends: Conditions, soonest_s: NDArray[np.float64]) -> CostModel:
    """The model at the interval with the least largest regret, if that is free."""
    if not model.is_periodic or model.interval_steps is not None:
        return model

    def largest_s(steps: int) -> float:
        times_s = evaluate(replace(model, interval_steps=steps), ends).expected_s
        return float(np.max(times_s - soonest_s))

    own = np.broadcast_to(best_interval_steps(model, ends), (2,)).astype(np.int64)
    low, high = int(own.min()), int(own.max())
    while low < high:
        middle = (low + high) // 2
        if largest_s(middle + 1) < largest_s(middle):
            low = middle + 1
        else:
            high = middle
    return replace(model, interval_steps=low)
