"""What a measurement is worth: against the closed form for two candidates, and at its limits."""

from math import erf, exp, inf, pi, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.optimizer import Conditions, CostModel
from advisor.recommendation import SpreadOrigin
from advisor.uncertainty.best import perfect_information_s
from advisor.uncertainty.draws import completion_times_s
from advisor.uncertainty.law import UncertainValue, deviations, value_at
from advisor.uncertainty.propagation import COSTS, SHARED, TabledCosts
from advisor.uncertainty.spread import Spread
from advisor.uncertainty.value_of_information import information_value
from db.records import Quantity

_DURATION_S, _MTBF_S = 1e6, 1e4


def costs(restores_s: list[float], errors_s: list[float], degrees: float = inf) -> TabledCosts:
    """Candidates that differ in their restore only, each with an error of its own."""
    count = len(restores_s)
    values = tuple(
        UncertainValue((f"p{row}", Quantity.RESTORE), restore_s, 2, _spread(error_s, degrees))
        for row, (restore_s, error_s) in enumerate(zip(restores_s, errors_s, strict=True))
    )
    shared = (1.0, 0.5, 5.0)
    base = np.zeros(count * len(COSTS) + len(SHARED))
    base[-len(SHARED) :] = shared
    nodes = np.tile([-700.0, 0.0, 700.0], (count, 1))
    changes = np.zeros((*nodes.shape, base.size))
    for row, value in enumerate(values):
        column = row * len(COSTS) + COSTS.index("restore_s")
        base[column] = value.value
        changes[row, :, column] = value_at(value, nodes[row]) - value.value
    return TabledCosts(
        mechanisms=tuple(f"ft{row}" for row in range(count)),
        models=tuple(CostModel(is_periodic=False, restore_s=each) for each in restores_s),
        is_free=(False,) * count,
        conditions=Conditions(_DURATION_S, _MTBF_S, *shared),
        values=values,
        base=base,
        nodes=nodes,
        changes=changes,
        is_product=np.zeros(base.size, dtype=np.bool_),
    )


def _spread(error_s: float, degrees: float) -> Spread:
    return Spread(error_s, degrees, SpreadOrigin.OWN)


def _loss_s(ahead_s: float, error_s: float) -> float:
    """E max(0, x - ahead) of a normal x (unit normal loss): what perfect information saves (s)."""
    z = ahead_s / error_s
    density, beyond = exp(-0.5 * z * z) / sqrt(2.0 * pi), 0.5 * (1.0 - erf(z / sqrt(2.0)))
    return error_s * (density - z * beyond)


@pytest.mark.parametrize("ahead_s", [0.0, 2.0, 6.0])
@pytest.mark.parametrize("runs", [1, 4])
def test_two_candidates_have_a_closed_form(ahead_s: float, runs: int) -> None:
    """Eq. (5) is 1e6 (1 + restore / 1e4): a second of restore is 100 s of the job.

    Of normal numbers, which is what the law is where an error is small against its number. What
    lies in the tails that are not drawn is missing: 3 % where the other is 1.5 errors away.
    """
    known = costs([10_000.0, 10_000.0 + ahead_s], [4.0, 3.0])
    off = deviations(known.values, draws=16_384)
    found = information_value(known, off, [0], runs)
    assert found.perfect_s == pytest.approx(100.0 * _loss_s(ahead_s, 4.0), rel=0.05)
    share = sqrt(1.0 / (runs + 1.0))
    assert found.one_more_s == pytest.approx(
        100.0 * _loss_s(ahead_s, 4.0 * share), rel=0.05, abs=0.5
    )
    everything = perfect_information_s(completion_times_s(known, off))
    assert everything == pytest.approx(100.0 * _loss_s(ahead_s, 5.0), rel=0.05)


@given(
    st.lists(st.tuples(st.floats(0.0, 200.0), st.floats(1e-3, 50.0)), min_size=1, max_size=4),
    st.sampled_from([1.0, 2.0, 5.5, inf]),
    st.integers(1, 9),
)
@settings(max_examples=50, deadline=None)
def test_information_is_never_worth_less_than_nothing(
    each: list[tuple[float, float]], degrees: float, runs: int
) -> None:
    known = costs([value for value, _ in each], [error for _, error in each], degrees)
    off = deviations(known.values, draws=128)
    for row in range(len(each)):
        found = information_value(known, off, [row], runs)
        assert found.one_more_s >= 0.0
        assert found.perfect_s >= 0.0


def test_what_cannot_change_the_pick_is_worth_exactly_nothing() -> None:
    known = costs([10.0, 500.0], [1.0, 2.0])
    off = deviations(known.values)
    for rows in ([0], [1], [0, 1]):
        found = information_value(known, off, rows, 1)
        assert (found.one_more_s, found.perfect_s) == (0.0, 0.0)


def test_more_runs_are_worth_more_and_at_most_as_much_as_knowing() -> None:
    known = costs([100.0, 101.0], [4.0, 3.0], 4.0)
    off = deviations(known.values)
    worth = [information_value(known, off, [0], 2, more).one_more_s for more in (1, 2, 8, 10**9)]
    assert worth == sorted(worth)
    perfect = information_value(known, off, [0], 2).perfect_s
    assert worth[-1] == pytest.approx(perfect, rel=1e-6)
    assert worth[0] < 0.9 * perfect
