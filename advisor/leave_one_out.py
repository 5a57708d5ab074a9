"""How far the extrapolation rules are off on a cluster: points predicted without themselves.

Pure. Each operating point that a rule could have predicted is taken out of the evidence, predicted
from the rest by the functions of `prediction/`, and compared with what was measured at it. Its
cell is taken out with it: every point of the pair at the same workload, interval and state size,
which only repeats it. Each cell is left out in up to three ways, so that each rule is met:

its cell       what else the pair was measured at answers: state size, step time, interval
its pair       another architecture with the same capabilities answers
its restores   the calibration answers (`calibrated` restores; its samples are no points)

A comparison counts for every rule that its prediction needed. Only what was measured is compared:
what is analytical, or zero by design, would check arithmetic against arithmetic.

symbol  name here             unit  meaning
e       error_fraction        1     predicted / measured - 1
d       difference_fraction   1     (predicted - measured) / time of the steps that pay for it

The relative error of something that cannot be told from zero says nothing of the rule. Such points
are kept apart, with d. The steps that pay for a stall are those between two saves, so that d is an
error of the overhead: by how much Eq. (5) is off, failures left aside. For an emergency save or a
restore it is one step.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median

from advisor.calibration import newest_fits
from advisor.characterization import carry_over, is_same, kept, step_time_of, step_time_s
from advisor.prediction.intervals import interval_rule
from advisor.prediction.outcome import NoPredictionError
from advisor.prediction.predict import predict, predict_restore
from advisor.prediction.stalls import measured_stall
from advisor.recommendation import RuleCheck, RuleError
from advisor.rules import NEEDS, PARTS, AppliedRule, Part, Rule
from advisor.scenario import FailureRegime, FewerRanks, IntervalPolicy, RestoreBasis, Scenario
from db.records import (
    Cadence,
    ClusterEvidence,
    Evidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    PointOutcome,
    Quantity,
)

_EXTRAPOLATED = frozenset({Cadence.PERIODIC, Cadence.EVERY_STEP, Cadence.ON_WARNING})
"""Whose costs are stretched; the others are taken as observed, or not at all."""
_LONG_S = 1e9
"""A job and an MTBF so long that neither limits anything."""
_RESOLUTION_S = 1e-9
"""Nothing shorter can be told from zero."""

_Seen = set[tuple[Part, tuple[AppliedRule, ...]]]
"""The predictions of a cell that were compared, by the rules that they needed."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prediction of what one point took (s), and what was measured there.

    `error_fraction` is None where the measured time cannot be told from zero.
    """

    point_id: str
    architecture: str
    mechanism: str
    part: Part
    predicted_s: float
    measured_s: float
    error_fraction: float | None
    difference_fraction: float
    rules: tuple[AppliedRule, ...]


@dataclass(frozen=True, slots=True)
class NotPredicted:
    """What was measured, but not predicted by the rest: nothing is left, or nothing near enough."""

    point_id: str
    part: Part
    reason: str


@dataclass(frozen=True, slots=True)
class LeaveOneOut:
    """What each rule was off by; `checks` has every rule, whether it could be checked or not."""

    checks: tuple[RuleCheck, ...]
    comparisons: tuple[Comparison, ...]
    not_predicted: tuple[NotPredicted, ...]


@kept
def leave_one_out(evidence: ClusterEvidence) -> LeaveOneOut:
    """Every point that a rule can predict, predicted without itself. Computed once an evidence."""
    comparisons: list[Comparison] = []
    refused: dict[tuple[str, Part], NotPredicted] = {}
    for outcome in _outcomes(evidence):
        if isinstance(outcome, Comparison):
            comparisons.append(outcome)
        else:
            refused.setdefault((outcome.point_id, outcome.part), outcome)
    for each in comparisons:
        refused.pop((each.point_id, each.part), None)
    return LeaveOneOut(
        checks=tuple(_check(rule, comparisons) for rule in Rule),
        comparisons=tuple(comparisons),
        not_predicted=tuple(refused.values()),
    )


def checks_of(evidence: ClusterEvidence, rules: Sequence[AppliedRule]) -> tuple[RuleCheck, ...]:
    """How far each of the applied rules was off on the cluster, in their order."""
    if not any(PARTS[each.rule] for each in rules):
        return tuple(_check(each.rule, ()) for each in rules)
    found = {check.rule: check for check in leave_one_out(evidence).checks}
    return tuple(found[each.rule] for each in rules)


@dataclass(frozen=True, slots=True)
class _Target:
    """A point with what was measured at it (s), and by how much that may be off (s)."""

    point: OperatingPoint
    measured_s: float
    half_width_s: float


@dataclass(frozen=True, slots=True)
class _Cell:
    """The points of a pair that repeat each other, with what is needed to ask for them."""

    evidence: ClusterEvidence
    mechanism: Mechanism
    points: tuple[OperatingPoint, ...]
    pair: tuple[OperatingPoint, ...]
    step_s: float
    interval: int | None

    def scenario(self, basis: RestoreBasis) -> Scenario:
        """What would have to be asked to get the cell's own costs."""
        first = self.points[0]
        return Scenario(
            cluster=first.cluster,
            architecture=first.architecture,
            state_bytes=first.state_bytes,
            mtbf_s=_LONG_S,
            step_time_s=self.step_s,
            duration_s=_LONG_S * self.step_s,
            detection_s=0.0,
            regroup_s=0.0,
            init_s=0.0,
            interval=IntervalPolicy.AUTO if self.interval is None else self.interval,
            failure_regime=FailureRegime.SINGLE,
            fewer_ranks=FewerRanks.REFUSE,
            restore_basis=basis,
        )


def _outcomes(evidence: ClusterEvidence) -> Iterator[Comparison | NotPredicted]:
    noise = _noise_of_overheads(evidence)
    for mechanism in evidence.mechanisms.values():
        if mechanism.cadence not in _EXTRAPOLATED:
            continue
        for architecture in evidence.architectures:
            pair = tuple(
                p
                for p in evidence.points_of(architecture, mechanism.mechanism_id)
                if p.outcome is PointOutcome.COMPLETE
            )
            for points in _repeated(pair):
                first = points[0]
                step_s = step_time_of(evidence, first)
                if step_s is None:
                    yield from _without_step(points)
                    continue
                interval = first.interval_steps
                if mechanism.cadence is Cadence.EVERY_STEP:
                    interval = 1
                cell = _Cell(evidence, mechanism, points, pair, step_s, interval)
                yield from _left_out(cell, noise)


def _without_step(points: Iterable[OperatingPoint]) -> Iterator[NotPredicted]:
    """Nobody knows what would have to be asked for them."""
    for point in points:
        for quantity, part in ((Quantity.OVERHEAD, Part.STALL), (Quantity.RESTORE, Part.RESTORE)):
            for _ in _measured((point,), quantity):
                reason = f"no step time is known of {point.workload} without a mechanism"
                yield NotPredicted(point.point_id, part, reason)


def _repeated(points: Iterable[OperatingPoint]) -> Iterator[tuple[OperatingPoint, ...]]:
    """Groups of points at one workload, interval and (within 2 %) state size."""
    group: list[OperatingPoint] = []
    ordered = sorted(
        points, key=lambda p: (p.workload, p.interval_steps or 0, p.state_bytes, p.point_id)
    )
    for point in ordered:
        if group and not _repeats(group[0], point):
            yield tuple(group)
            group = []
        group.append(point)
    if group:
        yield tuple(group)


def _repeats(first: OperatingPoint, point: OperatingPoint) -> bool:
    return (
        first.workload == point.workload
        and first.interval_steps == point.interval_steps
        and is_same(point.state_bytes, first.state_bytes)
    )


def _left_out(cell: _Cell, noise: float) -> Iterator[Comparison | NotPredicted]:
    """The cell predicted from what is left, in each of the ways; the same prediction once."""
    seen: _Seen = set()
    rests = [_without(cell.evidence, cell.points)]
    if len(cell.pair) > len(cell.points):
        rests.append(_without(cell.evidence, cell.pair))
    for rest in rests:
        yield from _stalls(cell, rest, noise, seen)
        yield from _restores(cell, rest, RestoreBasis.PUBLISHED, seen)
    if cell.evidence.fits or cell.evidence.calibrations:
        rest = _without_restores(cell.evidence, cell.points)
        yield from _restores(cell, rest, RestoreBasis.CALIBRATED, seen)


def _without(evidence: ClusterEvidence, points: Sequence[OperatingPoint]) -> ClusterEvidence:
    left_out = {p.point_id for p in points}
    pair = (points[0].architecture, points[0].mechanism)
    rest = (p for p in evidence.points_of(*pair) if p.point_id not in left_out)
    return _with_pair(evidence, pair, rest)


def _without_restores(
    evidence: ClusterEvidence, points: Sequence[OperatingPoint]
) -> ClusterEvidence:
    """The points stay, since a calibrated restore is of their replicas, but not what they took."""
    left_out = {p.point_id for p in points}
    pair = (points[0].architecture, points[0].mechanism)

    def emptied(point: OperatingPoint) -> OperatingPoint:
        if point.point_id not in left_out:
            return point
        values: dict[Quantity, EvidencedValue] = {
            q: v for q, v in point.values.items() if q is not Quantity.RESTORE
        }
        return replace(point, values=values)

    return _with_pair(evidence, pair, map(emptied, evidence.points_of(*pair)))


def _with_pair(
    evidence: ClusterEvidence, pair: tuple[str, str], points: Iterable[OperatingPoint]
) -> ClusterEvidence:
    """No baseline is ever left out, so the step times stay as they are."""
    rest = evidence.with_pair(*pair, {p.point_id: p for p in points})
    carry_over(evidence, rest, step_time_s, newest_fits)
    return rest


def _stalls(
    cell: _Cell, rest: ClusterEvidence, noise: float, seen: _Seen
) -> Iterator[Comparison | NotPredicted]:
    """What training waits for: the stall per save, or the emergency save."""
    targets = list(_stalls_measured(cell, noise))
    if not targets:
        return
    try:
        prediction = predict(rest, cell.scenario(RestoreBasis.PUBLISHED), cell.mechanism)
    except NoPredictionError as refusal:
        yield from _not_predicted(targets, Part.STALL, refusal)
        return
    applied = (*prediction.rules, *interval_rule(prediction, cell.interval))
    on_warning = cell.mechanism.cadence is Cadence.ON_WARNING
    predicted_s = prediction.save_s if on_warning else prediction.model.stall_s
    assert predicted_s is not None
    yield from _compared(cell, targets, Part.STALL, predicted_s, applied, seen)


def _restores(
    cell: _Cell, rest: ClusterEvidence, basis: RestoreBasis, seen: _Seen
) -> Iterator[Comparison | NotPredicted]:
    targets = [
        _Target(point, found.value or 0.0, _half_width(found) or 0.0)
        for point, found in _measured(cell.points, Quantity.RESTORE)
    ]
    if not targets:
        return
    try:
        predicted_s, applied = predict_restore(rest, cell.scenario(basis), cell.mechanism)
    except NoPredictionError as refusal:
        if basis is RestoreBasis.PUBLISHED:
            yield from _not_predicted(targets, Part.RESTORE, refusal)
        return
    yield from _compared(cell, targets, Part.RESTORE, predicted_s, applied, seen)


def _stalls_measured(cell: _Cell, noise: float) -> Iterator[_Target]:
    if cell.mechanism.cadence is Cadence.ON_WARNING:
        for point, found in _measured(cell.points, Quantity.SAVE):
            yield _Target(point, found.value or 0.0, _half_width(found) or 0.0)
    elif cell.interval is not None:
        for point, found in _measured(cell.points, Quantity.OVERHEAD):
            stall = measured_stall(cell.evidence, cell.mechanism, point)
            if stall is None:
                continue
            if stall.quantity is Quantity.SAVE:  # timed by itself
                width_s = _half_width(point.values[stall.quantity]) or 0.0
            else:
                width = _half_width(found)
                width_s = (noise if width is None else width) * stall.between_saves_s
            yield _Target(point, stall.stall_s, width_s)


def _compared(
    cell: _Cell,
    targets: Iterable[_Target],
    part: Part,
    predicted_s: float,
    applied: Iterable[AppliedRule],
    seen: _Seen,
) -> Iterator[Comparison]:
    """Nothing where no rule was needed, or where the same prediction was compared already."""
    rules = tuple(each for each in applied if part in PARTS[each.rule])
    if not rules or (part, rules) in seen:
        return
    seen.add((part, rules))
    is_stall = part is Part.STALL and cell.mechanism.cadence is not Cadence.ON_WARNING
    paying_s = cell.step_s * (cell.interval or 1 if is_stall else 1)
    for target in targets:
        is_noise = target.measured_s <= max(target.half_width_s, _RESOLUTION_S)
        yield Comparison(
            point_id=target.point.point_id,
            architecture=target.point.architecture,
            mechanism=target.point.mechanism,
            part=part,
            predicted_s=predicted_s,
            measured_s=target.measured_s,
            error_fraction=None if is_noise else predicted_s / target.measured_s - 1.0,
            difference_fraction=(predicted_s - target.measured_s) / paying_s,
            rules=rules,
        )


def _not_predicted(
    targets: Iterable[_Target], part: Part, refusal: NoPredictionError
) -> Iterator[NotPredicted]:
    return (NotPredicted(target.point.point_id, part, refusal.reason) for target in targets)


def _measured(
    points: Iterable[OperatingPoint], quantity: Quantity
) -> Iterator[tuple[OperatingPoint, EvidencedValue]]:
    for point in points:
        found = point.values.get(quantity)
        if found and found.value is not None and found.evidence is Evidence.MEASURED:
            yield point, found


def _half_width(found: EvidencedValue) -> float | None:
    """By how much the value may be off; None where nobody repeated it."""
    if found.dispersion is not None:
        return found.dispersion
    if found.low is not None and found.high is not None:
        return (found.high - found.low) / 2.0
    return None


def _noise_of_overheads(evidence: ClusterEvidence) -> float:
    """What an overhead that nobody repeated may be off by: as much as the others, in the median.

    An overhead is a small difference of two long times, so one that was measured once may be all
    noise. A save or restore is timed itself, and needs no such guess.
    """
    widths = [
        width
        for _, found in _measured(evidence.points, Quantity.OVERHEAD)
        if (width := _half_width(found)) is not None
    ]
    return median(widths) if widths else 0.0


def _check(rule: Rule, comparisons: Sequence[Comparison]) -> RuleCheck:
    errors = [
        _error(part, of_part)
        for part in Part
        if (
            of_part := [
                c
                for c in comparisons
                if c.part is part and any(each.rule is rule for each in c.rules)
            ]
        )
    ]
    return RuleCheck(rule, tuple(errors), None if errors else NEEDS[rule])


def _error(part: Part, comparisons: Sequence[Comparison]) -> RuleError:
    errors = [c.error_fraction for c in comparisons if c.error_fraction is not None]
    apart = [abs(c.difference_fraction) for c in comparisons if c.error_fraction is None]
    sizes = [abs(error) for error in errors]
    return RuleError(
        part=part,
        n=len(errors),
        median_fraction=median(sizes) if sizes else None,
        largest_fraction=max(sizes, default=None),
        signed_median_fraction=median(errors) if errors else None,
        n_apart=len(apart),
        largest_apart_fraction=max(apart, default=None),
    )
