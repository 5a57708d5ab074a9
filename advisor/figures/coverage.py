"""The matrix of architectures and mechanisms: what is possible, and what was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.figures.theme import safe, styled
from db.records import (
    ClusterEvidence,
    Evidence,
    OperatingPoint,
    PairStatus,
    PointOutcome,
    Quantity,
)

STATES = ("observed", "analytical", "missing", "degenerate", "infeasible")
STATE_WORDS = {
    "observed": "recovery observed",
    "analytical": "characterized, recovery analytical",
    "missing": "viable, not characterized",
    "degenerate": "degenerate",
    "infeasible": "infeasible",
}
_COLORS = {
    "observed": "#009E73",
    "analytical": "#56B4E9",
    "missing": "#D9D9D9",
    "degenerate": "#E69F00",
    "infeasible": "#D55E00",
}
_LETTERS = {
    "observed": "obs.",
    "analytical": "an.",
    "missing": "–",
    "degenerate": "D",
    "infeasible": "S",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair: its state, and why or by what."""

    architecture: str
    mechanism: str
    state: str
    words: str


def cells(evidence: ClusterEvidence) -> list[Cell]:
    """Every pair, architectures first."""
    return [
        _cell(evidence, architecture, mechanism, evidence.points_of(architecture, mechanism))
        for architecture in evidence.architectures
        for mechanism in evidence.mechanisms
    ]


def coverage(found: Sequence[Cell]) -> go.Figure:
    """A heat map with a letter in each cell, so that colour is not all that tells them apart."""
    rows = list(dict.fromkeys(c.architecture for c in found))
    columns = list(dict.fromkeys(c.mechanism for c in found))
    at = {(c.architecture, c.mechanism): c for c in found}
    grid = [[at[row, column] for column in columns] for row in rows]
    figure = go.Figure(
        go.Heatmap(
            x=[safe(c.upper()) for c in columns],
            y=[safe(r.upper()) for r in rows],
            z=[[STATES.index(c.state) for c in row] for row in grid],
            text=[[_LETTERS[c.state] for c in row] for row in grid],
            texttemplate="%{text}",
            customdata=[[safe(c.words) for c in row] for row in grid],
            hovertemplate="%{y} with %{x}: %{customdata}<extra></extra>",
            colorscale=_scale(),
            zmin=-0.5,
            zmax=len(STATES) - 0.5,
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    for state in STATES:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"symbol": "square", "size": 12, "color": _COLORS[state]},
            name=f"{_LETTERS[state]} {STATE_WORDS[state]}",
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(side="top")
    return styled(figure, title="", height=440)


def _cell(
    evidence: ClusterEvidence, architecture: str, mechanism: str, points: Sequence[OperatingPoint]
) -> Cell:
    pair = evidence.compatibility.get((architecture, mechanism))
    if pair is not None and pair.status is not PairStatus.VIABLE:
        return Cell(
            architecture, mechanism, pair.status.value, f"{pair.status.value}: {pair.reason}"
        )
    complete = [p for p in points if p.outcome is PointOutcome.COMPLETE]
    if any(_observed(p.values) for p in complete):
        traces = sorted({p.trace for p in complete if p.trace and _observed(p.values)})
        return Cell(
            architecture, mechanism, "observed", f"recovery observed under {', '.join(traces)}"
        )
    if any(v.value is not None for p in points for v in p.values.values()):
        return Cell(architecture, mechanism, "analytical", STATE_WORDS["analytical"])
    return Cell(architecture, mechanism, "missing", STATE_WORDS["missing"])


def _observed(values: Mapping[Quantity, object]) -> bool:
    """Whether some run resumed after the fault."""
    resumed = values.get(Quantity.RESUMED)
    value = getattr(resumed, "value", None)
    return bool(value) and getattr(resumed, "evidence", None) is Evidence.MEASURED


def _scale() -> list[tuple[float, str]]:
    count = len(STATES)
    return [
        (edge / count, _COLORS[state])
        for index, state in enumerate(STATES)
        for edge in (index, index + 1)
    ]
