"""The optimizer against a brute-force search written from Eq. (5) alone."""

from dataclasses import replace
from math import floor, inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.optimizer import Conditions, CostModel, evaluate, sweep

_RELATIVE = 1e-9


def brute_force(model: CostModel, conditions: Conditions) -> tuple[float, int]:
    """Least Eq. (5) over every whole interval from the bound to the job, in plain Python."""
    step_s, mtbf_s = float(conditions.step_time_s), float(conditions.mtbf_s)
    duration_s, limit = float(conditions.duration_s), float(conditions.max_overhead)
    fixed_s = (
        float(conditions.detection_s)
        + model.restore_s
        + float(conditions.regroup_s)
        + float(conditions.init_s)
    )
    last = max(1, floor(duration_s / step_s))
    if not model.is_periodic:
        choices = [(model.overhead, model.lost_steps * step_s, 0)]
    elif model.interval_steps is not None:
        steps = model.interval_steps
        choices = [(model.stall_s / (steps * step_s), steps * step_s / 2, steps)]
    else:
        first = model.min_interval_steps
        choices = [
            (model.stall_s / (steps * step_s), steps * step_s / 2, steps)
            for steps in range(first, last + 1)
        ]
    best = (inf, 0)
    for overhead, lost_s, steps in choices:
        if overhead <= limit:
            failures = duration_s * (1 + overhead) / mtbf_s
            total = duration_s * (1 + overhead) + failures * (fixed_s + lost_s)
            best = min(best, (total, steps))
    return best


periodic = st.builds(
    CostModel,
    is_periodic=st.just(True),
    restore_s=st.floats(0.0, 30.0),
    stall_s=st.one_of(st.just(0.0), st.floats(1e-4, 20.0)),
    interval_steps=st.one_of(st.none(), st.none(), st.integers(1, 3000)),
    min_interval_steps=st.integers(1, 50),
)
reactive = st.builds(
    CostModel,
    is_periodic=st.just(False),
    restore_s=st.floats(0.0, 30.0),
    overhead=st.one_of(st.just(0.0), st.floats(0.0, 1.0)),
    lost_steps=st.floats(0.0, 5.0),
)
scenarios = st.builds(
    Conditions,
    duration_s=st.floats(1.0, 600.0),
    mtbf_s=st.floats(1.0, 1e7),
    step_time_s=st.floats(0.1, 3.0),
    detection_s=st.floats(0.0, 700.0),
    regroup_s=st.floats(0.0, 10.0),
    init_s=st.floats(0.0, 5.0),
    max_overhead=st.one_of(st.just(inf), st.just(0.0), st.floats(1e-4, 2.0)),
)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.one_of(periodic, reactive), min_size=1, max_size=5), scenarios)
def test_mechanism_and_interval_agree_with_brute_force(
    models: list[CostModel], conditions: Conditions
) -> None:
    expected = [brute_force(model, conditions) for model in models]
    for model, (total, _) in zip(models, expected, strict=True):
        assert float(evaluate(model, conditions).expected_s) == pytest.approx(total, rel=_RELATIVE)
    found = sweep(models, conditions)
    least = min(total for total, _ in expected)
    assert float(found.expected_s[0]) == pytest.approx(least, rel=_RELATIVE)
    if least == inf:
        assert found.best[0] == -1
    else:
        chosen = models[int(found.best[0])]
        assert brute_force(chosen, conditions)[0] == pytest.approx(least, rel=_RELATIVE)


@settings(max_examples=100, deadline=None)
@given(periodic, scenarios)
def test_the_limit_is_kept_to_the_last_bit(model: CostModel, conditions: Conditions) -> None:
    free = replace(model, interval_steps=None)
    found = evaluate(free, conditions)
    if np.isfinite(found.expected_s):
        assert found.overhead <= conditions.max_overhead


def test_a_sweep_equals_one_scenario_at_a_time() -> None:
    random = np.random.default_rng(20261129)
    models = [
        CostModel(is_periodic=True, restore_s=0.155, stall_s=0.054),
        CostModel(is_periodic=True, restore_s=0.017, stall_s=0.42, interval_steps=100),
        CostModel(is_periodic=False, restore_s=0.9),
    ]
    size = 40_000  # more than one chunk
    mtbf_s = 10 ** random.uniform(1, 7, size)
    step_s = 10 ** random.uniform(-2, 0, size)
    limit = random.choice([0.001, 0.05, np.inf], size)
    shared = {"duration_s": 1e6, "detection_s": 30.0, "regroup_s": 5.0}
    found = sweep(
        models, Conditions(mtbf_s=mtbf_s, step_time_s=step_s, max_overhead=limit, **shared)
    )
    for row in random.integers(0, size, 200):
        single = Conditions(
            mtbf_s=mtbf_s[row], step_time_s=step_s[row], max_overhead=limit[row], **shared
        )
        one = sweep(models, single)
        assert one.best[0] == found.best[row]
        assert one.interval_steps[0] == found.interval_steps[row]
        assert one.expected_s[0] == found.expected_s[row]


def test_ties_go_to_the_earlier_model() -> None:
    model = CostModel(is_periodic=False, restore_s=1.0)
    conditions = Conditions(1e5, 1e4, 0.1, 10.0, 5.0)
    assert sweep([model, model], conditions).best[0] == 0


def test_no_model_is_no_answer() -> None:
    found = sweep([], Conditions(1e5, np.array([1e4, 1e5]), 0.1, 10.0, 5.0))
    assert found.best.tolist() == [-1, -1]
    assert np.isinf(found.expected_s).all()
