"""Chooses the checkpoint interval, and among candidates the one that Eq. (5) says finishes first.

Everything here broadcasts: the same code answers one scenario and a sweep of a million.

A periodic candidate's overhead is O(I) = stall / (I t_step): a save costs the same wherever it
falls. Eq. (5) is then convex in I (checkpoint_interval.py), so the best whole number of steps is
one of the two beside the real optimum, after clipping to what the limits allow.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from advisor.checkpoint_interval import equation_5_interval_s
from advisor.completion_time import Real, expected_completion_s

_CHUNK = 16_384
"""Scenarios worked on at once in a sweep: the temporaries then stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class CostModel:
    """What Eq. (5) needs to know of one candidate. Times in seconds.

    `interval_steps` None means free; for a candidate that does not save at intervals
    (`is_periodic` False) `overhead` and `lost_steps` hold instead.
    """

    is_periodic: bool
    restore_s: float
    stall_s: float = 0.0
    interval_steps: int | None = None
    min_interval_steps: int = 1
    overhead: float = 0.0
    lost_steps: float = 0.0


@dataclass(frozen=True, slots=True)
class CostArrays:
    """A cost model whose costs are arrays, one number a draw; the fields are CostModel's."""

    is_periodic: bool
    restore_s: Real
    stall_s: Real = 0.0
    interval_steps: int | None = None
    min_interval_steps: int = 1
    overhead: Real = 0.0
    lost_steps: Real = 0.0


Costs: TypeAlias = CostModel | CostArrays


@dataclass(frozen=True, slots=True)
class Conditions:
    """The scenario as Eq. (5) sees it; every field a number or an array, broadcast together."""

    duration_s: Real
    mtbf_s: Real
    step_time_s: Real
    detection_s: Real
    regroup_s: Real
    init_s: Real = 0.0
    max_overhead: Real = np.inf


@dataclass(frozen=True, slots=True)
class Evaluation:
    """One candidate under given conditions. Infeasible where `expected_s` is inf.

    `interval_steps` is 0 where the candidate has no interval.
    """

    interval_steps: NDArray[np.int64]
    overhead: NDArray[np.float64]
    lost_s: NDArray[np.float64]
    expected_s: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Sweep:
    """The best candidate for each scenario: its index (-1 where none), interval and time (s)."""

    best: NDArray[np.int64]
    interval_steps: NDArray[np.int64]
    expected_s: NDArray[np.float64]


def evaluate(model: Costs, conditions: Conditions) -> Evaluation:
    """Eq. (5) for one candidate, at the interval that minimises it if that is free."""
    if not model.is_periodic:
        return _evaluate_at(model, conditions, None)
    if model.interval_steps is not None:
        return _evaluate_at(model, conditions, np.asarray(float(model.interval_steps)))
    return _evaluate_at(model, conditions, best_interval_steps(model, conditions))


def best_interval_steps(model: Costs, conditions: Conditions) -> NDArray[np.float64]:
    """The whole number of steps that minimises Eq. (5) within the overhead limit.

    Whole numbers as floats. Where no interval keeps the limit, the longest possible one; where the
    job is shorter than the model's shortest interval, infinity.
    """
    step_s = conditions.step_time_s
    fixed_s = _fixed_per_failure_s(model, conditions)
    low, high = interval_bounds(model, conditions)
    ideal = equation_5_interval_s(model.stall_s, conditions.mtbf_s, fixed_s) / step_s
    below = np.clip(np.floor(ideal), low, high)
    above = np.minimum(below + 1.0, high)
    slope = _expected_over_interval(model, conditions, fixed_s, above) < _expected_over_interval(
        model, conditions, fixed_s, below
    )
    return np.where(model.min_interval_steps > high, np.inf, np.where(slope, above, below))


def interval_bounds(
    model: Costs, conditions: Conditions
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Shortest and longest interval in steps: overhead limit, the model's own bound, the job.

    Where the shortest is longer than the longest, no interval is possible.
    """
    step_s = np.asarray(conditions.step_time_s)
    high = np.maximum(np.floor(conditions.duration_s / step_s), 1.0)
    low = np.maximum(shortest_within(model.stall_s, step_s, conditions.max_overhead), 1.0)
    return np.maximum(low, float(model.min_interval_steps)), high


def shortest_within(
    stall_s: Real, step_s: NDArray[np.float64], max_overhead: Real
) -> NDArray[np.float64]:
    """The least whole I with stall / (I step) <= max_overhead, as that expression rounds."""
    if not np.any(stall_s):
        return np.ones_like(step_s)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        # fmax: where nothing stalls, a limit of 0 gives 0 / 0, and one step keeps it.
        estimate = np.fmax(np.ceil(stall_s / (max_overhead * step_s)), 1.0)
    # The quotient's rounding can put the estimate one off either way: the limit itself decides.
    shorter = np.maximum(estimate - 1.0, 1.0)
    return np.where(
        stall_s / (shorter * step_s) <= max_overhead,
        shorter,
        np.where(stall_s / (estimate * step_s) <= max_overhead, estimate, estimate + 1.0),
    )


def sweep(models: Sequence[CostModel], conditions: Conditions) -> Sweep:
    """The best of `models` for every scenario in `conditions` (1-D after broadcasting).

    O(scenarios x models) time, O(scenarios) memory. Ties go to the earlier model.
    """
    columns = _columns(conditions)
    size = max((np.size(column) for column in columns.values()), default=1)
    best = np.full(size, -1, dtype=np.int64)
    interval = np.zeros(size, dtype=np.int64)
    expected = np.full(size, np.inf)
    for start in range(0, size, _CHUNK):
        part = slice(start, min(start + _CHUNK, size))
        _sweep_chunk(models, _rows(columns, part), best[part], interval[part], expected[part])
    return Sweep(best, interval, expected)


def _sweep_chunk(
    models: Sequence[CostModel],
    conditions: Conditions,
    best: NDArray[np.int64],
    interval: NDArray[np.int64],
    expected: NDArray[np.float64],
) -> None:
    for index, model in enumerate(models):
        evaluated = evaluate(model, conditions)
        wins = np.broadcast_to(evaluated.expected_s < expected, expected.shape)
        np.copyto(expected, evaluated.expected_s, where=wins)
        np.copyto(interval, evaluated.interval_steps, where=wins)
        best[wins] = index


def _columns(conditions: Conditions) -> dict[str, NDArray[np.float64]]:
    return {
        field.name: np.asarray(getattr(conditions, field.name), dtype=np.float64)
        for field in fields(conditions)
    }


def _rows(columns: dict[str, NDArray[np.float64]], part: slice) -> Conditions:
    return Conditions(
        **{name: column[part] if column.ndim else column for name, column in columns.items()}
    )


def _fixed_per_failure_s(model: Costs, conditions: Conditions) -> Real:
    return conditions.detection_s + conditions.regroup_s + conditions.init_s + model.restore_s


def _expected_over_interval(
    model: Costs, conditions: Conditions, fixed_s: Real, steps: NDArray[np.float64]
) -> Real:
    """Eq. (5) as a function of the interval, without the factor T0."""
    length_s = steps * conditions.step_time_s
    return (1.0 + model.stall_s / length_s) * (1.0 + (fixed_s + 0.5 * length_s) / conditions.mtbf_s)


def _evaluate_at(
    model: Costs, conditions: Conditions, steps: NDArray[np.float64] | None
) -> Evaluation:
    if steps is None:
        overhead = np.asarray(model.overhead)
        lost_s = np.asarray(model.lost_steps * conditions.step_time_s)
        whole = np.zeros((), dtype=np.int64)
    else:
        length_s = steps * conditions.step_time_s
        overhead = np.asarray(model.stall_s / length_s)
        lost_s = np.asarray(0.5 * length_s)
        whole = np.where(np.isfinite(steps), steps, 0.0).astype(np.int64)
    expected_s = expected_completion_s(
        duration_s=conditions.duration_s,
        overhead=overhead,
        mtbf_s=conditions.mtbf_s,
        per_failure_s=_fixed_per_failure_s(model, conditions) + lost_s,
    )
    feasible = (overhead <= conditions.max_overhead) & np.isfinite(expected_s)
    return Evaluation(whole, overhead, lost_s, np.where(feasible, expected_s, np.inf))
