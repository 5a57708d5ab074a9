"""Where two candidates take equally long: by hand, by substitution, by re-optimising."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from advisor.completion_time import expected_completion_s
from advisor.crossover import HeldCost, held_crossing, reoptimised_crossing, shortcut_mtbf_s
from advisor.optimizer import Conditions, CostModel, evaluate

_FT1 = HeldCost(overhead=0.0048, per_failure_s=0.155 + 5.615)
_FT2 = HeldCost(overhead=0.0378, per_failure_s=0.017 + 5.615)


def expected(cost: HeldCost, mtbf_s: float) -> float:
    return float(
        expected_completion_s(
            duration_s=1.0,
            overhead=cost.overhead,
            mtbf_s=mtbf_s,
            per_failure_s=cost.per_failure_s,
        )
    )


def test_the_papers_pair_by_hand() -> None:
    assert shortcut_mtbf_s(_FT1, _FT2) == pytest.approx(0.138 / 0.033)
    crossing = held_crossing(_FT1, _FT2)
    assert crossing.mtbf_s is None
    assert crossing.a_wins_below


def test_without_shared_cost_the_crossing_exists() -> None:
    # (1.0048)(M + 0.155) = (1.0378)(M + 0.017) => M = (1.0048 x 0.155 - 1.0378 x 0.017) / 0.033
    crossing = held_crossing(HeldCost(0.0048, 0.155), HeldCost(0.0378, 0.017))
    assert crossing.mtbf_s == pytest.approx((1.0048 * 0.155 - 1.0378 * 0.017) / 0.033)
    assert not crossing.a_wins_below


_COSTS = st.builds(HeldCost, overhead=st.floats(0.0, 3.0), per_failure_s=st.floats(0.0, 1e4))


@given(_COSTS, _COSTS)
def test_the_crossing_solves_equation_5(a: HeldCost, b: HeldCost) -> None:
    assume(abs(a.overhead - b.overhead) > 1e-6)
    crossing = held_crossing(a, b)
    if crossing.mtbf_s is None:
        for mtbf_s in (1e-3, 1.0, 1e3, 1e6):
            gap = expected(a, mtbf_s) - expected(b, mtbf_s)
            assert gap <= 1e-9 * expected(a, mtbf_s) if crossing.a_wins_below else gap >= -1e-9
        return
    mtbf_s = crossing.mtbf_s
    assume(1e-9 < mtbf_s < 1e12)
    assert expected(a, mtbf_s) == pytest.approx(expected(b, mtbf_s), rel=1e-9)
    below = expected(a, mtbf_s * 0.5) < expected(b, mtbf_s * 0.5)
    assert below == crossing.a_wins_below


@given(_COSTS, _COSTS)
def test_order_does_not_matter(a: HeldCost, b: HeldCost) -> None:
    forth, back = held_crossing(a, b), held_crossing(b, a)
    assert forth.mtbf_s == pytest.approx(back.mtbf_s) if forth.mtbf_s else back.mtbf_s is None
    assert shortcut_mtbf_s(a, b) == shortcut_mtbf_s(b, a)


def test_equal_overheads_never_cross() -> None:
    crossing = held_crossing(HeldCost(0.1, 1.0), HeldCost(0.1, 2.0))
    assert crossing.mtbf_s is None
    assert crossing.a_wins_below


def test_reoptimised_crossing_is_where_both_are_equal() -> None:
    cheap_save = CostModel(is_periodic=True, restore_s=60.0, stall_s=0.05)
    quick_restore = CostModel(is_periodic=True, restore_s=0.1, stall_s=2.0)
    conditions = Conditions(1e9, 1e4, 0.1, 0.0, 0.0)
    crossing = reoptimised_crossing(cheap_save, quick_restore, conditions, 1e4)
    assert crossing.mtbf_s is not None
    at = Conditions(1e9, crossing.mtbf_s, 0.1, 0.0, 0.0)
    a, b = (float(evaluate(m, at).expected_s) for m in (cheap_save, quick_restore))
    assert a == pytest.approx(b, rel=1e-6)
    # Closed form: sqrt(M + D_a) + sqrt(c_a / 2) = sqrt(M + D_b) + sqrt(c_b / 2)
    m, gap = crossing.mtbf_s, np.sqrt(2.0 / 2) - np.sqrt(0.05 / 2)
    assert np.sqrt(m + 60.0) - np.sqrt(m + 0.1) == pytest.approx(gap, rel=1e-3)


def test_reoptimised_without_crossing_names_the_winner() -> None:
    better = CostModel(is_periodic=True, restore_s=0.1, stall_s=0.05)
    worse = CostModel(is_periodic=True, restore_s=0.2, stall_s=0.06)
    crossing = reoptimised_crossing(better, worse, Conditions(1e6, 1e4, 0.1, 1.0, 1.0), 1e4)
    assert crossing.mtbf_s is None
    assert crossing.a_wins_below
