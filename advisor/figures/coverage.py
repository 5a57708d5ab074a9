"""The matrix of architectures and mechanisms: what is possible, and which traces were observed."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.coverage import Coverage, CoveredPair, CoveredTuple, TupleState
from advisor.figures.theme import safe, styled

STATES = ("observed", "partly", "analytical", "missing", "degenerate", "infeasible")
STATE_WORDS = {
    "observed": "observed under every trace",
    "partly": "observed under some traces",
    "analytical": "analytical: published numbers, no run",
    "missing": "missing: no run, no published number",
    "degenerate": "degenerate",
    "infeasible": "structurally infeasible",
}
_COLORS = {
    "observed": "#009E73",
    "partly": "#8FD3BF",
    "analytical": "#56B4E9",
    "missing": "#D9D9D9",
    "degenerate": "#E69F00",
    "infeasible": "#D55E00",
}
_LETTERS = {
    "observed": "",
    "partly": "",
    "analytical": "an.",
    "missing": "–",
    "degenerate": "D",
    "infeasible": "S",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One pair: its state, what stands in its cell, and what each of its traces is."""

    architecture: str
    mechanism: str
    state: str
    label: str
    words: str


def cells(found: Coverage) -> list[Cell]:
    """Every pair, architectures first."""
    return [_cell(pair, found.of_pair(pair.architecture, pair.mechanism)) for pair in found.pairs]


def _cell(pair: CoveredPair, tuples: Sequence[CoveredTuple]) -> Cell:
    state = _state(pair, tuples)
    label = _LETTERS[state] or f"{pair.observed}/{len(tuples)}"
    words = "; ".join(f"{each.trace} {tuple_words(each)}" for each in tuples)
    return Cell(pair.architecture, pair.mechanism, state, label, words)


def _state(pair: CoveredPair, tuples: Sequence[CoveredTuple]) -> str:
    if pair.observed:
        return "observed" if pair.observed == len(tuples) else "partly"
    states = [each.state for each in tuples]
    return str(TupleState.ANALYTICAL if TupleState.ANALYTICAL in states else states[0])


def tuple_words(each: CoveredTuple) -> str:
    """How the runs of a tuple ended, or its state where it has none."""
    if each.state is TupleState.OBSERVED:
        return ", ".join(f"{runs} {outcome}" for outcome, runs in each.outcomes.items())
    return str(each.state)


def coverage(found: Sequence[Cell]) -> go.Figure:
    """A heat map with a label in each cell, so that colour is not all that tells them apart."""
    rows = list(dict.fromkeys(c.architecture for c in found))
    columns = list(dict.fromkeys(c.mechanism for c in found))
    at = {(c.architecture, c.mechanism): c for c in found}
    grid = [[at[row, column] for column in columns] for row in rows]
    figure = go.Figure(
        go.Heatmap(
            x=[safe(c.upper()) for c in columns],
            y=[safe(r.upper()) for r in rows],
            z=[[STATES.index(c.state) for c in row] for row in grid],
            text=[[c.label for c in row] for row in grid],
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
            name=f"{_LETTERS[state]} {STATE_WORDS[state]}".strip(),
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(side="top")
    return styled(figure, title="", height=440)


def _scale() -> list[tuple[float, str]]:
    count = len(STATES)
    return [
        (edge / count, _COLORS[state])
        for index, state in enumerate(STATES)
        for edge in (index, index + 1)
    ]
