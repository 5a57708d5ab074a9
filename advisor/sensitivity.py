"""How the answer moves with its inputs: curves over the MTBF, a map of winners, a tornado.

Pure, and vectorised over the MTBF. "Slowdown" is expected completion time / failure-free time - 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from advisor.candidates import Consideration, conditions_of, consider
from advisor.changes import changes_along, halved
from advisor.optimizer import Conditions, CostModel, evaluate, sweep
from advisor.scenario import Scenario
from db.records import ClusterEvidence

NOBODY = ""
"""The winner where no mechanism satisfies the limits."""

_TOLERANCE = 1e-9
"""How closely (relative) an MTBF at which the winner changes is known."""

TORNADO_FACTOR = 2.0
"""Every input of the tornado is halved and doubled."""
TORNADO_INPUTS = (
    "mtbf_s",
    "state_bytes",
    "step_time_s",
    "detection_s",
    "regroup_s",
    "storage_write_bytes_per_s",
    "max_overhead",
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One candidate's slowdown over a grid of MTBFs; NaN where it is outside a limit."""

    mechanism: str
    slowdown: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class MtbfCurves:
    """`winner[i]` names the fastest at `mtbf_s[i]`; `changes_s` are the MTBFs where it changes."""

    mtbf_s: NDArray[np.float64]
    curves: tuple[Curve, ...]
    winner: tuple[str, ...]
    changes_s: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class WinnerMap:
    """`winner[row][column]` for `state_bytes[row]` and `mtbf_s[column]`."""

    mtbf_s: NDArray[np.float64]
    state_bytes: NDArray[np.int64]
    winner: tuple[tuple[str, ...], ...]

    @property
    def is_empty(self) -> bool:
        """Whether nothing fits anywhere."""
        return not any(name != NOBODY for row in self.winner for name in row)


@dataclass(frozen=True, slots=True)
class TornadoEnd:
    """The answer with one input moved; None where nothing satisfies the limits."""

    value: float
    slowdown: float | None
    winner: str


@dataclass(frozen=True, slots=True)
class TornadoBar:
    """One input halved and doubled, everything else held."""

    name: str
    low: TornadoEnd
    high: TornadoEnd

    @property
    def matters(self) -> bool:
        """Whether both ends have an answer, and a different one."""
        low, high = self.low.slowdown, self.high.slowdown
        return low is not None and high is not None and abs(high - low) > 1e-6


def mtbf_curves(
    evidence: ClusterEvidence, scenario: Scenario, mtbf_s: NDArray[np.float64]
) -> MtbfCurves:
    """Every candidate's slowdown over the grid, re-optimised at each MTBF if its interval is free.

    Candidates outside Eq. (5) (native degradation) have no curve.
    """
    named = _models(consider(evidence, scenario))
    conditions = replace(conditions_of(scenario), mtbf_s=mtbf_s)
    curves = tuple(
        Curve(name, _slowdown(evaluate(model, conditions).expected_s, conditions, mtbf_s.shape))
        for name, model in named
    )
    best = sweep([model for _, model in named], conditions).best
    winner = tuple(named[index][0] if index >= 0 else NOBODY for index in best)
    return MtbfCurves(mtbf_s, curves, winner, _changes(named, conditions, mtbf_s, best))


def winner_map(
    evidence: ClusterEvidence,
    scenario: Scenario,
    mtbf_s: NDArray[np.float64],
    state_bytes: NDArray[np.int64],
) -> WinnerMap:
    """Who wins for each MTBF and state size; native degradation wins where it is offered."""
    rows = tuple(
        _winners_over(evidence, replace(scenario, state_bytes=int(size)), mtbf_s)
        for size in state_bytes
    )
    return WinnerMap(mtbf_s, state_bytes, rows)


def tornado(evidence: ClusterEvidence, scenario: Scenario) -> tuple[TornadoBar, ...]:
    """Each input halved and doubled, the widest bar first. Inputs that are not set are left out."""
    bars = [
        TornadoBar(
            name,
            _end(evidence, scenario, name, 1.0 / TORNADO_FACTOR),
            _end(evidence, scenario, name, TORNADO_FACTOR),
        )
        for name in TORNADO_INPUTS
        if getattr(scenario, name)
    ]
    return tuple(sorted(bars, key=_width, reverse=True))


def mtbf_grid(around_s: float, decades: float = 2.0, points: int = 121) -> NDArray[np.float64]:
    """A logarithmic grid that reaches `decades` to either side."""
    return np.geomspace(around_s / 10**decades, around_s * 10**decades, points)


def _models(considered: Consideration) -> list[tuple[str, CostModel]]:
    return [(c.mechanism, c.model) for c in considered.candidates if c.model is not None]


def _slowdown(
    expected_s: NDArray[np.float64], conditions: Conditions, shape: tuple[int, ...]
) -> NDArray[np.float64]:
    relative = np.broadcast_to(expected_s, shape) / conditions.duration_s - 1.0
    return np.where(np.isfinite(relative), relative, np.nan)


def _changes(
    named: Sequence[tuple[str, CostModel]],
    conditions: Conditions,
    mtbf_s: NDArray[np.float64],
    best: NDArray[np.int64],
) -> tuple[float, ...]:
    """MTBFs at which the winner changes, bisected between the grid points around each change."""
    models = [model for _, model in named]

    def winner_at(value: float) -> int:
        return int(sweep(models, replace(conditions, mtbf_s=value)).best[0])

    values, winners = [float(value) for value in mtbf_s], [int(index) for index in best]
    return tuple(
        change.high for change in changes_along(winner_at, values, halved(_TOLERANCE), winners)
    )


def _winners_over(
    evidence: ClusterEvidence, scenario: Scenario, mtbf_s: NDArray[np.float64]
) -> tuple[str, ...]:
    considered = consider(evidence, scenario)
    first = considered.candidates[0] if considered.candidates else None
    if first is not None and first.native is not None:
        return (first.mechanism,) * len(mtbf_s)
    named = _models(considered)
    best = sweep(
        [model for _, model in named], replace(conditions_of(scenario), mtbf_s=mtbf_s)
    ).best
    return tuple(named[index][0] if index >= 0 else NOBODY for index in best)


def _end(evidence: ClusterEvidence, scenario: Scenario, name: str, factor: float) -> TornadoEnd:
    value = getattr(scenario, name) * factor
    moved = replace(scenario, **{name: max(1, round(value)) if name.endswith("_bytes") else value})
    candidates = consider(evidence, moved).candidates
    if not candidates:
        return TornadoEnd(value, None, NOBODY)
    return TornadoEnd(value, candidates[0].slowdown, candidates[0].mechanism)


def _width(bar: TornadoBar) -> float:
    if bar.low.slowdown is None or bar.high.slowdown is None:
        return float("inf")
    return abs(bar.high.slowdown - bar.low.slowdown)
