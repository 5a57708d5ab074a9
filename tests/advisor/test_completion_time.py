"""Eq. (5) and the interval formulas, against numbers worked out by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.checkpoint_interval import (
    daly_interval_s,
    equation_5_interval_s,
    young_interval_s,
)
from advisor.completion_time import completion_terms, expected_completion_s

_POSITIVE = st.floats(min_value=1e-3, max_value=1e6)


def test_terms_by_hand() -> None:
    # T0 1000 s, O 10 %, M 110 s: E[N_f] = 1000 x 1.1 / 110 = 10 failures.
    terms = completion_terms(
        duration_s=1000.0,
        overhead=0.1,
        mtbf_s=110.0,
        detection_s=2.0,
        restore_s=0.5,
        regroup_s=3.0,
        init_s=0.25,
        lost_s=4.0,
    )
    assert terms.failures == pytest.approx(10.0)
    assert terms.overhead_s == pytest.approx(100.0)
    assert terms.detection_s == pytest.approx(20.0)
    assert terms.restore_s == pytest.approx(5.0)
    assert terms.regroup_s == pytest.approx(30.0)
    assert terms.init_s == pytest.approx(2.5)
    assert terms.lost_s == pytest.approx(40.0)
    assert terms.total_s == pytest.approx(1197.5)


@given(_POSITIVE, st.floats(0.0, 5.0), _POSITIVE, st.tuples(*[st.floats(0.0, 1e4)] * 5))
def test_the_terms_add_up_to_the_closed_form(
    duration_s: float, overhead: float, mtbf_s: float, costs: tuple[float, ...]
) -> None:
    names = ("detection_s", "restore_s", "regroup_s", "init_s", "lost_s")
    terms = completion_terms(
        duration_s=duration_s,
        overhead=overhead,
        mtbf_s=mtbf_s,
        **dict(zip(names, costs, strict=True)),
    )
    closed = expected_completion_s(
        duration_s=duration_s, overhead=overhead, mtbf_s=mtbf_s, per_failure_s=sum(costs)
    )
    assert terms.total_s == pytest.approx(closed, rel=1e-12)


def test_arrays_broadcast() -> None:
    mtbf_s = np.array([100.0, 200.0])
    found = expected_completion_s(
        duration_s=10.0, overhead=np.array([[0.0], [1.0]]), mtbf_s=mtbf_s, per_failure_s=100.0
    )
    assert np.allclose(found, [[20.0, 15.0], [40.0, 30.0]])


def test_young_of_the_note_is_21_9_minutes() -> None:
    assert young_interval_s(60.0, 14400.0) / 60.0 == pytest.approx(21.908902, rel=1e-6)


def test_daly_by_hand_and_its_limit() -> None:
    # C = 60, M = 14400: 1314.534 (1 + 0.0456435 / 3 + 0.00208333 / 9) - 60 = 1274.838
    assert daly_interval_s(60.0, 14400.0) == pytest.approx(1274.838, abs=1e-3)
    assert daly_interval_s(60.0, 30.0) == 30.0


@given(st.floats(1e-3, 1e3), st.floats(1.0, 1e7), st.floats(0.0, 1e4))
def test_equation_5_interval_is_a_minimum(save_s: float, mtbf_s: float, fixed_s: float) -> None:
    def cost(interval_s: float) -> float:
        return float(
            expected_completion_s(
                duration_s=1.0,
                overhead=save_s / interval_s,
                mtbf_s=mtbf_s,
                per_failure_s=fixed_s + 0.5 * interval_s,
            )
        )

    best = float(equation_5_interval_s(save_s, mtbf_s, fixed_s))
    assert cost(best) <= min(cost(best * 0.99), cost(best * 1.01))


def test_equation_5_interval_is_youngs_without_recovery() -> None:
    assert equation_5_interval_s(60.0, 14400.0, 0.0) == young_interval_s(60.0, 14400.0)
