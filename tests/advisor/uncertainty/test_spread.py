"""How far a mean may be off: against printed tables, against simulated runs, and at the edges."""

from dataclasses import replace
from math import inf, sqrt

import numpy as np
import pytest

from advisor.recommendation import SpreadOrigin
from advisor.uncertainty.spread import (
    Deviation,
    Pool,
    moderated,
    own_deviation,
    pool_of,
    pooled_deviation,
    range_law,
    spread_of,
)
from db.records import DispersionKind, Evidence, EvidencedValue, Quantity
from tests.advisor.uncertainty.synthetic import evidence_of, point_of

# Duncan, Quality Control and Industrial Statistics, table D3 (one sample): n, d2*, v.
_PRINTED = ((2, 1.41, 1.0), (3, 1.91, 2.0), (4, 2.24, 2.9), (5, 2.48, 3.8), (10, 3.18, 7.7))


def measured(value: float, n: int | None = 1, **more: object) -> EvidencedValue:
    return replace(EvidencedValue(value, Evidence.MEASURED, n=n), **more)  # type: ignore[arg-type]


def half_range(value: float, n: int | None, width: float) -> EvidencedValue:
    return measured(value, n, dispersion=width, dispersion_kind=DispersionKind.HALF_RANGE)


def ci95(value: float, n: int | None, width: float) -> EvidencedValue:
    return measured(value, n, dispersion=width, dispersion_kind=DispersionKind.CI95_HALF_WIDTH)


@pytest.mark.parametrize(("n", "mean_range", "degrees"), _PRINTED)
def test_the_law_of_ranges_is_the_printed_one(n: int, mean_range: float, degrees: float) -> None:
    law = range_law(n)
    assert law.mean_range == pytest.approx(mean_range, abs=0.006)
    assert law.degrees == pytest.approx(degrees, abs=0.06)


@pytest.mark.parametrize("n", [2, 4, 7])
def test_ranges_of_simulated_runs_give_the_true_variance(n: int) -> None:
    runs = np.random.default_rng(n).normal(10.0, 0.5, (20_000, n))
    widths = np.ptp(runs, axis=1) / 2.0
    squares = [
        (own_deviation(half_range(10.0, n, float(w))) or Deviation(0, 0)).deviation ** 2
        for w in widths[:4_000]
    ]
    assert np.mean(squares) == pytest.approx(0.25, rel=0.06)


def test_a_confidence_interval_gives_back_the_deviation_that_it_was_made_of() -> None:
    # Five runs: t_0.975,4 = 2.776445.
    found = own_deviation(ci95(10.0, 5, 2.776445 * 0.3 / sqrt(5)))
    assert found is not None
    assert found.deviation == pytest.approx(0.3, rel=1e-6)
    assert found.degrees == 4.0


def test_a_printed_range_counts_as_its_half() -> None:
    ends = measured(2.0, 4, low=1.5, high=2.5, dispersion_kind=DispersionKind.RANGE)
    assert own_deviation(ends) == own_deviation(half_range(2.0, 4, 0.5))


def test_a_half_range_without_n_is_one_of_two_runs() -> None:
    assert own_deviation(half_range(2.0, None, 0.5)) == own_deviation(half_range(2.0, 2, 0.5))


def test_a_single_run_knows_nothing_by_itself() -> None:
    assert own_deviation(measured(2.0)) is None
    assert spread_of(measured(2.0), None) is None
    found = spread_of(measured(2.0), Pool(Deviation(0.1, 7.0), None))
    assert found is not None
    assert found.standard_error == pytest.approx(0.2)
    assert found.degrees == 7.0
    assert found.origin is SpreadOrigin.POOLED


def test_a_single_run_with_an_interval_of_its_steps() -> None:
    found = spread_of(ci95(0.02, 1, 0.0196), Pool(Deviation(9.0, 9.0), Deviation(9.0, 9.0)))
    assert found is not None
    assert found.standard_error == pytest.approx(0.01, rel=1e-3)
    assert (found.degrees, found.origin) == (inf, SpreadOrigin.PAIRS)


@pytest.mark.parametrize("evidence", [Evidence.ANALYTICAL, Evidence.DESIGN_VALUE])
def test_what_was_not_measured_has_no_spread(evidence: Evidence) -> None:
    found = replace(half_range(1.0, 3, 0.1), evidence=evidence)
    assert spread_of(found, Pool(Deviation(0.1, 7.0), None)) is None


def test_own_runs_are_steadied_by_the_others() -> None:
    pool = Pool(Deviation(0.3, 30.0), Deviation(0.1, 6.0))
    found = spread_of(ci95(10.0, 3, 4.30265 * 3.0 / sqrt(3)), pool)  # its own s is 3.0
    assert found is not None
    wanted = sqrt((6.0 * 1.0**2 + 2.0 * 3.0**2) / 8.0)
    assert found.standard_error == pytest.approx(wanted / sqrt(3), rel=1e-5)
    assert (found.degrees, found.origin) == (8.0, SpreadOrigin.OWN_AND_POOLED)


def test_too_few_others_steady_nothing() -> None:
    pool = pool_of([Deviation(0.1, 2.0), Deviation(0.2, 2.0)])
    assert pool is not None
    assert pool.prior is None
    assert pool.mean.deviation == pytest.approx(sqrt(0.025))
    assert pool.mean.degrees == 4.0
    found = spread_of(half_range(10.0, 3, 1.0), pool)
    assert found is not None
    assert found.origin is SpreadOrigin.OWN
    assert pool_of([]) is None


def test_a_value_of_zero_keeps_its_own_spread() -> None:
    pool = Pool(Deviation(0.3, 30.0), Deviation(0.1, 6.0))
    found = spread_of(half_range(0.0, 2, 0.5), pool)
    assert found is not None
    assert found.origin is SpreadOrigin.OWN
    assert found.standard_error == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize("degrees", [3.0, 10.0])
def test_the_prior_is_found_again(degrees: float) -> None:
    """Variances about 0.04 by a scaled inverse chi-square law, each known from nine runs."""
    rng = np.random.default_rng(5)
    true = 0.04 * degrees / rng.chisquare(degrees, 20_000)
    seen = np.sqrt(true * rng.chisquare(8, true.size) / 8.0)
    pool = pool_of([Deviation(float(s), 8.0) for s in seen])
    assert pool is not None
    assert pool.prior is not None
    assert pool.prior.deviation == pytest.approx(0.2, rel=0.03)
    assert pool.prior.degrees == pytest.approx(degrees, rel=0.1)


def test_equal_deviations_are_taken_as_known() -> None:
    """Scatter as small as chance alone would make it leaves nothing to tell the points apart by."""
    pool = pool_of([Deviation(0.1, 5.0)] * 4)
    assert pool is not None
    assert pool.prior is not None
    assert pool.prior.degrees == inf
    assert moderated(Deviation(7.0, 2.0), pool.prior) == pool.prior


def test_single_runs_of_one_cell_repeat_one_another() -> None:
    """Under other faults; a number that two points share, of the same runs, counts once."""

    def restore(name: str, value: float) -> object:
        point = point_of("ft1", {Quantity.RESTORE: measured(value)})
        return replace(point, point_id=name)

    points = [restore("f1", 1.0), restore("f2", 1.2), restore("f3", 1.2)]
    pool = pooled_deviation(evidence_of(points), Quantity.RESTORE)  # type: ignore[arg-type]
    assert pool is not None
    assert pool.mean.degrees == 1.0
    assert pool.mean.deviation == pytest.approx(0.1 * sqrt(2.0) / 1.1)
    assert pooled_deviation(evidence_of([points[0]]), Quantity.RESTORE) is None  # type: ignore[list-item]
