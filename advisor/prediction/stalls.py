"""What one save costs the training, from the measured overhead: stall = O I t_step."""

from dataclasses import dataclass

from advisor.characterization import (
    is_same,
    nearest_step_time_s,
    step_time_of,
    value_of,
)
from advisor.prediction.limits import MAX_STEP_TIME_RATIO, require_near
from advisor.prediction.trail import Trail
from advisor.rules import Rule
from advisor.scenario import Scenario
from advisor.units import format_duration, format_number
from db.excerpt import ratio_distance
from db.records import (
    Cadence,
    ClusterEvidence,
    DispersionKind,
    Mechanism,
    OperatingPoint,
    Quantity,
    TransferPath,
)

_ALIKE = (
    *("workload", "state_bytes", "world_size", "nodes", "software_stack", "replicas", "storage"),
)


@dataclass(frozen=True, slots=True)
class MeasuredStall:
    """What one save cost the training at a point (s), `between_saves_s` of its own steps apart.

    By the saves' own clocks (`quantity` is SAVE), or overhead x `between_saves_s` (OVERHEAD).
    """

    stall_s: float
    quantity: Quantity
    between_saves_s: float


def measured_stall(
    evidence: ClusterEvidence, mechanism: Mechanism, point: OperatingPoint
) -> MeasuredStall | None:
    """The stall per save at the point itself, without a rule between.

    None where its overhead has no value, or where nobody knows its interval or its step time.
    """
    step_s = step_time_of(evidence, point)
    interval = 1 if mechanism.cadence is Cadence.EVERY_STEP else point.interval_steps
    if not interval or step_s is None or value_of(point, Quantity.OVERHEAD) is None:
        return None
    trail, between_saves_s = Trail(), interval * step_s
    stall_s = stall_per_save_s(mechanism, point, between_saves_s, trail)
    return MeasuredStall(stall_s, Quantity(trail.used[-1].quantity), between_saves_s)


def closest_known(evidence: ClusterEvidence, point: OperatingPoint) -> OperatingPoint:
    """Of the points that differ from this one in interval, faults and what only they meet, the one
    whose stall per save has the narrowest interval; itself where nothing says how wide its own is.

    A stall is overhead x interval, so that a short interval shows it more closely.
    """

    def width(other: OperatingPoint) -> float | None:
        found = other.values.get(Quantity.OVERHEAD)
        if found is None or found.dispersion is None or other.interval_steps is None:
            return None
        known = found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH and found.value is not None
        return found.dispersion * other.interval_steps if known else None

    own = width(point)
    if own is None:
        return point
    others = [
        (wide, other.point_id, other)
        for other in evidence.points_of(point.architecture, point.mechanism)
        if all(getattr(other, name) == getattr(point, name) for name in _ALIKE)
        and (wide := width(other)) is not None
        and wide < own
    ]
    return min(others, key=lambda each: each[:2])[2] if others else point


def stall_per_save_s(
    mechanism: Mechanism, point: OperatingPoint, between_saves_s: float, trail: Trail
) -> float:
    """What one save costs the training (s), from the measured overhead: stall = O I t_step.

    A run of ours knows it twice: from steps with and without the mechanism in turn, which
    holds all that it costs, and from the saves' own clocks, which are the more precise. They count
    as long as they lie within the 95 % interval of the overhead, and where it is below zero, which
    no mechanism is; else the overhead does. What goes on behind the training is on no clock of a
    save: there they are the least that it costs.
    """
    overhead = trail.use(point, Quantity.OVERHEAD)
    found, save_s = point.values[Quantity.OVERHEAD], value_of(point, Quantity.SAVE)
    if (
        save_s is not None
        and found.dispersion is not None
        and found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH
        and (overhead < 0.0 or abs(save_s / between_saves_s - overhead) <= found.dispersion)
        and (mechanism.persist_path is TransferPath.NONE or save_s > overhead * between_saves_s)
    ):
        return trail.use(point, Quantity.SAVE)
    if overhead < 0.0:
        trail.apply(
            Rule.NOISE_AS_ZERO, "measured as faster than without it, by noise: overhead taken as 0"
        )
    return max(overhead, 0.0) * between_saves_s


def stall_step_s(
    evidence: ClusterEvidence, scenario: Scenario, point: OperatingPoint, trail: Trail
) -> float:
    """The step time that turns the measured overhead into a stall per save (s). Raises
    NoPredictionError where the scenario's is too far from it."""
    own_step_s = step_time_of(evidence, point)
    if own_step_s is None:
        return _unpublished_step_s(evidence, scenario, point, trail)
    if is_same(scenario.step_time_s, own_step_s):
        return scenario.step_time_s
    distance = _step_distance(scenario, own_step_s)
    direction = "longer" if scenario.step_time_s > own_step_s else "shorter"
    trail.apply(
        Rule.STEP_TIME,
        "overhead = stall per save / (interval x step time): your step is "
        f"{format_number(distance)} times {direction} than the measured "
        f"{format_duration(own_step_s)}",
    )
    return own_step_s


def _unpublished_step_s(
    evidence: ClusterEvidence, scenario: Scenario, point: OperatingPoint, trail: Trail
) -> float:
    """The scenario's own step time, as long as it is plausible for the architecture."""
    known = nearest_step_time_s(evidence, point.architecture, point.state_bytes)
    if known is not None:
        _step_distance(scenario, known.value)
    assumed = ", which is itself assumed" if "step_time_s" in scenario.assumed else ""
    trail.notes.append(
        "its own step time was not published: the measured overhead is taken to hold at yours "
        f"({format_duration(scenario.step_time_s)}{assumed})"
    )
    return scenario.step_time_s


def _step_distance(scenario: Scenario, measured_s: float) -> float:
    distance = ratio_distance(scenario.step_time_s, measured_s)
    require_near(
        f"a step of {format_duration(scenario.step_time_s)}",
        distance,
        f"the measured {format_duration(measured_s)}",
        MAX_STEP_TIME_RATIO,
    )
    return distance
