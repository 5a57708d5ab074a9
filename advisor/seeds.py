"""How many more runs a tuple needs until its number is known well enough. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

from db.campaign_store import PlannedCell, Target
from db.pooling import mean_of
from db.records import RunQuantity, RunSummary, RunValidity

_QUANTITIES = (RunQuantity.OVERHEAD, RunQuantity.RECOVERY)


def runs_to_add(values: Sequence[float], planned: int, target: Target) -> int:
    """How many runs to add to the `planned` ones, of which valid ones gave these values.

    None where the half width of the 95 % interval is within `target.fraction` of the mean, where
    there is nothing to be measured, or beyond `target.most`. Otherwise as many as the spread so far
    makes probable (the interval narrows with the root of n), at most as many again as there are.
    """
    left = target.most - planned
    mean = mean_of(values)
    if left <= 0 or mean is None:
        return 0
    if mean.half_width is None:
        return 1
    wanted = target.fraction * abs(mean.value)
    if mean.half_width <= wanted:
        return 0
    if wanted == 0.0:
        return min(planned, left)
    needed = ceil(mean.n * (mean.half_width / wanted) ** 2) - mean.n
    return max(1, min(needed, planned, left))


def more_seeds(
    planned: Iterable[PlannedCell], runs: Iterable[RunSummary], target: Target
) -> list[dict[str, Any]]:
    """More cells of the tuples that need them, under the seeds after their last; the first more of
    each before the second."""
    values = _values(runs)
    added: list[tuple[int, dict[str, Any]]] = []
    for stem, cells in _tuples(planned).items():
        found = [values[cell.run_id] for cell in cells if cell.run_id in values]
        last = max(cells, key=lambda cell: cell.seed)
        count = runs_to_add(found, len(cells), target)
        added += [
            (number, _with_seed(last.parameters, stem, last.seed + number))
            for number in range(1, count + 1)
        ]
    return [cell for _, cell in sorted(added, key=lambda pair: pair[0])]


def _values(runs: Iterable[RunSummary]) -> dict[str, float]:
    """What each valid run is about: its overhead where nothing struck it, else its recovery."""
    found: dict[str, float] = {}
    for run in runs:
        known = (run.values.get(quantity) for quantity in _QUANTITIES)
        value = next((value for value in known if value is not None), None)
        if run.validity is RunValidity.VALID and value is not None:
            found[run.run_id] = value
    return found


def _tuples(planned: Iterable[PlannedCell]) -> Mapping[str, list[PlannedCell]]:
    """Cells that differ in seed only: those whose run ids differ in their end only."""
    found: dict[str, list[PlannedCell]] = {}
    for cell in planned:
        found.setdefault(cell.run_id.rpartition("-s")[0], []).append(cell)
    return found


def _with_seed(parameters: Mapping[str, Any], stem: str, seed: int) -> dict[str, Any]:
    changed = {"run_id": f"{stem}-s{seed}", "seed": seed}
    return {**parameters, **changed, "job": {**parameters["job"], **changed}}
