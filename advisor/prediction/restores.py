"""How long the state takes to come back: as published and scaled, or as the cluster's calibration
says."""

from collections.abc import Sequence

import numpy as np

from advisor.calibration import CalibratedTransfer, newest_fits, restore_transfer
from advisor.characterization import calibrated, is_same
from advisor.prediction.limits import MAX_SIZE_RATIO, reaches, require_near
from advisor.prediction.scales import storage_scale
from advisor.prediction.trail import Trail, used_from
from advisor.rules import Rule
from advisor.scenario import RestoreBasis, Scenario
from advisor.units import format_bytes, format_number
from db.excerpt import ratio_distance
from db.records import (
    Calibration,
    ClusterEvidence,
    Evidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    Quantity,
)


def restore_time_s(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: Trail,
) -> float:
    """Time to bring the state back (s), without a save made at the failure. Raises
    NoPredictionError where nothing was measured near enough."""
    storage = storage_scale(evidence, scenario, mechanism.restore_path, trail)
    transfer = calibrated_restore(evidence, mechanism, point)
    if scenario.restore_basis is RestoreBasis.CALIBRATED:
        if transfer is not None:
            return _transfer_s(transfer, scenario.state_bytes, storage, trail)
        found = calibrated(evidence, mechanism.restore_path)
        if found:
            return storage * _calibrated_s(found, scenario.state_bytes, trail)
        trail.notes.append(
            f"{evidence.cluster.cluster} has no calibration of "
            f"{mechanism.restore_path.value.replace('_', ' ')}: the published restore is used"
        )
    published_s = trail.use(point, Quantity.RESTORE)
    size, measured = scenario.state_bytes, point.state_bytes
    if is_same(size, measured):
        return published_s * storage
    if transfer is not None and reaches(transfer, size) and reaches(transfer, measured):
        trail.apply(
            Rule.CALIBRATED_RESTORE_SIZE,
            f"restore: calibrated transfer by size, {transfer.in_words()}",
        )
        return published_s * storage * transfer.scale(size, measured)
    trail.apply(
        Rule.RESTORE_SIZE,
        f"restore: in proportion to the size, {format_number(ratio_distance(size, measured))} "
        f"times from the nearest ({format_bytes(measured)})",
    )
    return published_s * storage * size / measured


def calibrated_restore(
    evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint
) -> CalibratedTransfer | None:
    """The calibrated restore, with as many replicas as the point has; None where a part of it was
    not calibrated."""
    replicas = point.replicas or mechanism.default_replicas
    return restore_transfer(newest_fits(evidence), mechanism.restore_path, replicas)


def _transfer_s(
    transfer: CalibratedTransfer, state_bytes: int, storage: float, trail: Trail
) -> float:
    """The restore that the cluster's own calibration predicts (s)."""
    if not reaches(transfer, state_bytes):
        require_near(
            f"a restore of {format_bytes(state_bytes)}",
            state_bytes / transfer.largest_bytes,
            f"the largest calibrated size ({format_bytes(transfer.largest_bytes)})",
            MAX_SIZE_RATIO,
        )
    predicted_s = transfer.duration_s(state_bytes, storage)
    words = transfer.in_words()
    trail.apply(
        Rule.CALIBRATED_RESTORE,
        f"restore: calibrated transfer, {words}; what ranks agree on is not in it",
    )
    trail.used.append(
        used_from(
            f"calibration {', '.join(transfer.sessions)}",
            Quantity.RESTORE,
            EvidencedValue(
                predicted_s,
                Evidence.EXTRAPOLATED,
                n=transfer.samples,
                conditions=words,
                source_id=transfer.terms[0].fit.source_id,
            ),
        )
    )
    return predicted_s


def _calibrated_s(found: Sequence[Calibration], state_bytes: int, trail: Trail) -> float:
    """The measured time for this size, or one between or beyond the measured sizes (s)."""
    sizes = [float(c.size_bytes or 0) for c in found]
    times = [c.value.value or 0.0 for c in found]
    for each, size, time in zip(found, sizes, times, strict=True):
        if is_same(state_bytes, size):
            trail.used.append(used_from(each.calibration_id, Quantity.RESTORE, each.value))
            return time
    trail.used += [used_from(c.calibration_id, Quantity.RESTORE, c.value) for c in found]
    if sizes[0] < state_bytes < sizes[-1]:
        trail.apply(Rule.CALIBRATED_DURATIONS, "restore: interpolated between the calibrated sizes")
        return float(np.interp(state_bytes, sizes, times))
    nearest = min(sizes, key=lambda size: ratio_distance(state_bytes, size))
    require_near(
        f"a restore of {format_bytes(state_bytes)}",
        ratio_distance(state_bytes, nearest),
        f"the nearest calibrated size ({format_bytes(nearest)})",
        MAX_SIZE_RATIO,
    )
    trail.apply(
        Rule.CALIBRATED_DURATIONS,
        f"restore: in proportion from the nearest calibrated size ({format_bytes(nearest)})",
    )
    return times[sizes.index(nearest)] * state_bytes / nearest
