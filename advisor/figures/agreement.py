"""Predictions against what was observed: points around the line on which both are the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import plotly.graph_objects as go

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, safe, series_color, styled
from advisor.units import format_duration, format_percent

_SYMBOLS = ("circle", "diamond", "square", "triangle-up", "x", "star")
_BAND = "rgba(158,158,158,0.18)"
_HEIGHT_PX = 420


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
    """Predicted over observed time, both axes alike and logarithmic, with the band within
    `tolerance` (a fraction) of the observed. Needs a point."""
    times = [s for point in points for s in (point.observed_s, point.predicted_s)]
    low, high = floor(log10(min(times))), ceil(log10(max(times)))
    ends = [10.0**low, 10.0 ** max(high, low + 1)]
    figure = go.Figure()
    _add_target(figure, ends, tolerance)
    for index, kind in enumerate(dict.fromkeys(point.kind for point in points)):
        _add_kind(figure, kind, [point for point in points if point.kind == kind], index)
    ticks, words = time_ticks(*ends)
    same = {
        "type": "log",
        "range": [log10(end) for end in ends],
        "tickvals": ticks,
        "ticktext": words,
        "zeroline": False,
    }
    figure.update_xaxes(title="observed", **same)
    figure.update_yaxes(title="predicted", **same)
    return styled(figure, title="", height=_HEIGHT_PX).update_layout(margin={"t": 10})


def _add_target(figure: go.Figure, ends: Sequence[float], tolerance: float) -> None:
    figure.add_scatter(
        x=[*ends, *reversed(ends)],
        y=[*(end * (1 + tolerance) for end in ends), *(e * (1 - tolerance) for e in ends[::-1])],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=_BAND,
        name=f"within {format_percent(tolerance)}",
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=ends,
        y=ends,
        mode="lines",
        line={"color": GREY, "dash": "dash", "width": 1.5},
        name="as observed",
        hoverinfo="skip",
    )


def _add_kind(figure: go.Figure, kind: str, points: Sequence[Compared], index: int) -> None:
    figure.add_scatter(
        x=[point.observed_s for point in points],
        y=[point.predicted_s for point in points],
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
