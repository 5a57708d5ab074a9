"""From measured numbers to the costs of all candidates: how much of each number is in each cost.

The costs of a candidate (stall per save, restore, overhead, lost steps) and what all candidates
share (step time, detection, regrouping) come out of `predict` and `resolve`, which are asked again
with one number moved by about `_STEP` of its standard error; no rule is written a second time. The
costs are then taken to be linear in the numbers: exact for sums and for a product with one
uncertain factor; for a product of two with shares a and b of error, a b of it is left out. Which
measurement answers, and by which rules, stays as it was for the recommendation.

Numbers that were not measured (analytical bounds, design values), or of which nothing says how far
they may be off, are held at their value and named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from advisor.candidates import conditions_of
from advisor.characterization import baseline_points
from advisor.defaults import resolve
from advisor.optimizer import Conditions, CostModel
from advisor.prediction import NoPredictionError, predict
from advisor.recommendation import Candidate, HeldValue
from advisor.rules import Rule
from advisor.scenario import Scenario, ScenarioInput
from advisor.uncertainty.spread import MEASURED, Spread, pooled_deviation, spread_of
from db.records import (
    ClusterEvidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
)

COSTS = ("stall_s", "restore_s", "overhead", "lost_steps")
"""Of each candidate, as `CostModel` names them."""
SHARED = ("step_time_s", "detection_s", "regroup_s")
"""Of all candidates, as `Conditions` names them; those move that the scenario does not state."""
_STEP = 0.01

_OF_A_FIT = "of the fits of a calibration, whose intervals are not carried through"

Key = tuple[str, Quantity]
"""Which number: the operating point or published calibration, and the quantity."""


@dataclass(frozen=True, slots=True)
class UncertainValue:
    """A measured number, and how far it may be off."""

    key: Key
    value: float
    n: int | None
    spread: Spread


@dataclass(frozen=True, eq=False, slots=True)
class LinearCosts:
    """Every candidate's costs as linear functions of the uncertain values, about their values.

    `models` hold the recommended intervals; those of `is_free` were chosen. `slopes` has
    [value, candidate, cost] in the order of `COSTS`, `shared_slopes` [value, shared] in that of
    `SHARED`: change of the cost for a change of the value, in their units.
    """

    mechanisms: tuple[str, ...]
    models: tuple[CostModel, ...]
    is_free: tuple[bool, ...]
    conditions: Conditions
    values: tuple[UncertainValue, ...]
    slopes: NDArray[np.float64]
    shared_slopes: NDArray[np.float64]
    held: tuple[HeldValue, ...] = ()


def linear_costs(
    evidence: ClusterEvidence, scenario: Scenario, candidates: Sequence[Candidate]
) -> LinearCosts:
    """The costs of the candidates that Eq. (5) prices; the others are left out."""
    priced = [c for c in candidates if c.model is not None]
    mechanisms = tuple(c.mechanism for c in priced)
    models = tuple(_held_model(c) for c in priced)
    points = {p.point_id: p for p in evidence.points}
    uncertain, held = _sorted_out(evidence, _keys(evidence, scenario, priced, points), points)
    asked = _Asked(evidence, _inputs(scenario), mechanisms, points)
    found = list(_slopes(asked, uncertain, asked.costs({})))
    return LinearCosts(
        mechanisms=mechanisms,
        models=models,
        is_free=tuple(_is_free(c) for c in priced),
        conditions=replace(conditions_of(scenario), max_overhead=np.inf),
        values=tuple(value for value, _ in found),
        slopes=np.array([s[: -len(SHARED)] for _, s in found]).reshape(
            len(found), len(models), len(COSTS)
        ),
        shared_slopes=np.array([s[-len(SHARED) :] for _, s in found]).reshape(
            len(found), len(SHARED)
        ),
        held=held,
    )


def _held_model(candidate: Candidate) -> CostModel:
    assert candidate.model is not None
    return replace(candidate.model, interval_steps=candidate.interval_steps)


def _is_free(candidate: Candidate) -> bool:
    model = candidate.model
    return model is not None and model.is_periodic and model.interval_steps is None


def _inputs(scenario: Scenario) -> ScenarioInput:
    """The scenario with what was measured of it left open, so that `resolve` fills it in again."""
    values = {field.name: getattr(scenario, field.name) for field in fields(ScenarioInput)}
    open_again = [name for name in SHARED if name in scenario.assumed]
    return ScenarioInput(**(values | dict.fromkeys(open_again)))


def _keys(
    evidence: ClusterEvidence,
    scenario: Scenario,
    priced: Iterable[Candidate],
    points: Mapping[str, OperatingPoint],
) -> Iterator[Key]:
    """Every number that may be in a cost: those that the candidates name, those of the runs without
    a mechanism (step time, detection), and all saves where a line through them scales a stall."""
    architectures = {scenario.architecture}
    for candidate in priced:
        for used in candidate.used:
            yield used.point_id, Quantity(used.quantity)
            if used.point_id in points:
                architectures.add(points[used.point_id].architecture)
        if any(check.rule is Rule.STATE_SIZE for check in candidate.checks):
            for point in evidence.points:
                if point.mechanism == candidate.mechanism and Quantity.SAVE in point.values:
                    yield point.point_id, Quantity.SAVE
    for architecture in sorted(architectures):
        for point in baseline_points(evidence, architecture):
            for quantity in (Quantity.THROUGHPUT, Quantity.DETECTION):
                if quantity in point.values:
                    yield point.point_id, quantity


def _sorted_out(
    evidence: ClusterEvidence, keys: Iterable[Key], points: Mapping[str, OperatingPoint]
) -> tuple[list[UncertainValue], tuple[HeldValue, ...]]:
    """Each number once, by name: those that can be drawn, and the others with the reason.

    A calibrated duration knows its own dispersion or none: no other point is of its path and size.
    """
    calibrated = {each.calibration_id: each.value for each in evidence.calibrations}
    uncertain: list[UncertainValue] = []
    held: list[HeldValue] = []
    for name, quantity in sorted(set(keys)):
        if name in points:
            found = points[name].values[quantity]
            spread = spread_of(found, pooled_deviation(evidence, quantity))
        elif name in calibrated:
            found = calibrated[name]
            spread = spread_of(found, None)
        else:
            held.append(HeldValue(name, quantity.value, _OF_A_FIT))
            continue
        if found.value is None:
            continue
        if spread is None:
            held.append(HeldValue(name, quantity.value, _why_held(found)))
        elif spread.standard_error > 0.0:
            uncertain.append(UncertainValue((name, quantity), found.value, found.n, spread))
    return uncertain, tuple(held)


def _why_held(found: EvidencedValue) -> str:
    if found.evidence in MEASURED:
        return "measured once, and nothing like it on the cluster was measured several times"
    return f"not measured: {found.evidence.value.replace('_', ' ')}"


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is predicted again with some numbers moved."""

    evidence: ClusterEvidence
    inputs: ScenarioInput
    mechanisms: tuple[str, ...]
    points: Mapping[str, OperatingPoint]

    def costs(self, moved: Mapping[Key, float]) -> NDArray[np.float64]:
        """`COSTS` of each candidate, then `SHARED`, with the numbers that are named in `moved`
        replaced. Raises NoPredictionError."""
        evidence = self._with(moved) if moved else self.evidence
        scenario = resolve(self.inputs, evidence)
        models = [
            predict(evidence, scenario, evidence.mechanisms[m]).model for m in self.mechanisms
        ]
        costs = [getattr(model, name) for model in models for name in COSTS]
        return np.array([*costs, *(getattr(scenario, name) for name in SHARED)], dtype=np.float64)

    def _with(self, moved: Mapping[Key, float]) -> ClusterEvidence:
        changed: dict[str, OperatingPoint] = {}
        numbers = {name: number for (name, _), number in moved.items() if name not in self.points}
        for (name, quantity), number in moved.items():
            if name in self.points:
                point = changed.get(name, self.points[name])
                value = replace(point.values[quantity], value=number)
                changed[name] = replace(point, values={**point.values, quantity: value})
        return replace(
            self.evidence,
            points=tuple(changed.get(p.point_id, p) for p in self.evidence.points),
            calibrations=tuple(
                replace(c, value=replace(c.value, value=numbers[c.calibration_id]))
                if c.calibration_id in numbers
                else c
                for c in self.evidence.calibrations
            ),
        )


def _slopes(
    asked: _Asked, values: Sequence[UncertainValue], base: NDArray[np.float64]
) -> Iterator[tuple[UncertainValue, NDArray[np.float64]]]:
    """Each value that is in some cost, with its slopes in the order of `_Asked.costs`.

    Found by halves, since most numbers of a large cluster are in none: where moving all of a half
    moves no cost, none of it is. The steps differ, so that no ratio of two numbers stays the same.
    """
    if not values:
        return
    if len(values) == 1:
        slopes = _slope(asked, values[0], base)
        if np.any(slopes):
            yield values[0], slopes
        return
    try:
        moved = asked.costs({value.key: value.value + _step(value) for value in values})
    except NoPredictionError:
        moved = None
    if moved is None or not np.array_equal(moved, base):
        middle = len(values) // 2
        yield from _slopes(asked, values[:middle], base)
        yield from _slopes(asked, values[middle:], base)


def _slope(asked: _Asked, value: UncertainValue, base: NDArray[np.float64]) -> NDArray[np.float64]:
    """Change of each cost for a change of the value, over a step to either side. Where a step goes
    beyond a limit of the rules, at which the number stands, the other side alone says it."""
    sides: list[NDArray[np.float64]] = []
    for step in (_step(value), -_step(value)):
        with suppress(NoPredictionError):
            sides.append((asked.costs({value.key: value.value + step}) - base) / step)
    return np.mean(sides, axis=0) if sides else np.zeros_like(base)


def _step(value: UncertainValue) -> float:
    """In the unit of the value; its own for each number."""
    name = crc32(f"{value.key[0]}|{value.key[1].value}".encode())
    return _STEP * value.spread.standard_error * (0.5 + name / 2**33)
