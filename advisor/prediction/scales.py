"""How many times the measured cost something is here: by size, by path, by the storage's rate."""

from advisor.calibration import newest_fits
from advisor.calibration import save_transfer as calibrated_save
from advisor.characterization import (
    bandwidth_bytes_per_s,
    is_same,
    nearest_point,
    save_transfer,
    value_of,
)
from advisor.prediction.limits import (
    MAX_SIZE_RATIO,
    MAX_STORAGE_RATE_RATIO,
    reaches,
    require_near,
)
from advisor.prediction.outcome import NoPredictionError
from advisor.prediction.trail import Trail, used_value
from advisor.rules import Rule
from advisor.scenario import Scenario
from advisor.units import format_bytes, format_bytes_per_s, format_number
from db.excerpt import ratio_distance
from db.records import ClusterEvidence, Mechanism, OperatingPoint, Quantity, TransferPath


def size_scale(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: Trail,
) -> float:
    """How many times the measured save this state size costs, by the fitted transfer. Raises
    NoPredictionError where the size is too far from what was measured."""
    size, measured = scenario.state_bytes, point.state_bytes
    if is_same(size, measured):
        return 1.0
    transfer = save_transfer(evidence, mechanism.mechanism_id)
    distance = ratio_distance(size, measured)
    inside = transfer is not None and transfer.min_bytes <= size <= transfer.max_bytes
    path = calibrated_save(newest_fits(evidence), mechanism.save_path)
    if not inside and path is not None and reaches(path, size) and reaches(path, measured):
        trail.apply(
            Rule.CALIBRATED_SAVE,
            f"state size: {format_bytes(size)} is {format_number(distance)} times from the nearest "
            f"measurement ({format_bytes(measured)}); calibrated transfer: save time as "
            f"{path.in_words()}",
        )
        return path.scale(size, measured)
    if not inside:
        require_near(
            f"a state of {format_bytes(size)} a rank",
            distance,
            f"the nearest measurement of {mechanism.mechanism_id.upper()} "
            f"({format_bytes(measured)} on {point.architecture.upper()})",
            MAX_SIZE_RATIO,
        )
    words = transfer.in_words() if transfer else "in proportion to the size"
    trail.apply(
        Rule.STATE_SIZE,
        f"state size: {format_bytes(size)} is {format_number(distance)} times from the nearest "
        f"measurement ({format_bytes(measured)}); save time = {words}",
    )
    return transfer.scale(size, measured) if transfer else size / measured


def path_scale(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mechanism: Mechanism,
    point: OperatingPoint,
    trail: Trail,
) -> float:
    """How much slower the path is here than where a carried-over stall was measured.

    By the saves of a mechanism that was measured on both architectures over the same path, several
    times on each: the quotient of two single runs was seen to be further off than none. 1 where
    there is none.
    """
    if point.architecture == scenario.architecture:
        return 1.0
    for other in evidence.mechanisms.values():
        if other.save_path is not mechanism.save_path:
            continue
        pair = [
            nearest_point(
                evidence, (architecture,), other.mechanism_id, point.state_bytes, _has_saves
            )
            for architecture in (scenario.architecture, point.architecture)
        ]
        here, there = pair
        if here and there and is_same(here.state_bytes, there.state_bytes):
            trail.used += [used_value(here, Quantity.SAVE), used_value(there, Quantity.SAVE)]
            ratio = (value_of(here, Quantity.SAVE) or 1.0) / (value_of(there, Quantity.SAVE) or 1.0)
            trail.apply(
                Rule.PATH_RATIO,
                f"a save over the same path took {format_number(ratio)} times as long on "
                f"{scenario.architecture.upper()} as on {point.architecture.upper()} "
                f"({other.mechanism_id.upper()})",
            )
            return ratio
    return 1.0


def storage_scale(
    evidence: ClusterEvidence, scenario: Scenario, path: TransferPath, trail: Trail
) -> float:
    """Measured rate / stated rate of the storage, where the path is storage at all. Raises
    NoPredictionError where a rate is stated that cannot be compared with one of the cluster's."""
    stated = storage_rate(scenario, path)
    if stated is None:
        return 1.0
    measured = bandwidth_bytes_per_s(evidence, path)
    name = path.value.replace("_", " ")
    if measured is None:
        raise NoPredictionError(
            f"a {name} rate of {format_bytes_per_s(stated)} is given, and the cluster has no "
            "measured one to compare it with: leave it out for the times as measured"
        )
    if is_same(stated, measured):
        return 1.0
    distance = ratio_distance(stated, measured)
    require_near(
        f"a {name} rate of {format_bytes_per_s(stated)}",
        distance,
        f"the measured {format_bytes_per_s(measured)}",
        MAX_STORAGE_RATE_RATIO,
    )
    trail.apply(
        Rule.STORAGE_RATE,
        f"{name}: {format_bytes_per_s(stated)} instead of the measured "
        f"{format_bytes_per_s(measured)}, time in proportion",
    )
    return measured / stated


def storage_rate(scenario: Scenario, path: TransferPath) -> float | None:
    """What the scenario states of this path, in bytes per second; None for others than storage."""
    return {
        TransferPath.STORAGE_WRITE: scenario.storage_write_bytes_per_s,
        TransferPath.STORAGE_READ: scenario.storage_read_bytes_per_s,
    }.get(path)


def _has_saves(point: OperatingPoint) -> bool:
    """Whether its save was measured more than once."""
    return bool(value_of(point, Quantity.SAVE)) and (point.values[Quantity.SAVE].n or 0) > 1
