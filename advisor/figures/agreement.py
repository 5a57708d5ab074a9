"""Predictions against what was observed: how far each is off, over the time that it was about."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import plotly.graph_objects as go

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, safe, series_color, styled
from advisor.units import format_duration, format_percent

_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star")
_BAND = "rgba(158,158,158,0.22)"
_HEIGHT_PX = 360
_AIR = 1.2
"""How far the axis of errors goes beyond the largest one, as a factor."""


@dataclass(frozen=True, slots=True)
class Compared:
    """What was predicted and what was observed, seconds above zero; `kind` tells series apart."""

    kind: str
    words: str
    observed_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        """Predicted / observed - 1."""
        return self.predicted_s / self.observed_s - 1.0


def agreement(points: Sequence[Compared], tolerance: float) -> go.Figure:
    """The error of each prediction over what was observed, with the band of errors within
    `tolerance` (a fraction). Needs a point.

    Errors, and not predictions: over decades of time, a point that is 15 % off lies on the line.
    """
    times = [point.observed_s for point in points]
    low = floor(log10(min(times)))
    high = max(ceil(log10(max(times))), low + 1)
    ends = [10.0**low, 10.0**high]
    figure = go.Figure()
    _add_band(figure, ends, 100.0 * tolerance)
    for index, kind in enumerate(dict.fromkeys(point.kind for point in points)):
        _add_kind(figure, kind, [point for point in points if point.kind == kind], index)
    ticks, words = time_ticks(*ends)
    figure.update_xaxes(
        title="observed",
        type="log",
        range=[float(low), float(high)],
        tickvals=ticks,
        ticktext=words,
        zeroline=False,
    )
    largest = _AIR * 100.0 * max(tolerance, *(abs(point.error) for point in points))
    figure.update_yaxes(
        title="predicted - observed",
        range=[-largest, largest],
        ticksuffix=" %",
        zeroline=True,
        zerolinecolor=GREY,
        zerolinewidth=1.5,
    )
    return styled(figure, title="", height=_HEIGHT_PX).update_layout(margin={"t": 10})


def _add_band(figure: go.Figure, ends: Sequence[float], percent: float) -> None:
    figure.add_scatter(
        x=[*ends, *reversed(ends)],
        y=[percent, percent, -percent, -percent],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=_BAND,
        name=f"within {format_percent(percent / 100.0)}",
        hoverinfo="skip",
    )


def _add_kind(figure: go.Figure, kind: str, points: Sequence[Compared], index: int) -> None:
    figure.add_scatter(
        x=[point.observed_s for point in points],
        y=[100.0 * point.error for point in points],
        mode="markers",
        marker={
            "color": series_color(index),
            "symbol": _SYMBOLS[index % len(_SYMBOLS)],
            "size": 9,
        },
        name=safe(kind),
        customdata=[
            safe(
                f"{point.words}: observed {format_duration(point.observed_s)}, predicted "
                f"{format_duration(point.predicted_s)} ({format_percent(round(point.error, 4))})"
            )
            for point in points
        ],
        hovertemplate="%{customdata}<extra></extra>",
    )
