"""Loss after a fault against runs without one, on curves whose answer is known."""

import numpy as np
import pytest
from scipy import stats

from advisor.learning import LossCurve, compare, curve


def line(slope: float, fault_s: float | None, noise: float = 0.0, steps: int = 400) -> LossCurve:
    t_s = tuple(0.1 * (n + 1) for n in range(steps))
    return LossCurve("r", t_s, tuple(5.0 + noise - slope * t for t in t_s), fault_s)


def test_the_reduction_over_the_common_window() -> None:
    found = compare([line(0.1, 10.0), line(0.05, None, steps=300)])
    assert found is not None
    assert found.window_s == pytest.approx(20.0)  # the shorter run ends at 30 s
    assert found.with_fault.value == pytest.approx(2.0)
    assert found.without_fault.value == pytest.approx(1.0)
    assert found.p_value is None
    assert not found.differs


def test_runs_that_learn_alike_cannot_be_told_apart() -> None:
    generator = np.random.default_rng(5)
    curves = [line(0.1 + generator.normal(0, 0.01), 10.0) for _ in range(7)]
    curves += [line(0.1 + generator.normal(0, 0.01), None) for _ in range(3)]
    found = compare(curves)
    assert found is not None
    assert (found.with_fault.n, found.without_fault.n) == (7, 3)
    assert found.p_value is not None
    assert not found.differs


def test_the_p_value_is_welchs() -> None:
    slopes, calm = [0.10, 0.12, 0.11], [0.05, 0.06, 0.055, 0.052]
    found = compare([line(s, 10.0) for s in slopes] + [line(s, None) for s in calm])
    assert found is not None
    expected = stats.ttest_ind(slopes, calm, equal_var=False).pvalue
    assert found.p_value == pytest.approx(expected, rel=1e-6)
    assert found.differs


@pytest.mark.parametrize("fault_s", [10.0, None])
def test_one_side_alone_is_no_comparison(fault_s: float | None) -> None:
    assert compare([line(0.1, fault_s)]) is None
    assert compare([]) is None


def test_a_fault_after_the_last_step_leaves_no_window() -> None:
    assert compare([line(0.1, 50.0), line(0.1, None)]) is None


def test_a_record_becomes_a_curve() -> None:
    record = {
        "run_id": "x",
        "training_started_s": 2.0,
        "series": {"t_s": [3.0, 4.0, 5.0], "loss": [1.0, None, 0.5]},
        "faults": [{"fired": True, "at_s": 4.5}, {"fired": False, "at_s": 9.0}],
    }
    assert curve(record) == LossCurve("x", (1.0, 3.0), (1.0, 0.5), 2.5)
