"""How the answer moves: slowdown over the MTBF, the map of winners, the tornado of inputs."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, mechanism_colors, safe, styled
from advisor.inputs import BY_FIELD
from advisor.reports.words import input_value, limit_words
from advisor.scenario import Scenario
from advisor.sensitivity import NOBODY, MtbfCurves, TornadoBar, WinnerMap
from advisor.units import format_bytes, format_duration, format_percent

_NOBODY_WORDS = "none fits, or no data"


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
    for row, change_s in enumerate(curves.changes_s, start=1):
        _mark(figure, change_s, format_duration(change_s), row, "dash")
    _mark(figure, mtbf_s, "yours", 0, "solid")
    ticks, labels = time_ticks(float(curves.mtbf_s[0]), float(curves.mtbf_s[-1]))
    figure.update_xaxes(type="log", title="MTBF of the job", tickvals=ticks, ticktext=labels)
    figure.update_yaxes(type="log", title="longer than failure-free (%)", tickvals=_decades(curves))
    figure.update_layout(hovermode="closest")
    return styled(figure, title="Expected time against the MTBF", height=420)


def _decades(curves: MtbfCurves) -> list[float] | None:
    """Percentages to write; None, which is plotly's own choice, where fewer than two are inside."""
    shown = np.concatenate([100.0 * c.slowdown for c in curves.curves])
    shown = np.log10(shown[shown > 0.0])
    if not shown.size:
        return None
    inside = np.arange(np.ceil(shown.min()), np.floor(shown.max()) + 1.0)
    return [float(v) for v in 10.0**inside] if len(inside) > 1 else None


def _mark(figure: go.Figure, mtbf_s: float, words: str, row: int, dash: str) -> None:
    """A line over the whole height; words of different rows cannot overprint."""
    figure.add_vline(x=mtbf_s, line_color=GREY, line_dash=dash)
    figure.add_annotation(
        # plotly places annotations on a logarithmic axis by the logarithm, unlike lines.
        x=float(np.log10(mtbf_s)),
        y=1.0,
        yref="paper",
        yanchor="top",
        yshift=-16.0 * row,
        xanchor="left",
        text=words,
        showarrow=False,
    )


def winner_figure(found: WinnerMap, mechanisms: Sequence[str]) -> go.Figure:
    """Who wins at each MTBF and state size, one colour a mechanism.

    Drawn as areas, not as a heat map, which would be a picture of pixels in a printed report.
    """
    names = sorted({name for row in found.winner for name in row})
    colors = {**mechanism_colors(mechanisms), NOBODY: "#D9D9D9"}
    figure = go.Figure()
    for name in names:
        x, y = _areas(found, name)
        label = safe(name.upper()) if name else _NOBODY_WORDS
        figure.add_scatter(
            x=x,
            y=y,
            mode="lines",
            line={"width": 0.5, "color": colors[name]},
            fill="toself",
            fillcolor=colors[name],
            name=label,
            text=label,
            hoveron="fills",
            hoverinfo="text",
        )
    figure.update_layout(showlegend=True)
    ticks, words = time_ticks(float(found.mtbf_s[0]), float(found.mtbf_s[-1]))
    figure.update_xaxes(
        type="log",
        title="MTBF of the job",
        tickvals=ticks,
        ticktext=words,
        range=_log_ends(_edges(found.mtbf_s)),
    )
    sizes = [float(s) for s in np.geomspace(found.state_bytes[0], found.state_bytes[-1], 6)]
    figure.update_yaxes(
        type="log",
        title="state per rank",
        tickvals=sizes,
        ticktext=[format_bytes(float(f"{s:.2g}")) for s in sizes],
        range=_log_ends(_edges(found.state_bytes)),
    )
    return styled(figure, title="Who finishes first", height=420)


def nowhere_line(scenario: Scenario, found: WinnerMap) -> str:
    """Said instead of the map where nothing fits anywhere on it."""
    limits = ", ".join(limit_words(scenario))
    mtbf_s, sizes = [float(v) for v in found.mtbf_s], [float(v) for v in found.state_bytes]
    return (
        f"No mechanism fits at any MTBF from {format_duration(mtbf_s[0])} to "
        f"{format_duration(mtbf_s[-1])} with any state from {format_bytes(sizes[0])} to "
        f"{format_bytes(sizes[-1])} a rank"
        + (f" ({limits})" if limits else "")
        + ": “Not offered” says why."
    )


def _areas(found: WinnerMap, name: str) -> tuple[list[float | None], list[float | None]]:
    """Rectangles around the runs of cells that one mechanism wins, as one path with gaps."""
    across, upwards = _edges(found.mtbf_s), _edges(found.state_bytes)
    x: list[float | None] = []
    y: list[float | None] = []
    for row, winners in enumerate(found.winner):
        low, high = float(upwards[row]), float(upwards[row + 1])
        for first, last in _runs(winners, name):
            left, right = float(across[first]), float(across[last + 1])
            x += [left, right, right, left, left, None]
            y += [low, low, high, high, low, None]
    return x, y


def _runs(winners: Sequence[str], name: str) -> list[tuple[int, int]]:
    """First and last index of each run of `name`."""
    at = [index for index, winner in enumerate(winners) if winner == name]
    firsts = [i for i in at if i - 1 not in set(at)]
    lasts = [i for i in at if i + 1 not in set(at)]
    return list(zip(firsts, lasts, strict=True))


def _edges(centres: NDArray[Any]) -> NDArray[np.float64]:
    """The borders of cells around points of a geometric grid."""
    logs = np.log(centres.astype(np.float64))
    middles = 0.5 * (logs[:-1] + logs[1:])
    ends = (2 * logs[0] - middles[0], 2 * logs[-1] - middles[-1])
    return np.asarray(np.exp(np.concatenate([[ends[0]], middles, [ends[1]]])), dtype=np.float64)


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
