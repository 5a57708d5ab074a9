"""Every candidate's time in each draw of what the measured numbers may truly be."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from advisor.optimizer import CostArrays, evaluate
from advisor.uncertainty.propagation import COSTS, SHARED, TabledCosts


def completion_times_s(
    costs: TabledCosts,
    off: NDArray[np.float64],
    *,
    anew: bool = False,
    reoptimised: bool = False,
) -> NDArray[np.float64]:
    """[candidate, draw]: Eq. (5) (s) where the values are off by `off` standard errors
    ([value, draw]).

    With costs that are predicted anew in each draw, or by the tables, which is many times as fast.
    At the recommended intervals, or at each draw's own best one. Limits are not applied again: they
    decided who is a candidate.
    """
    columns = costs.predicted(off) if anew else costs.tabled(off)
    shared = dict(zip(SHARED, columns[-len(SHARED) :], strict=True))
    conditions = replace(costs.conditions, **shared)
    times = np.empty((len(costs.models), off.shape[1]))
    for index, model in enumerate(costs.models):
        own = columns[index * len(COSTS) : (index + 1) * len(COSTS)]
        free = reoptimised and costs.is_free[index]
        arrays = CostArrays(
            is_periodic=model.is_periodic,
            interval_steps=None if free else model.interval_steps,
            min_interval_steps=model.min_interval_steps,
            **dict(zip(COSTS, own, strict=True)),
        )
        times[index] = evaluate(arrays, conditions).expected_s
    return times
