"""From measured numbers to the costs of all candidates: what each number does to each cost.

The costs of a candidate (stall per save, restore, overhead, lost steps) and what all candidates
share (step time, detection, regrouping) come out of `predict` and `resolve`, which are asked again
with one number at a time moved to `_NODES` places of its law (law.py); no rule is written a second
time. Between the places each cost is a straight line, in the number or, where the cost is a
product, of both logarithms: exact for sums, products and quotients.

What several numbers do together is put together from what each does alone (a first-order
high-dimensional model representation: Rabitz and Alis 1999), as a sum of changes or as a product of
ratios: whichever of the two is nearer to predictions of `_TRIALS` draws of all numbers at once.
Exact for a cost that is a sum or a product; of a mixture the rest is left out.

Numbers that were not measured (analytical bounds, design values), or of which nothing says how far
they may be off, are held at their value and named.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from advisor.candidates import conditions_of
from advisor.characterization import baseline_points
from advisor.defaults import resolve
from advisor.optimizer import Conditions, CostModel
from advisor.prediction.outcome import NoPredictionError
from advisor.prediction.predict import predict
from advisor.recommendation import Candidate, HeldValue
from advisor.rules import Rule
from advisor.scenario import Scenario, ScenarioInput
from advisor.uncertainty.law import Key, UncertainValue, name_of, quantiles, value_at
from advisor.uncertainty.spread import MEASURED, pooled_deviation, spread_of
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
"""In standard errors: how far a number is moved to see whether it is in any cost at all."""
_NODES = (0.0, 0.01, 0.05, 0.15, 0.3, 0.5, 0.7, 0.85, 0.95, 0.99, 1.0)
"""Shares of its law below the places where each number is tabulated; its value is another."""
_TRIALS = 16

_OF_A_FIT = "of the fits of a calibration, whose intervals are not carried through"


@dataclass(frozen=True, eq=False, slots=True)
class TabledCosts:
    """Every candidate's costs as functions of the uncertain values.

    `models` hold the recommended intervals; those of `is_free` were chosen. A column is one cost:
    `COSTS` of each candidate in turn, then `SHARED`; `base` has them where nothing is off. `nodes`
    has [value, node]: deviations in standard errors, ascending, 0 among them. `changes` has
    [value, node, column]: what moving that value alone adds to the cost; where `is_product`, to
    its logarithm. `asked` predicts anew; without it the tables are all that is known.
    """

    mechanisms: tuple[str, ...]
    models: tuple[CostModel, ...]
    is_free: tuple[bool, ...]
    conditions: Conditions
    values: tuple[UncertainValue, ...]
    base: NDArray[np.float64]
    nodes: NDArray[np.float64]
    changes: NDArray[np.float64]
    is_product: NDArray[np.bool_]
    held: tuple[HeldValue, ...] = ()
    asked: "Asked | None" = None

    def tabled(self, off: NDArray[np.float64]) -> NDArray[np.float64]:
        """[column, draw]: the costs by the tables where the values are off by `off` standard
        errors ([value, draw])."""
        return np.array([self._tabled(column, off) for column in range(self.base.size)])

    def predicted(self, off: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same as the rules predict it in every draw; by the tables where a draw goes beyond a
        limit of the rules."""
        found = self.tabled(off)
        if self.asked is None or not self.values:
            return found
        numbers = np.array([value_at(v, z) for v, z in zip(self.values, off, strict=True)])
        keys = [value.key for value in self.values]
        for draw, moved in enumerate(numbers.T.tolist()):
            with suppress(NoPredictionError):
                found[:, draw] = self.asked.costs(dict(zip(keys, moved, strict=True)))
        return found

    def _tabled(self, column: int, off: NDArray[np.float64]) -> NDArray[np.float64]:
        base, is_product = float(self.base[column]), bool(self.is_product[column])
        change = np.zeros(off.shape[1])
        for row, value in enumerate(self.values):
            known = self.changes[row, :, column]
            if np.any(known) and np.any(off[row]):
                at, nodes = (_place(value, z, is_product) for z in (off[row], self.nodes[row]))
                change += np.interp(at, nodes, known)
        if is_product:
            return np.asarray(base * np.exp(change))
        return np.maximum(base + change, min(base, 0.0))


def tabled_costs(
    evidence: ClusterEvidence, scenario: Scenario, candidates: Sequence[Candidate]
) -> TabledCosts:
    """The costs of the candidates that Eq. (5) prices; the others are left out."""
    priced = [c for c in candidates if c.model is not None]
    mechanisms = tuple(c.mechanism for c in priced)
    points = {p.point_id: p for p in evidence.points}
    uncertain, held = _sorted_out(evidence, _keys(evidence, scenario, priced, points), points)
    asked = Asked(evidence, _inputs(scenario), mechanisms, points)
    base = asked.costs({})
    values = tuple(_moving(asked, uncertain, base))
    nodes = np.array([_nodes_of(value) for value in values]).reshape(len(values), len(_NODES) + 1)
    at_nodes = np.array(
        [_at_nodes(asked, value, z, base) for value, z in zip(values, nodes, strict=True)]
    ).reshape(*nodes.shape, base.size)
    sums = TabledCosts(
        mechanisms=mechanisms,
        models=tuple(_held_model(c) for c in priced),
        is_free=tuple(_is_free(c) for c in priced),
        conditions=replace(conditions_of(scenario), max_overhead=np.inf),
        values=values,
        base=base,
        nodes=nodes,
        changes=at_nodes - base,
        is_product=np.zeros(base.size, dtype=np.bool_),
        held=held,
        asked=asked,
    )
    return _sums_or_products(asked, sums, at_nodes)


def _sums_or_products(
    asked: "Asked", sums: TabledCosts, at_nodes: NDArray[np.float64]
) -> TabledCosts:
    """The tables with each column as a product where that is nearer to predicting anew, or as near;
    only what is above 0 everywhere can be one."""
    positive = (sums.base > 0.0) & np.all(at_nodes > 0.0, axis=(0, 1))
    logs = np.log(np.where(positive, at_nodes, 1.0)) - np.log(np.where(positive, sums.base, 1.0))
    products = replace(sums, changes=np.where(positive, logs, sums.changes), is_product=positive)
    rng = np.random.default_rng(_TRIALS)
    trials = np.array([quantiles(value, rng.random(_TRIALS)) for value in sums.values])
    off = trials.reshape(len(sums.values), _TRIALS)
    exact = products.predicted(off)
    miss_sum, miss_product = (
        np.abs(found.tabled(off) - exact).sum(axis=1) for found in (sums, products)
    )
    is_product = positive & (miss_product <= miss_sum * (1.0 + 1e-9) + 1e-12 * np.abs(sums.base))
    return replace(
        sums, changes=np.where(is_product, products.changes, sums.changes), is_product=is_product
    )


def _place(
    value: UncertainValue, off: NDArray[np.float64], is_product: bool
) -> NDArray[np.float64]:
    """Where a number stands on the axis on which a cost is a straight line."""
    found = value_at(value, off)
    return np.log(found) if is_product and value.value > 0.0 else found


def _nodes_of(value: UncertainValue) -> NDArray[np.float64]:
    """Deviations at which the value is tabulated, ascending; 0 is one of them."""
    return np.sort([*quantiles(value, np.array(_NODES)), 0.0])


def _at_nodes(
    asked: "Asked", value: UncertainValue, nodes: NDArray[np.float64], base: NDArray[np.float64]
) -> NDArray[np.float64]:
    """[node, column]: the costs with the value at each of its nodes, all others where they are.

    Where the value goes beyond a limit of the rules, the cost goes on from the last two nodes
    within it in a straight line, down to 0 at the least.
    """
    known: dict[int, NDArray[np.float64]] = {}
    numbers = value_at(value, nodes)
    for index, number in enumerate(numbers):
        with suppress(NoPredictionError):
            known[index] = base if nodes[index] == 0.0 else asked.costs({value.key: float(number)})
    inside = sorted(known)
    found = np.array([known.get(index, base) for index in range(len(nodes))])
    for index in range(len(nodes)):
        if index not in known and len(inside) > 1:
            a, b = inside[:2] if index < inside[0] else inside[-2:]
            share = (numbers[index] - numbers[a]) / (numbers[b] - numbers[a])
            found[index] = np.maximum(known[a] + share * (known[b] - known[a]), 0.0)
    return found


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
class Asked:
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


def _moving(
    asked: Asked, values: Sequence[UncertainValue], base: NDArray[np.float64]
) -> Iterator[UncertainValue]:
    """Each value that is in some cost.

    Found by halves, since most numbers of a large cluster are in none: where moving all of a half
    moves no cost, none of it is. The steps differ, so that no ratio of two numbers stays the same.
    """
    if not values:
        return
    if len(values) == 1:
        if any(_moves(asked, values, base, side) for side in (1.0, -1.0)):
            yield values[0]
        return
    if _moves(asked, values, base, 1.0) is not False:
        middle = len(values) // 2
        yield from _moving(asked, values[:middle], base)
        yield from _moving(asked, values[middle:], base)


def _moves(
    asked: Asked, values: Sequence[UncertainValue], base: NDArray[np.float64], side: float
) -> bool | None:
    """Whether the costs change where all of the values do; None beyond a limit of the rules."""
    steps = {v.key: v.value + side * _step(v) for v in values}
    try:
        return not np.array_equal(asked.costs(steps), base)
    except NoPredictionError:
        return None


def _step(value: UncertainValue) -> float:
    """In the unit of the value; its own for each number."""
    return _STEP * value.spread.standard_error * (0.5 + name_of(value) / 2**33)
