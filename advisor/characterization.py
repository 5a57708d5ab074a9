"""Look-ups over one cluster's evidence: what was measured there, and which measurement is nearest.

Pure; `ClusterEvidence` in, numbers with their origin out.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import wraps
from statistics import median
from typing import Concatenate, ParamSpec, TypeVar

from advisor.errors import NoDataError, UserError
from advisor.transfer import LinearTransfer, fit_transfer
from advisor.units import format_bytes
from db.excerpt import ratio_distance, same_capabilities
from db.records import (
    Cadence,
    Calibration,
    ClusterEvidence,
    Evidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    PointOutcome,
    Quantity,
    TransferPath,
)

SAME_SIZE = 0.02
"""Within 2 % a size, rate or step time counts as the measured one."""

CONTINUES_AFTER_LOSS = "continues_after_loss"
SINGLE_FAILURE_TRACES = frozenset({"F1"})


P = ParamSpec("P")
T = TypeVar("T")


def kept(
    look_up: Callable[Concatenate[ClusterEvidence, P], T],
) -> Callable[Concatenate[ClusterEvidence, P], T]:
    """Computes once for each evidence and arguments; the results go when the evidence goes."""

    @wraps(look_up)
    def once(evidence: ClusterEvidence, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (look_up.__name__, args)
        if key not in evidence.kept:
            evidence.kept[key] = look_up(evidence, *args, **kwargs)
        found: T = evidence.kept[key]
        return found

    return once


def carry_over(
    evidence: ClusterEvidence, other: ClusterEvidence, *look_ups: Callable[..., object]
) -> None:
    """What these look-ups (`kept`) found in the evidence so far holds for the other one too."""
    names = {look_up.__name__ for look_up in look_ups}
    other.kept.update({key: found for key, found in evidence.kept.items() if key[0] in names})


@dataclass(frozen=True, slots=True)
class Origin:
    """A number and where it comes from, in words."""

    value: float
    words: str


def is_same(a: float, b: float) -> bool:
    return abs(a / b - 1.0) <= SAME_SIZE


def what_was_read(evidence: ClusterEvidence) -> Iterator[str]:
    """That an answer rests on a part of the operating points, and on which; else nothing."""
    part = evidence.excerpt
    if part is None:
        return
    names = ", ".join(name.upper() for name in part.architectures)
    read = f"the {part.read:,} operating points of {names} that count"
    if part.read < part.held:
        read = (
            f"of the {part.held:,} operating points of {names} that count, {part.read:,} of every "
            f"kind, those nearest to {format_bytes(part.state_bytes)} a rank"
        )
    yield (
        f"{evidence.cluster.cluster} has very many operating points, so not all of them were read, "
        f"but {read}: medians, fits and the checks of rules are over these"
    )


def require_architecture(evidence: ClusterEvidence, architecture: str) -> None:
    """Raises UserError with the known names, or NoDataError if nothing was measured on it."""
    require_known_architectures(evidence, (architecture,))
    measured = sorted({measured for measured, _ in evidence.points_by_pair})
    if architecture not in measured:
        raise NoDataError(
            f"cluster {evidence.cluster.cluster} has no measurement of {architecture}: "
            f"it has {', '.join(measured) or 'none at all'}"
        )


def require_known_architectures(evidence: ClusterEvidence, names: Iterable[str]) -> None:
    """Raises UserError with the known names."""
    for name in names:
        if name not in evidence.architectures:
            known = ", ".join(evidence.architectures)
            raise UserError(f"there is no architecture {name!r}: write one of {known}")


def require_mechanisms(evidence: ClusterEvidence, names: Iterable[str]) -> None:
    """Raises UserError with the known names."""
    for name in names:
        if name not in evidence.mechanisms:
            known = ", ".join(evidence.mechanisms)
            raise UserError(f"there is no mechanism {name!r}: write one of {known}")


def continues_after_loss(evidence: ClusterEvidence, architecture: str) -> bool:
    return CONTINUES_AFTER_LOSS in evidence.architectures[architecture].capabilities


def alike(evidence: ClusterEvidence, architecture: str) -> tuple[str, ...]:
    """The other architectures with the same capabilities, in order of name.

    They lay out and move state in the same way, so the cost of a save carries over.
    """
    return same_capabilities(evidence.architectures, architecture)


def value_of(point: OperatingPoint, quantity: Quantity) -> float | None:
    found = point.values.get(quantity)
    return found.value if found else None


def baseline_points(evidence: ClusterEvidence, architecture: str) -> list[OperatingPoint]:
    """Runs without a mechanism: they give throughput, detection and what a loss does; of the
    newest software stack first."""
    found = [
        p
        for name, mechanism in evidence.mechanisms.items()
        if mechanism.cadence is Cadence.NEVER
        for p in evidence.points_of(architecture, name)
    ]
    return sorted(found, key=_is_superseded)


def single_failure_points(evidence: ClusterEvidence, architecture: str) -> list[OperatingPoint]:
    """The baseline's runs that lost one worker, or whose source states no trace."""
    return [
        point
        for point in baseline_points(evidence, architecture)
        if point.trace is None or point.trace in SINGLE_FAILURE_TRACES
    ]


@kept
def step_time_s(
    evidence: ClusterEvidence,
    architecture: str,
    workload: str,
    software_stack: str | None = None,
    world_size: int | None = None,
    nodes: int | None = None,
) -> float | None:
    """batch / throughput (samples/s/rank) of the failure-free baseline; None if not measured.

    Of the baseline under the same software, ranks and nodes where there is one, also where it is
    set aside; else of the newest software. Of a run without a fault where there is one: it was
    observed for longest. `kept` tells calls apart by position: see `step_time_of`.
    """

    def order(point: OperatingPoint) -> tuple[bool, bool, bool, bool, bool]:
        return (
            point.software_stack != software_stack,
            point.world_size != world_size,
            point.nodes != nodes,
            _is_superseded(point),
            point.trace is not None,
        )

    points = baseline_points(evidence, architecture)
    points += _own_set_aside(evidence, architecture, software_stack)
    for point in sorted(points, key=order):
        throughput = value_of(point, Quantity.THROUGHPUT)
        if point.workload == workload and throughput and point.batch_per_rank:
            return point.batch_per_rank / throughput
    return None


def step_time_of(evidence: ClusterEvidence, point: OperatingPoint) -> float | None:
    """The step (s) that the overhead and the recovery of a point go with: that of the baseline that
    is most like it."""
    conditions = (point.software_stack, point.world_size, point.nodes)
    return step_time_s(evidence, point.architecture, point.workload, *conditions)


def _own_set_aside(
    evidence: ClusterEvidence, architecture: str, software_stack: str | None
) -> list[OperatingPoint]:
    """Baselines of a superseded stack that were measured anew: what else was measured under that
    stack, and counts still, goes with them."""
    return [
        p
        for p in evidence.set_aside
        if software_stack is not None
        and p.software_stack == software_stack
        and p.architecture == architecture
        and evidence.mechanisms[p.mechanism].cadence is Cadence.NEVER
    ]


def nearest_step_time_s(
    evidence: ClusterEvidence, architecture: str, state_bytes: int
) -> Origin | None:
    """Step time of the architecture's baseline whose state size is nearest."""
    candidates = [
        (_size_distance(state_bytes, p), p, time)
        for p in baseline_points(evidence, architecture)
        if (time := step_time_of(evidence, p)) is not None
        and value_of(p, Quantity.THROUGHPUT) is not None
    ]
    if not candidates:
        return None
    _, point, time = min(candidates, key=lambda item: (item[0], item[1].point_id))
    words = (
        f"measured on {architecture} with {point.workload} "
        f"({_table(point, Quantity.THROUGHPUT)}: batch / throughput){superseded_words(point)}"
    )
    if not is_same(state_bytes, point.state_bytes):
        words += f", whose state is {format_bytes(point.state_bytes)}: give yours if you know it"
    return Origin(time, words)


def detection_s(evidence: ClusterEvidence, architecture: str) -> Origin | None:
    """Time to detect a lost worker, as the baseline runs saw it.

    Those with the default group timeout if there are any, since a job has it unless told otherwise;
    else the fastest setting that was measured, which the origin names.
    """
    seen = [
        (_is_superseded(point), point.group_timeout_s is not None, time_s, point.point_id, point)
        for point in single_failure_points(evidence, architecture)
        if (time_s := value_of(point, Quantity.DETECTION)) is not None
    ]
    if not seen:
        return None
    _, stated, time_s, _, point = min(seen, key=lambda found: found[:4])
    words = f"measured on {architecture} ({_table(point, Quantity.DETECTION)})"
    words += superseded_words(point)
    conditions = point.values[Quantity.DETECTION].conditions
    return Origin(time_s, f"{words}: {conditions}" if stated and conditions else words)


def regroup_s(evidence: ClusterEvidence, architecture: str) -> Origin | None:
    """What a recovery takes beside detection and restore (T_PG and T_init), where it was measured.

    Less the step that ends it, which the job has to make anyway. The median over the architecture's
    points, of the newest software stack if there are any; None where no recovery and its restore
    were measured together.
    """
    rests = [
        (
            _is_superseded(p),
            max(recovery - restore - (step_time_of(evidence, p) or 0.0), 0.0),
        )
        for p in evidence.points
        if p.architecture == architecture
        and (recovery := _measured(p, Quantity.RECOVERY)) is not None
        and (restore := _measured(p, Quantity.RESTORE)) is not None
    ]
    if not rests:
        return None
    newest = [rest_s for superseded, rest_s in rests if not superseded]
    counted = newest or [rest_s for _, rest_s in rests]
    return Origin(
        median(counted),
        f"measured on {architecture}: recoveries less their restores and the step that ends them, "
        f"the median of {len(counted)} operating points; initialisation is in it"
        + ("" if newest else ", all under superseded software stacks"),
    )


def _measured(point: OperatingPoint, quantity: Quantity) -> float | None:
    found = point.values.get(quantity)
    return found.value if found and found.evidence is Evidence.MEASURED else None


def only_state_size(evidence: ClusterEvidence, architecture: str) -> Origin | None:
    """The size of one rank's state (B), where the architecture was measured at one only."""
    sizes = sorted({p.state_bytes for p in evidence.points if p.architecture == architecture})
    if not sizes or not is_same(sizes[0], sizes[-1]):
        return None
    words = f"the only size that was measured on {architecture} of {evidence.cluster.cluster}"
    return Origin(sizes[-1], words)


def bandwidth_bytes_per_s(evidence: ClusterEvidence, path: TransferPath) -> float | None:
    """As published, else as the cluster's newest calibration of the path found it (B/s)."""
    for calibration in evidence.calibrations:
        if calibration.path is path and calibration.quantity == "bandwidth_bytes_per_s":
            return calibration.value.value
    for fit in reversed(evidence.fits):
        if fit.path.value == path.value and fit.processes == 1 and fit.s_per_byte is not None:
            return 1.0 / fit.s_per_byte.value if fit.s_per_byte.value > 0.0 else None
    return None


def calibrated(evidence: ClusterEvidence, path: TransferPath) -> list[Calibration]:
    """The cluster's measured durations on a path (Table III), smallest size first."""
    return sorted(
        (
            c
            for c in evidence.calibrations
            if c.path is path
            and c.quantity == "duration_s"
            and c.value.evidence is Evidence.MEASURED
            and c.size_bytes is not None
            and c.value.value is not None
        ),
        key=lambda c: c.size_bytes or 0,
    )


def bound_excess(evidence: ClusterEvidence, path: TransferPath) -> tuple[float, float] | None:
    """How far measured durations lay above the analytical ones on a path: least and most.

    Fractions; None where the cluster has no size with both.
    """
    by_size: dict[int | None, dict[Evidence, float]] = {}
    for c in evidence.calibrations:
        if c.path is path and c.quantity == "duration_s" and c.value.value is not None:
            by_size.setdefault(c.size_bytes, {})[c.value.evidence] = c.value.value
    ratios = [
        found[Evidence.MEASURED] / found[Evidence.ANALYTICAL] - 1.0
        for found in by_size.values()
        if {Evidence.MEASURED, Evidence.ANALYTICAL} <= found.keys()
    ]
    return (min(ratios), max(ratios)) if ratios else None


@kept
def save_transfer(evidence: ClusterEvidence, mechanism: str) -> LinearTransfer | None:
    """A transfer fitted over every save that the cluster measured for the mechanism."""
    saves = [
        (p.state_bytes, save)
        for architecture in evidence.architectures
        for p in evidence.points_of(architecture, mechanism)
        if (save := value_of(p, Quantity.SAVE))
    ]
    if not saves:
        return None
    return fit_transfer([size for size, _ in saves], [time for _, time in saves])


def failed_points(
    evidence: ClusterEvidence, architectures: Iterable[str], mechanism: str
) -> list[OperatingPoint]:
    """Points whose runs deadlocked or failed before they could be measured."""
    return [
        p
        for architecture in architectures
        for p in evidence.points_of(architecture, mechanism)
        if p.outcome in (PointOutcome.DEADLOCK, PointOutcome.FAILED)
    ]


def nearest_point(
    evidence: ClusterEvidence,
    architectures: Iterable[str],
    mechanism: str,
    state_bytes: int,
    has_values: Callable[[OperatingPoint], bool],
    interval_steps: int | None = None,
) -> OperatingPoint | None:
    """The complete point nearest in state size, then in interval, then by name."""
    found = (
        p
        for architecture in architectures
        for p in evidence.points_of(architecture, mechanism)
        if p.outcome is PointOutcome.COMPLETE and has_values(p)
    )

    def distance(point: OperatingPoint) -> tuple[float, float, str]:
        interval = 1.0
        if interval_steps and point.interval_steps:
            interval = ratio_distance(interval_steps, point.interval_steps)
        return _size_distance(state_bytes, point), interval, point.point_id

    return min(found, key=distance, default=None)


def multi_failure_outcomes(
    evidence: ClusterEvidence, architecture: str, mechanism: Mechanism
) -> list[tuple[str, EvidencedValue]]:
    """(trace, share of runs that resumed) for every trace with more than one failure."""
    return [
        (p.trace, resumed)
        for p in evidence.points_of(architecture, mechanism.mechanism_id)
        if p.trace is not None
        and p.trace not in SINGLE_FAILURE_TRACES
        and (resumed := p.values.get(Quantity.RESUMED)) is not None
        and resumed.value is not None
    ]


def resumes_after_several(evidence: ClusterEvidence, architecture: str) -> bool:
    """Whether some mechanism's runs all resumed, under every trace with more than one failure."""
    outcomes = (
        multi_failure_outcomes(evidence, architecture, m) for m in evidence.mechanisms.values()
    )
    return any(seen and all(resumed.value == 1.0 for _, resumed in seen) for seen in outcomes)


def _size_distance(state_bytes: int, point: OperatingPoint) -> float:
    """How many times the one size is the other. A point of a superseded software stack counts as
    farther by what sizes may differ and still be the same."""
    distance = ratio_distance(state_bytes, point.state_bytes)
    return distance * (1.0 + SAME_SIZE) if _is_superseded(point) else distance


def superseded_words(point: OperatingPoint) -> str:
    """`, under a superseded software stack (...)`; nothing of a point of the newest one."""
    if point.superseded_by is None:
        return ""
    return f", under {point.software_stack}, which {point.superseded_by} superseded"


def _is_superseded(point: OperatingPoint) -> bool:
    return point.superseded_by is not None


def _table(point: OperatingPoint, quantity: Quantity) -> str:
    return point.values[quantity].table_ref or point.point_id
