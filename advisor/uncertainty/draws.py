"""Draws of what the measured numbers may truly be, and every candidate's time in each draw.

Each number gets its draws from the seed and its own name, so that they are the same for every
candidate and in every question (common random numbers), whatever else is drawn. The draws of one
number are a Latin hypercube sample (McKay, Beckman and Conover 1979): one from each of as many
equally probable parts of its distribution, in random order. `_TAIL` of the probability is left out
at either end, so that expectations exist with one degree of freedom too. Costs and times that a
draw puts below 0 are 0.
"""

from collections.abc import Sequence
from dataclasses import replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from advisor.optimizer import Conditions, CostArrays, evaluate
from advisor.uncertainty.propagation import COSTS, SHARED, LinearCosts, UncertainValue

DRAWS = 4_096
SEED = 0
_TAIL = 5e-4
_SHORTEST_STEP = 1e-3
"""Of the step time: no draw makes a step shorter than this share of what was measured."""


def deviations(
    values: Sequence[UncertainValue], seed: int = SEED, draws: int = DRAWS
) -> NDArray[np.float64]:
    """[value, draw]: what is added to each value, in its unit."""
    found = np.empty((len(values), draws))
    for row, value in enumerate(values):
        name = crc32(f"{value.key[0]}|{value.key[1].value}".encode())
        rng = np.random.default_rng([seed, name])
        share = (rng.permutation(draws) + rng.random(draws)) / draws
        share = _TAIL + (1.0 - 2.0 * _TAIL) * share
        spread = value.spread
        normal = np.isinf(spread.degrees)
        found[row] = spread.standard_error * (
            ndtri(share) if normal else stdtrit(spread.degrees, share)
        )
    return found


def completion_times_s(
    costs: LinearCosts, off: NDArray[np.float64], *, reoptimised: bool = False
) -> NDArray[np.float64]:
    """[candidate, draw]: Eq. (5) (s) where the values are off by `off` ([value, draw]).

    At the recommended intervals, or at each draw's own best one. Limits are not applied again: they
    decided who is a candidate.
    """
    conditions = _drawn_conditions(costs, off)
    times = np.empty((len(costs.models), off.shape[1]))
    for index, model in enumerate(costs.models):
        change = costs.slopes[:, index, :].T @ off
        drawn = {
            name: np.maximum(getattr(model, name) + change[at], 0.0)
            for at, name in enumerate(COSTS)
        }
        free = reoptimised and costs.is_free[index]
        arrays = CostArrays(
            is_periodic=model.is_periodic,
            interval_steps=None if free else model.interval_steps,
            min_interval_steps=model.min_interval_steps,
            **drawn,
        )
        times[index] = evaluate(arrays, conditions).expected_s
    return times


def _drawn_conditions(costs: LinearCosts, off: NDArray[np.float64]) -> Conditions:
    change = costs.shared_slopes.T @ off
    least = dict.fromkeys(SHARED, 0.0) | {
        "step_time_s": _SHORTEST_STEP * float(np.min(costs.conditions.step_time_s))
    }
    return replace(
        costs.conditions,
        **{
            name: np.maximum(getattr(costs.conditions, name) + change[at], least[name])
            for at, name in enumerate(SHARED)
        },
    )
