"""Colours, markers and layout that all figures share.

Colour tells the mechanism (Okabe and Ito's palette, safe for the colour-blind, and a few more dark
enough to tell apart), shape tells the evidence. Backgrounds are transparent: the page decides.
"""

from collections.abc import Iterable, Mapping
from html import escape

import plotly.graph_objects as go

_PALETTE = (
    "#0072B2",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#CC79A7",
    "#D55E00",
    "#A68A00",
    "#7F7F7F",
    "#5B3A9B",
    "#8C564B",
)
GREY = "#9E9E9E"
SYMBOLS = {"M": "circle", "E": "diamond-open", "D": "square-open"}
EVIDENCE_NAMES = {"M": "measured", "E": "extrapolated", "D": "derived"}
_SERIES = (
    *("#4C78A8", "#F58518", "#72B7B2", "#54A24B", "#B279A2", "#9D755D", "#E45756", "#79706E"),
)


def mechanism_colors(mechanisms: Iterable[str]) -> Mapping[str, str]:
    """A colour for each mechanism, the same wherever the same mechanisms are listed."""
    return {name: _PALETTE[index % len(_PALETTE)] for index, name in enumerate(sorted(mechanisms))}


def safe(text: str) -> str:
    """Text from outside for a plotly label: its pseudo-HTML and %{templates} do not act."""
    return escape(text).replace("{", "&#123;")


def series_color(index: int) -> str:
    """Colours for what is no mechanism, such as the terms of Eq. (5)."""
    return _SERIES[index % len(_SERIES)]


def styled(figure: go.Figure, *, title: str, height: int = 380) -> go.Figure:
    """The shared layout: title on the left, legend below, nothing cut off."""
    return figure.update_layout(
        title={"text": title, "x": 0, "xanchor": "left", "font": {"size": 15}},
        height=height,
        margin={"l": 10, "r": 16, "t": 44, "b": 10},
        # The same distance below the axis title, however low the figure is.
        legend={"orientation": "h", "yanchor": "top", "y": -66 / max(height - 120, 60), "x": 0},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        hoverlabel={"align": "left"},
    )
