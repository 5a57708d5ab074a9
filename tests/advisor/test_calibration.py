"""Restores and sizes by a cluster's own calibration: the newest, the right sum, and said so."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.calibration import newest_fits, restore_transfer, save_transfer
from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import RestoreBasis, ScenarioInput
from db.records import (
    CalibrationPath,
    ClusterEvidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
    TransferPath,
)
from tests.advisor.calibrations import LINES, all_fits, fit
from tests.advisor.conftest import recommend

SMALL = 204_700_000
READ, PEER = LINES[CalibrationPath.STORAGE_READ], LINES[CalibrationPath.PEER]
DECODE, VERIFY = LINES[CalibrationPath.DESERIALISE], LINES[CalibrationPath.VERIFY]


@pytest.fixture
def calibrated(matilda: ClusterEvidence) -> ClusterEvidence:
    """The paper's points on a cluster that was calibrated by this program."""
    return replace(matilda, fits=all_fits(), calibrations=())


def answer(evidence: ClusterEvidence, size: int = SMALL, **rest: Any) -> Recommendation:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": size, "mtbf_s": 14400.0}
    return recommend(evidence, ScenarioInput(**(stated | rest)))


def candidate(found: Recommendation, mechanism: str) -> Candidate:
    return next(c for c in found.candidates if c.mechanism == mechanism)


def names(found: Recommendation) -> set[str]:
    return {c.mechanism for c in found.candidates}


def on(line: tuple[float, float], size: int) -> float:
    return line[0] + line[1] * size


@pytest.mark.parametrize("size", [SMALL, 400_000_000])
def test_a_restore_is_the_sum_of_the_paths_that_it_takes(
    calibrated: ClusterEvidence, size: int
) -> None:
    found = answer(calibrated, size, restore_basis=RestoreBasis.CALIBRATED)
    ft1, ft2 = candidate(found, "ft1"), candidate(found, "ft2")
    assert ft1.restore_s == pytest.approx(on(READ, size) + on(DECODE, size))
    assert ft2.restore_s == pytest.approx(2 * (on(PEER, size) + on(VERIFY, size)))
    (rule,) = [r for r in ft2.rules if r.startswith("restore: ")]
    assert rule.startswith("restore: calibrated transfer, 2 x (peer + verify) = 3 ms + size")
    (used,) = [u for u in ft2.used if u.quantity == "restore_s"]
    assert (used.evidence, used.n) == ("extrapolated", 72)
    assert used.value == pytest.approx(ft2.restore_s)
    assert not any("lower bound" in warning for warning in found.warnings)


def test_a_point_without_a_restore_gets_the_calibrated_one(calibrated: ClusterEvidence) -> None:
    """As where a mechanism was measured in runs without a fault only."""

    def without_restore(point: OperatingPoint) -> OperatingPoint:
        kept: dict[Quantity, EvidencedValue] = dict(point.values)
        kept.pop(Quantity.RESTORE, None)
        return replace(point, values=kept)

    bare = replace(calibrated, points=tuple(map(without_restore, calibrated.points)))
    found = answer(bare, restore_basis=RestoreBasis.CALIBRATED)
    expected = on(READ, SMALL) + on(DECODE, SMALL)
    assert candidate(found, "ft1").restore_s == pytest.approx(expected)
    assert "ft1" not in names(answer(bare))


def test_more_replicas_are_more_states_to_fetch(calibrated: ClusterEvidence) -> None:
    found = answer(calibrated, restore_basis=RestoreBasis.CALIBRATED)
    ft6 = candidate(found, "ft6")
    assert ft6.restore_s == pytest.approx(3 * (on(PEER, SMALL) + on(VERIFY, SMALL)))


def test_published_restores_stay_at_their_size_and_go_with_the_calibration_beyond(
    calibrated: ClusterEvidence, matilda: ClusterEvidence
) -> None:
    assert candidate(answer(calibrated), "ft1").restore_s == pytest.approx(0.155)
    larger = 400_000_000
    ft1 = candidate(answer(calibrated, larger), "ft1")
    ratio = (on(READ, larger) + on(DECODE, larger)) / (on(READ, SMALL) + on(DECODE, SMALL))
    assert ft1.restore_s == pytest.approx(0.155 * ratio)
    assert any("calibrated transfer by size" in rule for rule in ft1.rules)
    before = candidate(answer(matilda, larger), "ft1")
    assert before.restore_s == pytest.approx(0.155 * larger / SMALL)


def test_a_save_goes_with_the_calibration_where_saves_were_not_measured(
    calibrated: ClusterEvidence,
) -> None:
    """FT1's save was measured at one size only; FT2's at several, and those are nearer."""
    larger = 400_000_000
    found = answer(calibrated, larger, interval=100)
    ft1 = candidate(found, "ft1")
    write = LINES[CalibrationPath.STORAGE_WRITE]
    assert ft1.overhead == pytest.approx(0.0048 * on(write, larger) / on(write, SMALL), rel=1e-3)
    assert any("calibrated transfer: save time as storage write" in rule for rule in ft1.rules)
    assert not any("calibrated transfer: save" in r for r in candidate(found, "ft2").rules)


def test_far_beyond_the_calibrated_sizes_there_is_no_data(calibrated: ClusterEvidence) -> None:
    found = answer(calibrated, 2_600_000_000, restore_basis=RestoreBasis.CALIBRATED)
    (reason,) = [e.reason for e in found.excluded if e.mechanism == "ft3"]
    assert "no data" in reason or "too far" in reason
    assert "ft1" not in names(found)


def test_below_the_calibrated_sizes_the_latency_is_most_of_it(calibrated: ClusterEvidence) -> None:
    points = (p for p in calibrated.points if p.state_bytes == SMALL)
    small = replace(calibrated, points=tuple(replace(p, state_bytes=50_000) for p in points))
    found = answer(small, 50_000, restore_basis=RestoreBasis.CALIBRATED)
    assert candidate(found, "ft2").restore_s == pytest.approx(3e-3, rel=0.03)


def test_only_what_was_read_from_storage_goes_with_its_rate(calibrated: ClusterEvidence) -> None:
    found = answer(
        calibrated, restore_basis=RestoreBasis.CALIBRATED, storage_read_bytes_per_s=0.625e9
    )
    assert candidate(found, "ft1").restore_s == pytest.approx(
        2 * on(READ, SMALL) + on(DECODE, SMALL)
    )


def test_the_newest_calibration_of_a_path_counts(calibrated: ClusterEvidence) -> None:
    newer = fit(CalibrationPath.PEER, 2e-3, 1e-9, "20261201-000000-ff", "2026-12-01T00:00:00Z")
    fits = newest_fits(replace(calibrated, fits=(*calibrated.fits, newer)))
    assert fits[CalibrationPath.PEER, 2] is newer
    assert fits[CalibrationPath.STORAGE_READ, 1] in calibrated.fits


def test_a_device_adds_its_copy() -> None:
    copy = fit(CalibrationPath.HOST_TO_DEVICE, 1e-4, 1e-10)
    fits = {(each.path, each.processes): each for each in (*all_fits(), copy)}
    transfer = restore_transfer(fits, TransferPath.HOST_DEVICE, replicas=0)
    assert transfer is not None
    assert transfer.duration_s(SMALL) == pytest.approx(on(VERIFY, SMALL) + 1e-4 + 1e-10 * SMALL)
    assert "verify + host to device = " in transfer.in_words()


def test_what_was_not_calibrated_is_not_predicted() -> None:
    peer = {(each.path, each.processes): each for each in all_fits()}
    del peer[CalibrationPath.PEER, 2]
    assert restore_transfer(peer, TransferPath.HOST_DEVICE, replicas=1) is None
    assert restore_transfer(peer, TransferPath.NONE, replicas=0) is None
    assert save_transfer(peer, TransferPath.PEER) is None
    assert save_transfer(peer, TransferPath.NONE) is None
