"""A matrix of architectures and mechanisms whose squares have a colour and a label, so that colour
is not all that tells them apart."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.figures.theme import safe, styled


@dataclass(frozen=True, slots=True)
class SquareState:
    """What a square can be: its name, its colour, and what the legend says of it."""

    name: str
    color: str
    words: str


@dataclass(frozen=True, slots=True)
class Square:
    """One pair: the name of its state, what stands in it, and what it says when pointed at."""

    architecture: str
    mechanism: str
    state: str
    label: str
    words: str


def matrix(found: Sequence[Square], states: Sequence[SquareState], height: int = 440) -> go.Figure:
    """A heat map in the order of names; a pair without a square stays empty."""
    rows = sorted({each.architecture for each in found})
    columns = sorted({each.mechanism for each in found})
    at = {(each.architecture, each.mechanism): each for each in found}
    grid = [[at.get((row, column)) for column in columns] for row in rows]
    names = [state.name for state in states]
    figure = go.Figure(
        go.Heatmap(
            x=[safe(column.upper()) for column in columns],
            y=[safe(row.upper()) for row in rows],
            z=[[names.index(each.state) if each else None for each in row] for row in grid],
            text=[[each.label if each else "" for each in row] for row in grid],
            texttemplate="%{text}",
            customdata=[[safe(each.words) if each else "" for each in row] for row in grid],
            hovertemplate="%{y} with %{x}: %{customdata}<extra></extra>",
            hoverongaps=False,
            colorscale=_scale(states),
            zmin=-0.5,
            zmax=len(states) - 0.5,
            showscale=False,
            xgap=2,
            ygap=2,
        )
    )
    for state in states:
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"symbol": "square", "size": 12, "color": state.color},
            name=state.words,
        )
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(side="top")
    return styled(figure, title="", height=height)


def _scale(states: Sequence[SquareState]) -> list[tuple[float, str]]:
    count = len(states)
    return [
        (edge / count, state.color)
        for index, state in enumerate(states)
        for edge in (index, index + 1)
    ]
