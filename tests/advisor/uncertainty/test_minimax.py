"""The least largest regret: against every interval and every MTBF in between, tried one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.optimizer import Conditions, CostModel, evaluate, sweep
from advisor.uncertainty.minimax import Choice, held_regret, minimax_choices

_MODELS = st.builds(
    CostModel,
    is_periodic=st.booleans(),
    restore_s=st.floats(0.0, 100.0),
    stall_s=st.floats(1e-3, 10.0),
    interval_steps=st.none() | st.integers(1, 500),
    min_interval_steps=st.integers(1, 20),
    overhead=st.floats(0.0, 0.5),
    lost_steps=st.floats(0.0, 5.0),
)


def conditions(mtbf_s: float) -> Conditions:
    return Conditions(
        duration_s=1e6, mtbf_s=mtbf_s, step_time_s=0.5, detection_s=5.0, regroup_s=1.0
    )


def choices(models: list[CostModel]) -> list[Choice]:
    return [Choice(f"ft{number}", model) for number, model in enumerate(models)]


@given(st.lists(_MODELS, min_size=1, max_size=4), st.floats(10.0, 1e5))
@settings(max_examples=60, deadline=None)
def test_a_factor_of_1_gives_the_ordinary_pick(models: list[CostModel], mtbf_s: float) -> None:
    asked = conditions(mtbf_s)
    best = minimax_choices(choices(models), asked, mtbf_s, mtbf_s)[0]
    ordinary = sweep(models, asked)
    assert best.largest_regret_s == pytest.approx(0.0, abs=1e-6)
    assert best.mechanism == f"ft{int(ordinary.best[0])}"
    assert (best.interval_steps or 0) == int(ordinary.interval_steps[0])


@given(st.lists(_MODELS, min_size=2, max_size=4), st.floats(10.0, 1e5), st.floats(1.0, 30.0))
@settings(max_examples=60, deadline=None)
def test_no_mtbf_between_the_ends_has_a_larger_regret(
    models: list[CostModel], mtbf_s: float, factor: float
) -> None:
    low_s, high_s = mtbf_s / factor, mtbf_s * factor
    between = conditions(mtbf_s)
    between = replace(between, mtbf_s=np.geomspace(low_s, high_s, 101))
    soonest = sweep(models, between).expected_s
    for found in minimax_choices(choices(models), between, low_s, high_s):
        model = models[int(found.mechanism.removeprefix("ft"))]
        if model.is_periodic:
            model = replace(model, interval_steps=found.interval_steps)
        times_s = evaluate(model, between).expected_s
        assert np.max(times_s - soonest) <= found.largest_regret_s * (1 + 1e-9) + 1e-6
        assert np.max(times_s / soonest - 1) <= found.largest_regret_fraction * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize("factor", [1.5, 4.0, 25.0])
def test_the_interval_is_the_best_of_all(factor: float) -> None:
    model = CostModel(is_periodic=True, restore_s=3.0, stall_s=0.8)
    other = CostModel(is_periodic=False, restore_s=400.0, overhead=0.001)
    low_s, high_s = 2_000.0 / factor, 2_000.0 * factor
    asked = choices([model, other])
    found = next(
        each
        for each in minimax_choices(asked, conditions(2_000.0), low_s, high_s)
        if each.mechanism == "ft0"
    )
    tried = [
        held_regret(
            asked,
            Choice("ft0", replace(model, interval_steps=steps)),
            conditions(2_000.0),
            low_s,
            high_s,
        ).largest_regret_s
        for steps in range(1, 1_500)
    ]
    assert found.largest_regret_s == pytest.approx(min(tried), rel=1e-12)
    assert tried[(found.interval_steps or 0) - 1] == min(tried)


def test_choices_that_keep_no_limit_are_left_out() -> None:
    model = CostModel(is_periodic=True, restore_s=3.0, stall_s=0.8, interval_steps=1)
    other = CostModel(is_periodic=False, restore_s=4.0)
    asked = replace(conditions(2_000.0), max_overhead=0.1)
    found = minimax_choices(choices([model, other]), asked, 1_000.0, 4_000.0)
    assert [each.mechanism for each in found] == ["ft1"]
