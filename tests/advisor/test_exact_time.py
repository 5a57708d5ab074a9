"""The exact completion time: limits, order, and where intervals are called flat."""

from math import exp, expm1, inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.checkpoint_interval import daly_interval_s, exact_interval_s, young_interval_s
from advisor.completion_time import expected_completion_s
from advisor.exact_time import (
    FLAT_WASTE,
    continuous_completion_s,
    exact_completion_s,
    interval_choice,
    periodic_completion_s,
    waste,
)
from advisor.optimizer import Conditions, CostModel, best_interval_steps, interval_bounds

_COST_S = st.floats(0.0, 600.0)
_MTBF_S = st.floats(300.0, 1e7)
_DURATION_S = st.floats(1.0, 1e7)
_INTERVAL_S = st.floats(1.0, 1e4)


def periodic(**changes: float) -> float:
    case = {
        "duration_s": 1e5,
        "interval_s": 1000.0,
        "stall_s": 10.0,
        "mtbf_s": 3600.0,
        "detection_s": 30.0,
        "recovery_s": 60.0,
    }
    return float(periodic_completion_s(**(case | changes)))


def test_by_hand() -> None:
    # 2500 s of work: two segments of 1010 s and 500 s without a save.
    per_failure = (3600.0 + 30.0) * exp(60.0 / 3600.0)
    by_hand = per_failure * (2.0 * expm1(1010.0 / 3600.0) + expm1(500.0 / 3600.0))
    assert periodic(duration_s=2500.0) == pytest.approx(by_hand, rel=1e-12)


def test_two_states_by_first_step_analysis() -> None:
    """Work that has to be started over and a recovery that has, solved as linear equations."""
    mtbf_s, work_s, detection_s, recovery_s = 100.0, 80.0, 7.0, 40.0
    rate = 1.0 / mtbf_s

    def attempt(length_s: float) -> tuple[float, float]:
        """Chance of success, and expected time spent in one attempt of either end."""
        return exp(-rate * length_s), mtbf_s * -expm1(-rate * length_s)

    (p_work, t_work), (p_rec, t_rec) = attempt(work_s), attempt(recovery_s)
    # W = t_work + (1 - p_work) (det + B);  B = t_rec + (1 - p_rec) (det + B) + p_rec W
    matrix = np.array([[1.0, -(1.0 - p_work)], [-p_rec, 1.0 - (1.0 - p_rec)]])
    right = [t_work + (1.0 - p_work) * detection_s, t_rec + (1.0 - p_rec) * detection_s]
    solved = np.linalg.solve(matrix, right)[0]
    found = periodic(
        duration_s=work_s,
        interval_s=1e9,
        mtbf_s=mtbf_s,
        detection_s=detection_s,
        recovery_s=recovery_s,
    )
    assert found == pytest.approx(solved, rel=1e-12)


@given(_DURATION_S, _INTERVAL_S, _COST_S, _COST_S, _COST_S)
def test_without_failures_only_the_saves_are_left(
    duration_s: float, interval_s: float, stall_s: float, detection_s: float, recovery_s: float
) -> None:
    found = periodic(
        duration_s=duration_s,
        interval_s=interval_s,
        stall_s=stall_s,
        mtbf_s=1e18,
        detection_s=detection_s,
        recovery_s=recovery_s,
    )
    limit_s = duration_s * (1.0 + stall_s / interval_s)
    assert limit_s - stall_s <= found * (1.0 + 1e-9)
    assert found <= limit_s * (1.0 + 1e-9)


@given(st.integers(1, 10_000), _INTERVAL_S, _COST_S)
def test_whole_intervals_without_failures_take_t0_times_one_plus_o(
    intervals: int, interval_s: float, stall_s: float
) -> None:
    duration_s = intervals * interval_s
    found = periodic(duration_s=duration_s, interval_s=interval_s, stall_s=stall_s, mtbf_s=1e18)
    assert found == pytest.approx(duration_s * (1.0 + stall_s / interval_s), rel=1e-9)


@given(_DURATION_S, _MTBF_S)
def test_no_overhead_and_no_cost_give_t0(duration_s: float, mtbf_s: float) -> None:
    free = {"duration_s": duration_s, "mtbf_s": mtbf_s, "detection_s": 0.0, "recovery_s": 0.0}
    assert continuous_completion_s(overhead=0.0, **free) == duration_s
    # Saves that cost nothing lose nothing where they are as near as one wants.
    fine = periodic_completion_s(interval_s=duration_s * 1e-7, stall_s=0.0, **free)
    assert float(fine) == pytest.approx(duration_s, rel=1e-7 * duration_s / mtbf_s + 1e-9)


@given(
    st.floats(1.0, 1e6),
    _INTERVAL_S,
    _COST_S,
    _MTBF_S,
    _COST_S,
    _COST_S,
    st.floats(1.0, 3.0),
    st.sampled_from(["duration_s", "stall_s", "detection_s", "recovery_s", "mtbf_s"]),
)
def test_monotone_in_every_cost_and_in_the_mtbf(
    duration_s: float,
    interval_s: float,
    stall_s: float,
    mtbf_s: float,
    detection_s: float,
    recovery_s: float,
    factor: float,
    moved: str,
) -> None:
    case = {
        "duration_s": duration_s,
        "interval_s": interval_s,
        "stall_s": stall_s,
        "mtbf_s": mtbf_s,
        "detection_s": detection_s,
        "recovery_s": recovery_s,
    }
    before, after = periodic(**case), periodic(**(case | {moved: case[moved] * factor}))
    if moved == "mtbf_s":
        before, after = after, before
    assert after >= before * (1.0 - 1e-12)


@given(
    st.floats(0.0, 1.0),
    _MTBF_S,
    _COST_S,
    _COST_S,
    _COST_S,
    st.floats(1.0, 3.0),
    st.sampled_from(["overhead", "detection_s", "recovery_s", "lost_s", "mtbf_s"]),
)
def test_monotone_without_intervals(
    overhead: float,
    mtbf_s: float,
    detection_s: float,
    recovery_s: float,
    lost_s: float,
    factor: float,
    moved: str,
) -> None:
    case = {
        "overhead": overhead,
        "mtbf_s": mtbf_s,
        "detection_s": detection_s,
        "recovery_s": recovery_s,
        "lost_s": lost_s,
    }
    found = float(continuous_completion_s(duration_s=1e6, **case))
    larger = float(
        continuous_completion_s(duration_s=1e6, **(case | {moved: case[moved] * factor}))
    )
    assert (found >= larger) if moved == "mtbf_s" else (larger >= found)
    assert found >= 1e6 * (1.0 + overhead)


@given(_MTBF_S, st.floats(0.0, 0.5), _COST_S)
def test_detection_alone_is_what_equation_5_says(
    mtbf_s: float, overhead: float, detection_s: float
) -> None:
    """It counts each failure once, as detection does: nothing is left to differ by."""
    exact = continuous_completion_s(
        duration_s=1e6, overhead=overhead, mtbf_s=mtbf_s, detection_s=detection_s, recovery_s=0.0
    )
    first_order = expected_completion_s(
        duration_s=1e6, overhead=overhead, mtbf_s=mtbf_s, per_failure_s=detection_s
    )
    assert float(exact) == pytest.approx(float(first_order), rel=1e-12)


@given(st.floats(1e-6, 0.03), st.floats(0.0, 1.0), st.floats(0.0, 1.0))
def test_equation_5_is_its_first_order(share: float, of_rest: float, of_recovery: float) -> None:
    """The difference is of second order in what a failure and a segment take."""
    mtbf_s = 1e4
    per_failure_s = share * mtbf_s
    recovery_s = per_failure_s * of_recovery
    detection_s = (per_failure_s - recovery_s) * of_rest
    interval_s = max(2.0 * (per_failure_s - recovery_s - detection_s), 1e-3)
    exact = periodic(
        duration_s=1000.0 * interval_s,
        interval_s=interval_s,
        stall_s=0.0,
        mtbf_s=mtbf_s,
        detection_s=detection_s,
        recovery_s=recovery_s,
    )
    first_order = expected_completion_s(
        duration_s=1000.0 * interval_s,
        overhead=0.0,
        mtbf_s=mtbf_s,
        per_failure_s=detection_s + recovery_s + 0.5 * interval_s,
    )
    assert exact / float(first_order) - 1.0 + 1e-9 >= 0.0
    assert exact / float(first_order) - 1.0 <= share**2 + 1e-9


def test_what_no_float_holds_is_infinite() -> None:
    assert periodic(mtbf_s=1.0) == inf
    assert periodic(mtbf_s=1.0, duration_s=500.0) == pytest.approx(
        (1.0 + 30.0) * exp(60.0) * expm1(500.0), rel=1e-12
    )


@given(st.floats(1e-3, 1e4), st.floats(1.0, 1e7))
def test_the_exact_interval_is_a_minimum(stall_s: float, mtbf_s: float) -> None:
    case = {"stall_s": stall_s, "mtbf_s": mtbf_s, "detection_s": 10.0, "recovery_s": 20.0}
    best = float(exact_interval_s(stall_s, mtbf_s))
    assert 0.0 < best <= mtbf_s
    beside = [float(waste(interval_s=best * factor, **case)) for factor in (0.98, 1.02)]
    assert float(waste(interval_s=best, **case)) <= min(beside) + 1e-15


def test_the_exact_interval_beside_daly_and_young() -> None:
    assert exact_interval_s(60.0, 14400.0) == pytest.approx(
        daly_interval_s(60.0, 14400.0), rel=1e-4
    )
    assert exact_interval_s(1e-4, 1e6) == pytest.approx(young_interval_s(1e-4, 1e6), rel=1e-4)
    assert np.asarray(exact_interval_s(np.array([0.0, 1e9]), 10.0)) == pytest.approx([0.0, 10.0])


@given(st.floats(1e-3, 100.0), st.floats(1e3, 1e7), _COST_S, _COST_S)
def test_equation_5s_interval_wastes_no_more_than_a_hundredth_above_the_least(
    stall_s: float, mtbf_s: float, detection_s: float, restore_s: float
) -> None:
    """From an MTBF of three times a recovery, and twenty saves, on; below, within one point."""
    mtbf_s = max(mtbf_s, 3.0 * (stall_s + detection_s + restore_s))
    case = {
        "stall_s": stall_s,
        "mtbf_s": mtbf_s,
        "detection_s": detection_s,
        "recovery_s": restore_s,
    }
    model = CostModel(is_periodic=True, restore_s=restore_s, stall_s=stall_s)
    conditions = Conditions(1e12, mtbf_s, 0.01, detection_s, 0.0)
    chosen_s = float(best_interval_steps(model, conditions)) * 0.01
    least = float(waste(interval_s=float(exact_interval_s(stall_s, mtbf_s)), **case))
    chosen = float(waste(interval_s=chosen_s, **case))
    assert chosen <= least + 0.01
    assert chosen <= 1.01 * least or mtbf_s < 20.0 * stall_s


def flat(model: CostModel, conditions: Conditions, steps: int) -> float:
    return float(
        waste(
            interval_s=steps * conditions.step_time_s,
            stall_s=model.stall_s,
            mtbf_s=conditions.mtbf_s,
            detection_s=conditions.detection_s,
            recovery_s=model.restore_s + conditions.regroup_s + conditions.init_s,
        )
    )


@given(st.floats(0.0, 30.0), st.floats(100.0, 1e6), st.integers(1, 200_000))
def test_the_flat_range_is_as_wide_as_it_can_be(stall_s: float, mtbf_s: float, steps: int) -> None:
    model = CostModel(is_periodic=True, restore_s=3.0, stall_s=stall_s, min_interval_steps=3)
    conditions = Conditions(1e5, mtbf_s, 0.5, 10.0, 2.0, 1.0, 0.9)
    low, high = (int(bound) for bound in interval_bounds(model, conditions))
    found = interval_choice(model, conditions, steps)
    assert found is not None
    assert low <= found.flat_from_steps <= found.best_steps <= found.flat_to_steps <= high
    least = flat(model, conditions, found.best_steps)
    assert found.gain_fraction == pytest.approx(
        max(flat(model, conditions, steps) - least, 0.0), abs=1e-15
    )
    for inside, outside in (
        (found.flat_from_steps, found.flat_from_steps - 1),
        (found.flat_to_steps, found.flat_to_steps + 1),
    ):
        assert flat(model, conditions, inside) - least < FLAT_WASTE
        if low <= outside <= high:
            assert flat(model, conditions, outside) - least >= FLAT_WASTE
    neighbours = [n for n in (found.best_steps - 1, found.best_steps + 1) if low <= n <= high]
    assert all(flat(model, conditions, n) >= least for n in neighbours)


def test_a_change_that_gains_little_is_none() -> None:
    model = CostModel(is_periodic=True, restore_s=0.155, stall_s=0.0539)
    conditions = Conditions(2.592e6, 14400.0, 0.1123, 30.0, 5.0)
    near, far = interval_choice(model, conditions, 500), interval_choice(model, conditions, 50)
    assert near is not None
    assert far is not None
    assert near.best_steps == far.best_steps
    assert not near.is_worth_a_change
    assert far.is_worth_a_change
    assert near.flat_from_steps <= 500 <= near.flat_to_steps
    assert far.flat_from_steps > 50


def test_no_interval_no_choice() -> None:
    model = CostModel(is_periodic=True, restore_s=1.0, stall_s=1.0, min_interval_steps=100)
    assert interval_choice(model, Conditions(10.0, 1e4, 1.0, 1.0, 1.0), 100) is None


def test_a_model_of_either_kind() -> None:
    conditions = Conditions(1e5, 3600.0, 0.5, 30.0, 5.0, 1.0)
    saving = CostModel(is_periodic=True, restore_s=54.0, stall_s=10.0)
    assert float(exact_completion_s(saving, conditions, 2000)) == pytest.approx(periodic())
    warned = CostModel(is_periodic=False, restore_s=54.0, overhead=0.01, lost_steps=4.0)
    expected = 1e5 * 1.01 * (1.0 + 30.0 / 3600.0) * exp(62.0 / 3600.0)
    assert float(exact_completion_s(warned, conditions, 0)) == pytest.approx(expected)
