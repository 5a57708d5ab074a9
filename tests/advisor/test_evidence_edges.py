"""Evidence as other clusters may have it: noise below zero, no calibration, observed recoveries."""

import gc
import weakref
from dataclasses import replace
from typing import Any

import pytest

from advisor.report import make_report
from advisor.scenario import RestoreBasis, ScenarioInput
from db.records import ClusterEvidence, Evidence, EvidencedValue, OperatingPoint, Quantity
from tests.advisor.conftest import recommend

_SMALL = 204_700_000


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
        },
    )
    found = recommend(observed, asked(mechanisms=("ft7",), regroup_s=3.0, init_s=2.0))
    assert found.selected is not None
    assert found.selected.restore_s == pytest.approx(5.0)
    assert found.selected.pause_s == pytest.approx(601.7 + 10.0)
    larger = recommend(observed, asked(mechanisms=("ft7",), state_bytes=600_000_000))
    assert "observed at 204.7 MB a rank only" in next(
        e.reason for e in larger.excluded if e.mechanism == "ft7"
    )


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
