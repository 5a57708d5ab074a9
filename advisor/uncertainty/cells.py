"""Which cells the drawn numbers are of, what measuring each again is worth, and how to do it."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from advisor.recommendation import Recommendation, Uncertainty
from advisor.uncertainty.answer import uncertainty_of, why_not_priced
from advisor.uncertainty.law import DRAWS, SEED, UncertainValue, deviations
from advisor.uncertainty.measuring import NO_FAULT, Cell, command_of
from advisor.uncertainty.propagation import TabledCosts, tabled_costs
from advisor.uncertainty.value_of_information import information_value
from db.records import (
    MEASURED_SOURCE,
    Cadence,
    ClusterEvidence,
    OperatingPoint,
    Quantity,
)

FORMAT = "failbench-advisor-next"
VERSION = 1

_STEADY = frozenset({Quantity.OVERHEAD, Quantity.SAVE, Quantity.THROUGHPUT})
"""What runs without a fault show."""


@dataclass(frozen=True, slots=True)
class CellValue:
    """What measuring a cell is worth to the answer. Times in seconds of the whole job.

    `runs` so far; `one_more_s` and `perfect_s` are the expected drop in expected regret by one more
    run, and by knowing the cell's numbers exactly; `command` makes that run on the cluster.
    """

    cell: Cell
    quantities: tuple[str, ...]
    runs: int
    one_more_s: float
    perfect_s: float
    command: str


@dataclass(frozen=True, slots=True)
class Unvalued:
    """A number of a candidate whose worth cannot be said, since nothing says how far it is off."""

    point_id: str
    quantity: str
    reason: str
    command: str | None


@dataclass(frozen=True, slots=True)
class NextCells:
    """The cells behind an answer, the one most worth measuring first.

    `expected_regret_s` is the pick's; `perfect_s` what knowing all numbers exactly would save of
    it. Without cells because nothing is priced, `reason` says why.
    """

    cluster: str
    mechanism: str | None
    best_probability: float | None
    expected_regret_s: float | None
    perfect_s: float | None
    seed: int
    draws: int
    cells: tuple[CellValue, ...]
    unvalued: tuple[Unvalued, ...]
    reason: str | None = None


def next_cells(
    evidence: ClusterEvidence,
    found: Recommendation,
    seed: int = SEED,
    draws: int = DRAWS,
    costs: TabledCosts | None = None,
    known: Uncertainty | None = None,
) -> NextCells:
    """What to measure next, so that the answer gets surer.

    Where they are known already: `costs`, `tabled_costs` of the same answer, and `known`,
    `uncertainty_of` it with the same seed and draws.
    """
    cluster, reason = evidence.cluster.cluster, why_not_priced(found)
    if reason is not None:
        return NextCells(cluster, None, None, None, None, seed, draws, (), (), reason)
    if costs is None:
        costs = tabled_costs(evidence, found.scenario, found.candidates)
    if known is None:
        known = uncertainty_of(evidence, found, seed, draws, costs)
    off = deviations(costs.values, seed, draws)
    pick = known.chances[0]
    values = []
    for cell, rows in _cells(evidence, costs.values).items():
        runs = min(max(costs.values[row].n or 1, 1) for row in rows)
        worth = information_value(costs, off, rows, runs)
        quantities = tuple(sorted({costs.values[row].key[1].value for row in rows}))
        command = command_of(evidence, cell, runs if _is_own(evidence, costs, rows) else 0)
        values.append(CellValue(cell, quantities, runs, worth.one_more_s, worth.perfect_s, command))
    return NextCells(
        cluster=cluster,
        mechanism=pick.mechanism,
        best_probability=pick.best_probability,
        expected_regret_s=pick.expected_regret_s,
        perfect_s=known.perfect_s,
        seed=seed,
        draws=draws,
        cells=tuple(sorted(values, key=_rank)),
        unvalued=tuple(_unvalued(evidence, costs)),
    )


def as_json(found: NextCells) -> dict[str, Any]:
    """The document of docs/json.md."""
    cells = [
        asdict(each.cell)
        | {name: value for name, value in asdict(each).items() if name != "cell"}
        | {"quantities": list(each.quantities)}
        for each in found.cells
    ]
    unvalued = [asdict(each) for each in found.unvalued]
    return (
        {"format": FORMAT, "version": VERSION}
        | asdict(found)
        | {
            "cells": cells,
            "unvalued": unvalued,
        }
    )


def _rank(value: CellValue) -> tuple[float, float, str, str, str]:
    cell = value.cell
    return -value.one_more_s, -value.perfect_s, cell.architecture, cell.mechanism, cell.trace


def _cells(evidence: ClusterEvidence, values: Sequence[UncertainValue]) -> dict[Cell, list[int]]:
    """Which of the values each cell has, by their rows. Those of calibrations are of no cell."""
    points = {point.point_id: point for point in evidence.points}
    found: dict[Cell, list[int]] = {}
    for row, value in enumerate(values):
        point_id, quantity = value.key
        if point_id not in points:
            continue
        found.setdefault(_cell_of(evidence, points[point_id], quantity), []).append(row)
    return found


def _cell_of(evidence: ClusterEvidence, point: OperatingPoint, quantity: Quantity) -> Cell:
    on_warning = evidence.mechanisms[point.mechanism].cadence is Cadence.ON_WARNING
    steady = quantity in _STEADY and not (on_warning and quantity is Quantity.SAVE)
    return Cell(
        architecture=point.architecture,
        mechanism=point.mechanism,
        workload=point.workload,
        trace=NO_FAULT if steady else (point.trace or "F1").lower(),
        interval_steps=point.interval_steps,
        lead_s=None if steady else point.lead_s,
    )


def _unvalued(evidence: ClusterEvidence, costs: TabledCosts) -> Iterator[Unvalued]:
    points = {point.point_id: point for point in evidence.points}
    for held in costs.held:
        command = None
        if held.point_id in points:
            cell = _cell_of(evidence, points[held.point_id], Quantity(held.quantity))
            command = command_of(evidence, cell)
        yield Unvalued(held.point_id, held.quantity, held.reason, command)


def _is_own(evidence: ClusterEvidence, costs: TabledCosts, rows: Sequence[int]) -> bool:
    """Whether the cell's numbers are of this program's own runs, whose seeds begin at 0."""
    points = {point.point_id: point for point in evidence.points}
    sources = (
        points[costs.values[row].key[0]].values[costs.values[row].key[1]].source_id for row in rows
    )
    return all(source is None or source.startswith(MEASURED_SOURCE) for source in sources)
