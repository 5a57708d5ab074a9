"""How the answer moves: slowdown over the MTBF, the map of winners, the tornado of inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, mechanism_colors, safe, styled
from advisor.inputs import BY_FIELD
from advisor.reports.words import input_value
from advisor.sensitivity import NOBODY, MtbfCurves, TornadoBar, WinnerMap
from advisor.units import format_bytes, format_duration, format_percent

_NOBODY_WORDS = "none fits"


def mtbf_figure(curves: MtbfCurves, mechanisms: Sequence[str], mtbf_s: float) -> go.Figure:
    """Slowdown of every candidate against the MTBF, both logarithmic; changes of winner marked."""
    colors = mechanism_colors(mechanisms)
    figure = go.Figure()
    for curve in curves.curves:
        figure.add_scatter(
            x=curves.mtbf_s,
            y=100.0 * curve.slowdown,
            name=safe(curve.mechanism.upper()),
            mode="lines",
            line={"color": colors[curve.mechanism], "width": 2},
            customdata=[format_duration(value) for value in curves.mtbf_s],
            hovertemplate="%{y:.3g} % longer at an MTBF of %{customdata}",
        )
    for change_s in curves.changes_s:
        figure.add_vline(
            x=change_s, line_dash="dash", line_color=GREY, annotation_text=format_duration(change_s)
        )
    figure.add_vline(x=mtbf_s, line_color=GREY, annotation_text="yours")
    ticks, labels = time_ticks(float(curves.mtbf_s[0]), float(curves.mtbf_s[-1]))
    figure.update_xaxes(type="log", title="MTBF of the job", tickvals=ticks, ticktext=labels)
    figure.update_yaxes(type="log", title="longer than failure-free (%)")
    figure.update_layout(hovermode="closest")
    return styled(figure, title="Expected time against the MTBF", height=420)


def winner_figure(found: WinnerMap, mechanisms: Sequence[str]) -> go.Figure:
    """Who wins at each MTBF and state size, one colour a mechanism, with a name on each region."""
    names = sorted({name for row in found.winner for name in row})
    colors = {**mechanism_colors(mechanisms), NOBODY: "#D9D9D9"}
    codes = [[names.index(name) for name in row] for row in found.winner]
    labels = [safe(name.upper()) if name else _NOBODY_WORDS for name in names]
    figure = go.Figure(
        go.Heatmap(
            x=found.mtbf_s,
            y=found.state_bytes,
            z=codes,
            text=[[labels[code] for code in row] for row in codes],
            customdata=[
                [f"{format_bytes(size)} a rank, MTBF {format_duration(m)}" for m in found.mtbf_s]
                for size in found.state_bytes
            ],
            hovertemplate="%{text}: %{customdata}<extra></extra>",
            colorscale=_steps([colors[name] for name in names]),
            zmin=-0.5,
            zmax=len(names) - 0.5,
            showscale=False,
        )
    )
    for name, label in zip(names, labels, strict=True):
        _add_key(figure, label, colors[name])
    figure.update_layout(showlegend=True)
    ticks, words = time_ticks(float(found.mtbf_s[0]), float(found.mtbf_s[-1]))
    figure.update_xaxes(
        type="log",
        title="MTBF of the job",
        tickvals=ticks,
        ticktext=words,
        range=_log_ends(found.mtbf_s),
    )
    sizes = [float(s) for s in np.geomspace(found.state_bytes[0], found.state_bytes[-1], 6)]
    figure.update_yaxes(
        type="log",
        title="state per rank",
        tickvals=sizes,
        ticktext=[format_bytes(float(f"{s:.2g}")) for s in sizes],
        range=_log_ends(found.state_bytes),
    )
    return styled(figure, title="Who finishes first", height=420)


def tornado_figure(bars: Sequence[TornadoBar], slowdown: float) -> go.Figure:
    """Slowdown with each input halved and doubled; a change of winner is written on the bar."""
    known = [b for b in bars if b.matters]
    figure = go.Figure()
    for title, ends, color in (
        ("halved", [b.low for b in known], "#4C78A8"),
        ("doubled", [b.high for b in known], "#F58518"),
    ):
        figure.add_bar(
            y=[_input_label(b.name) for b in known],
            x=[100.0 * ((e.slowdown or 0.0) - slowdown) for e in ends],
            base=100.0 * slowdown,
            name=title,
            orientation="h",
            marker_color=color,
            customdata=[
                f"{input_value(b.name, e.value)}: {format_percent(e.slowdown or 0.0)} longer, "
                f"{safe(e.winner.upper())}"
                for b, e in zip(known, ends, strict=True)
            ],
            text=[safe(e.winner.upper()) for e in ends],
            textangle=0,
            hovertemplate="%{y} %{customdata}<extra></extra>",
        )
    figure.update_layout(barmode="overlay", bargap=0.3)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title="longer than failure-free (%)")
    figure.add_vline(x=100.0 * slowdown, line_color=GREY)
    return styled(
        figure, title="Each input halved and doubled", height=150 + 40 * max(len(known), 1)
    )


def _log_ends(values: NDArray[Any]) -> list[float]:
    return [float(np.log10(values[0])), float(np.log10(values[-1]))]


def _input_label(field: str) -> str:
    return BY_FIELD[field].label


def _steps(colors: Sequence[str]) -> list[tuple[float, str]]:
    """A colour scale of flat steps, one a code."""
    edges = np.linspace(0.0, 1.0, len(colors) + 1)
    return [
        (float(edge), color)
        for index, color in enumerate(colors)
        for edge in (edges[index], edges[index + 1])
    ]


def _add_key(figure: go.Figure, label: str, color: str) -> None:
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={"symbol": "square", "size": 12, "color": color},
        name=label,
    )
