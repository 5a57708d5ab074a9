"""Evidence as other clusters may have it: noise below zero, no calibration, observed recoveries."""

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

from advisor.errors import UserError
from advisor.report import make_report
from advisor.scenario import FewerRanks, RestoreBasis, ScenarioInput
from db.records import (
    ClusterEvidence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
)
from tests.advisor.conftest import recommend

_SMALL = 204_700_000
_STEP_S = 0.1123
"""Of A2 there (batch / throughput)."""


def asked(**more: Any) -> ScenarioInput:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": _SMALL, "mtbf_s": 14400.0}
    return ScenarioInput(**(stated | more))


def measured(value: float) -> EvidencedValue:
    return EvidencedValue(value, Evidence.MEASURED, n=3, source_id="failbench-2026")


def changed(
    evidence: ClusterEvidence, mechanism: str, values: dict[Quantity, EvidencedValue]
) -> ClusterEvidence:
    """The A2 points of a mechanism with other values."""

    def other(point: OperatingPoint) -> OperatingPoint:
        if (point.architecture, point.mechanism) != ("a2", mechanism):
            return point
        return replace(point, values={**point.values, **values})

    return replace(evidence, points=tuple(map(other, evidence.points)))


def test_an_overhead_below_zero_is_taken_as_zero_and_said(matilda: ClusterEvidence) -> None:
    noisy = changed(matilda, "ft1", {Quantity.OVERHEAD: measured(-0.002)})
    found = recommend(noisy, asked(interval=100))
    ft1 = next(c for c in found.candidates if c.mechanism == "ft1")
    assert ft1.overhead == 0.0
    assert any("faster than without it" in rule for rule in ft1.rules)
    free = recommend(noisy, asked())
    assert free.selected is not None


def test_a_save_of_zero_seconds_fits_nothing(matilda: ClusterEvidence) -> None:
    odd = changed(matilda, "ft2", {Quantity.SAVE: measured(0.0)})
    assert recommend(odd, asked(architecture="a3", state_bytes=400_000_000)).candidates


def test_a_missing_calibration_is_said(matilda: ClusterEvidence) -> None:
    bare = replace(matilda, calibrations=())
    found = recommend(bare, asked(restore_basis=RestoreBasis.CALIBRATED))
    assert any("no calibration of storage read" in w for w in found.warnings)
    assert any("analytical lower bound" in w for w in found.warnings)


def test_an_observed_recovery_is_not_charged_twice(matilda: ClusterEvidence) -> None:
    observed = changed(
        matilda,
        "ft7",
        {
            Quantity.RESUMED: measured(1.0),
            Quantity.RECOVERY: measured(10.0),
            Quantity.LOST_STEPS: measured(1.0),
            Quantity.AGGREGATE_SLOWDOWN: measured(0.0),
        },
    )
    accepting = asked(
        mechanisms=("ft7",),
        regroup_s=3.0,
        init_s=2.0,
        fewer_ranks=FewerRanks.ACCEPT,
        duration_s=14400.0,
    )
    found = recommend(observed, accepting)
    assert found.selected is not None
    # Nor is the step that ends it: the job makes it anyway.
    assert found.selected.restore_s == pytest.approx(5.0 - _STEP_S, abs=1e-4)
    assert found.selected.pause_s == pytest.approx(601.7 + 10.0 - _STEP_S, abs=1e-4)
    larger = recommend(observed, asked(mechanisms=("ft7",), state_bytes=600_000_000))
    assert "observed at 204.7 MB a rank only" in next(
        e.reason for e in larger.excluded if e.mechanism == "ft7"
    )


def _goes_on(slowdown: float) -> dict[Quantity, EvidencedValue]:
    return {
        Quantity.RESUMED: measured(1.0),
        Quantity.RECOVERY: measured(10.0),
        Quantity.LOST_STEPS: measured(0.0),
        Quantity.AGGREGATE_SLOWDOWN: measured(slowdown),
    }


def test_going_on_with_fewer_ranks_has_to_be_accepted(matilda: ClusterEvidence) -> None:
    observed = changed(matilda, "ft7", _goes_on(0.0))
    refused = recommend(observed, asked(mechanisms=("ft7",)))
    assert refused.selected is None
    ft7 = next(e for e in refused.excluded if e.mechanism == "ft7")
    assert "another training: accept fewer ranks" in ft7.reason
    accepted = recommend(
        observed, asked(mechanisms=("ft7",), fewer_ranks=FewerRanks.ACCEPT, duration_s=14400.0)
    )
    assert accepted.selected is not None
    assert any("another training" in warning for warning in accepted.warnings)


@pytest.mark.parametrize(
    ("slowdown", "losses", "says"),
    [
        (0.125, 1, "12.5 % slower after each of 1 expected losses"),
        (0.02, 1, ""),
        (0.02, 3, "2 % slower after each of 3 expected losses"),  # 5.9 % in all
        (-0.1, 6, ""),
        (0.0, 7, "7 losses are expected, and it was measured with 8 ranks"),
        (None, 1, "an unknown share slower"),
    ],
)
def test_a_job_that_goes_on_slower_or_runs_out_of_ranks_is_outside_eq_5(
    matilda: ClusterEvidence, slowdown: float | None, losses: int, says: str
) -> None:
    values = _goes_on(slowdown or 0.0)
    if slowdown is None:
        values[Quantity.AGGREGATE_SLOWDOWN] = replace(measured(0.0), value=None)
    slower = changed(matilda, "ft7", values)
    found = recommend(
        slower,
        asked(mechanisms=("ft7",), fewer_ranks=FewerRanks.ACCEPT, duration_s=losses * 14400.0),
    )
    if says:
        assert says in next(e for e in found.excluded if e.mechanism == "ft7").reason
    else:
        assert found.selected is not None


@pytest.mark.parametrize(
    ("value", "half_width", "kind", "of_the_save"),
    [
        (0.03, 0.02, DispersionKind.CI95_HALF_WIDTH, True),
        (0.03, 0.005, DispersionKind.CI95_HALF_WIDTH, False),  # it costs more than its saves say
        (0.03, 0.02, DispersionKind.HALF_RANGE, False),  # published: no interval of ours
        (-0.03, 0.005, DispersionKind.CI95_HALF_WIDTH, True),  # nothing is faster than nothing
    ],
)
def test_the_more_precise_of_two_stalls_that_agree(
    matilda: ClusterEvidence,
    value: float,
    half_width: float,
    kind: DispersionKind,
    of_the_save: bool,
) -> None:
    step_s = 0.1123
    save_s = 0.02 * 100 * step_s  # 2 % at the measured interval of 100 steps
    overhead = replace(measured(value), dispersion=half_width, dispersion_kind=kind)
    known = changed(matilda, "ft2", {Quantity.OVERHEAD: overhead, Quantity.SAVE: measured(save_s)})
    found = recommend(known, asked(mechanisms=("ft2",), interval=100, step_time_s=step_s))
    assert found.selected is not None
    assert found.selected.overhead == pytest.approx(0.02 if of_the_save else 0.03, rel=0.02)
    used = {value.quantity for value in found.selected.used}
    assert (Quantity.SAVE.value in used) is of_the_save


def test_what_goes_on_behind_the_training_is_on_no_clock_of_a_save(
    matilda: ClusterEvidence,
) -> None:
    """FT3 writes in the background: its overhead counts, and its snapshots are the least of it."""
    step_s = 0.1123
    for overhead, expected in ((0.03, 0.03), (0.001, 0.004), (-0.01, 0.004)):
        wide = replace(
            measured(overhead), dispersion=0.05, dispersion_kind=DispersionKind.CI95_HALF_WIDTH
        )
        snapshot = measured(0.004 * 100 * step_s)
        known = changed(matilda, "ft3", {Quantity.OVERHEAD: wide, Quantity.SAVE: snapshot})
        found = recommend(known, asked(mechanisms=("ft3",), interval=100, step_time_s=step_s))
        assert found.selected is not None
        assert found.selected.overhead == pytest.approx(expected, rel=0.02)


def test_a_stall_is_taken_from_where_it_is_known_most_closely(matilda: ClusterEvidence) -> None:
    step_s = 0.1123

    def wide(value: float, half_width: float) -> EvidencedValue:
        kind = DispersionKind.CI95_HALF_WIDTH
        return replace(measured(value), dispersion=half_width, dispersion_kind=kind)

    known = changed(matilda, "ft1", {Quantity.OVERHEAD: wide(0.01, 0.02)})
    (point,) = [
        p for p in known.points_of("a2", "ft1") if p.state_bytes == _SMALL and p.interval_steps
    ][:1]
    # Every ten steps, with the same half width: ten times as well known. It has no restore.
    often = replace(
        point,
        point_id="often",
        interval_steps=10,
        trace=None,
        values={Quantity.OVERHEAD: wide(0.3, 0.02)},
    )
    found = recommend(
        replace(known, points=(*known.points, often)),
        asked(mechanisms=("ft1",), interval=100, step_time_s=step_s),
    )
    assert found.selected is not None
    assert found.selected.overhead == pytest.approx(0.03, rel=0.02)
    assert any(used.point_id == "often" for used in found.selected.used)
    assert any("from the measured 10 steps to 100" in rule for rule in found.selected.rules)


def test_regrouping_is_what_a_measured_recovery_takes_beside_its_restore(
    matilda: ClusterEvidence,
) -> None:
    known = changed(
        matilda, "ft2", {Quantity.RECOVERY: measured(3.5), Quantity.RESTORE: measured(1.5)}
    )
    scenario = recommend(known, asked()).scenario
    assert scenario.regroup_s == pytest.approx(2.0 - _STEP_S, abs=1e-4)
    assert "less their restores" in scenario.assumed["regroup_s"]
    assert recommend(matilda, asked()).scenario.regroup_s == 5.0
    assert recommend(known, asked(regroup_s=7.0)).scenario.regroup_s == 7.0


def test_the_only_measured_state_size_need_not_be_given(matilda: ClusterEvidence) -> None:
    one = replace(
        matilda,
        points=tuple(
            p for p in matilda.points if p.architecture != "a2" or p.state_bytes == _SMALL
        ),
    )
    scenario = recommend(one, asked(state_bytes=None)).scenario
    assert scenario.state_bytes == _SMALL
    assert "only size" in scenario.assumed["state_bytes"]
    with pytest.raises(UserError, match=r"state-size is missing: .* measured a2 with 204\.7 MB, "):
        recommend(matilda, asked(state_bytes=None))


def test_the_smallest_state_has_a_report(matilda: ClusterEvidence) -> None:
    tiny = recommend(matilda, asked(state_bytes=1))
    assert make_report(tiny, matilda).sensitivity is not None


def test_what_was_computed_from_evidence_goes_with_it(matilda: ClusterEvidence) -> None:
    copy = replace(matilda)
    recommend(copy, asked(state_bytes=300_000_000))
    assert copy.kept
    gone = weakref.ref(copy)
    del copy
    gc.collect()
    assert gone() is None
