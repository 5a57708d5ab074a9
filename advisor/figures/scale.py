"""The same job on other numbers of ranks: how long it takes, and how much of that is useful."""

from collections.abc import Sequence

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, mechanism_colors, safe, styled
from advisor.scale.answer import Scale, ScalePoint
from advisor.units import format_duration, format_percent


def scale_figure(found: Scale, mechanisms: Sequence[str]) -> go.Figure:
    """Expected and failure-free time above, goodput below, against the ranks (all logarithmic but
    the goodput). The colour tells who is recommended; open marks: Eq. (5) is more
    than 1 % off there."""
    timed = [point for point in found.points if point.expected_s is not None]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.65, 0.35])
    figure.add_scatter(
        x=[point.world_size for point in timed],
        y=[point.scenario.duration_s for point in timed],
        name="failure-free",
        mode="lines",
        line={"color": GREY, "dash": "dot"},
        customdata=[format_duration(point.scenario.duration_s) for point in timed],
        hovertemplate="%{x} ranks: %{customdata}",
        row=1,
        col=1,
    )
    colors = mechanism_colors(mechanisms)
    for name in sorted({point.mechanism for point in timed if point.mechanism is not None}):
        won = [point for point in timed if point.mechanism == name]
        _add(figure, won, name, colors[name])
    _scales(figure, timed)
    if found.no_gain_beyond is not None:
        figure.add_vline(x=found.no_gain_beyond, line_color=GREY, line_dash="dash")
    return styled(figure, title="Time and goodput against the ranks", height=480)


def _add(figure: go.Figure, won: Sequence[ScalePoint], name: str, color: str) -> None:
    look = {
        "mode": "markers",
        "marker": {
            "color": color,
            "size": 9,
            "symbol": ["circle-open" if p.is_flagged else "circle" for p in won],
        },
        "name": safe(name.upper()),
        "legendgroup": name,
    }
    figure.add_scatter(
        x=[p.world_size for p in won],
        y=[p.expected_s for p in won],
        customdata=[format_duration(p.expected_s or 0.0) for p in won],
        hovertemplate="%{x} ranks: %{customdata}",
        row=1,
        col=1,
        **look,
    )
    figure.add_scatter(
        x=[p.world_size for p in won],
        y=[100.0 * (p.goodput or 0.0) for p in won],
        customdata=[format_percent(p.goodput or 0.0) for p in won],
        hovertemplate="%{x} ranks: %{customdata}",
        showlegend=False,
        row=2,
        col=1,
        **look,
    )


def _scales(figure: go.Figure, timed: Sequence[ScalePoint]) -> None:
    ranks = [point.world_size for point in timed]
    figure.update_xaxes(type="log", tickvals=ranks, ticktext=[f"{each:,}" for each in ranks])
    figure.update_xaxes(title="ranks (GPUs)", row=2, col=1)
    times = [t for p in timed for t in (p.scenario.duration_s, p.expected_s or 0.0)]
    if times:
        ticks, words = time_ticks(min(times) / 2.0, max(times) * 2.0)
        figure.update_yaxes(
            type="log", tickvals=ticks, ticktext=words, title="expected", row=1, col=1
        )
    figure.update_yaxes(title="goodput (%)", row=2, col=1)
