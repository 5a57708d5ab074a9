"""Eq. (5) in each draw: at the recommended intervals, and alike in every unit."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advisor.candidates import consider
from advisor.defaults import resolve
from advisor.scenario import ScenarioInput
from advisor.uncertainty.best import chances
from advisor.uncertainty.draws import completion_times_s
from advisor.uncertainty.law import deviations
from advisor.uncertainty.propagation import COSTS, SHARED, TabledCosts, tabled_costs
from db.records import ClusterEvidence, DispersionKind, Evidence, EvidencedValue, Quantity
from tests.advisor.uncertainty.synthetic import evidence_of, point_of, question


def asked(evidence: ClusterEvidence, **more: Any) -> TabledCosts:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    scenario = resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)
    return tabled_costs(evidence, scenario, consider(evidence, scenario).candidates)


def test_without_errors_every_draw_is_the_recommendation(matilda: ClusterEvidence) -> None:
    scenario = resolve(
        ScenarioInput(
            architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0, warning_lead_s=2.0
        ),
        matilda,
    )
    candidates = consider(matilda, scenario).candidates
    costs = tabled_costs(matilda, scenario, candidates)
    for anew in (False, True):
        times_s = completion_times_s(costs, np.zeros((len(costs.values), 4)), anew=anew)
        for row, candidate in zip(times_s, candidates, strict=True):
            assert row == pytest.approx(candidate.expected_completion_s, rel=1e-12)


@pytest.mark.parametrize("dispersion", [None, 0.0])
def test_no_dispersion_makes_the_pick_certain(dispersion: float | None) -> None:
    kind = None if dispersion is None else DispersionKind.HALF_RANGE

    def known(number: float) -> EvidencedValue:
        return EvidencedValue(
            number, Evidence.MEASURED, n=3, dispersion=dispersion, dispersion_kind=kind
        )

    points = [
        point_of(name, {Quantity.OVERHEAD: known(overhead), Quantity.RESTORE: known(4.0)})
        for name, overhead in (("ft1", 0.010), ("ft2", 0.01001), ("ft3", 0.2))
    ]
    evidence = evidence_of(points)
    scenario = resolve(question(), evidence)
    costs = tabled_costs(evidence, scenario, consider(evidence, scenario).candidates)
    assert costs.values == ()
    first, *others = chances(costs.mechanisms, completion_times_s(costs, deviations(costs.values)))
    assert (first.mechanism, first.best_probability, first.expected_regret_s) == ("ft1", 1.0, 0.0)
    assert [each.best_probability for each in others] == [0.0, 0.0]
    # None: nothing says how far the numbers may be off, and each is named.
    assert len(costs.held) == (6 if dispersion is None else 0)


def test_a_held_interval_costs_little_in_the_draws(matilda: ClusterEvidence) -> None:
    """Eq. (5) is flat about its best interval: an error e of the stall costs e^2 / 8 of the
    time that the interval decides over, which is small against the job."""
    costs = asked(matilda)
    off = deviations(costs.values, draws=512)
    held, own = (completion_times_s(costs, off, reoptimised=each) for each in (False, True))
    assert np.all(own <= held * (1.0 + 1e-12))
    assert np.max(held / own - 1.0) < 1e-4
    assert np.max(held / own - 1.0) > 0.0
    for a, b in zip(chances(costs.mechanisms, held), chances(costs.mechanisms, own), strict=True):
        assert a.best_probability == pytest.approx(b.best_probability, abs=0.01)


def test_a_fixed_interval_stays_fixed(matilda: ClusterEvidence) -> None:
    costs = asked(matilda, interval=100)
    off = deviations(costs.values, draws=64)
    held, own = (completion_times_s(costs, off, reoptimised=each) for each in (False, True))
    assert np.array_equal(held, own)


def test_a_cost_is_never_below_zero(matilda: ClusterEvidence) -> None:
    costs = asked(matilda)
    stall = next(row for row, v in enumerate(costs.values) if v.key[1] is Quantity.OVERHEAD)
    off = np.zeros((len(costs.values), 2))
    off[stall] = [-1e6, -2e6]
    times_s = completion_times_s(costs, off)
    assert np.array_equal(times_s[:, 0], times_s[:, 1])
    assert np.all(times_s >= costs.conditions.duration_s)


@pytest.mark.parametrize("power", [-6, 9])
def test_in_another_unit_of_time_the_probabilities_are_the_same(
    matilda: ClusterEvidence, power: int
) -> None:
    """All times and their errors times a power of two, which rounds nothing."""
    factor = 2.0**power
    costs = asked(matilda, interval=100, warning_lead_s=2.0)
    scaled = _in_other_units(costs, factor)
    off = deviations(costs.values, draws=512)
    before = chances(costs.mechanisms, completion_times_s(costs, off))
    after = chances(scaled.mechanisms, completion_times_s(scaled, off))
    for a, b in zip(before, after, strict=True):
        assert b.best_probability == a.best_probability
        assert b.expected_regret_s == pytest.approx(factor * a.expected_regret_s, rel=1e-9)
        assert b.expected_regret_fraction == pytest.approx(a.expected_regret_fraction, abs=1e-12)


def _in_other_units(costs: TabledCosts, factor: float) -> TabledCosts:
    conditions = costs.conditions
    times = ("duration_s", "mtbf_s", "step_time_s", "detection_s", "regroup_s", "init_s")
    in_time = {"stall_s", "restore_s", *SHARED}
    names = [*(COSTS * len(costs.models)), *SHARED]
    factors = np.array([factor if name in in_time else 1.0 for name in names])
    return replace(
        costs,
        conditions=replace(
            conditions, **{name: factor * getattr(conditions, name) for name in times}
        ),
        base=costs.base * factors,
        changes=costs.changes * np.where(costs.is_product, 1.0, factors),
        asked=None,
    )
