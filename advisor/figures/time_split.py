"""Where the time goes: what each candidate adds to the failure-free time, term by term."""

from collections.abc import Sequence

import plotly.graph_objects as go

from advisor.figures.axes import TimeUnit, time_unit
from advisor.figures.theme import safe, series_color, styled
from advisor.recommendation import Candidate, Recommendation
from advisor.units import format_duration

_TERMS = (
    ("overhead", "overhead_s"),
    ("detection", "detection_s"),
    ("restore", "restore_s"),
    ("regrouping", "regroup_s"),
    ("initialisation", "init_s"),
    ("lost work", "lost_s"),
)

_CUT_RATIO = 8.0
_AIR = 1.5
"""How far the axis goes on: what is written behind the longest bar has to fit on a telephone."""


def time_split(recommendation: Recommendation) -> go.Figure:
    """One stacked bar a candidate, best on top; the failure-free time itself is left out."""
    candidates = [c for c in recommendation.candidates if c.terms is not None]
    totals_s = [_added_s(c) for c in candidates]
    shown_s = _shown_s(totals_s)
    unit = time_unit(shown_s)
    names = [safe(c.mechanism.upper()) for c in candidates]
    figure = go.Figure()
    for index, (title, field) in enumerate(_TERMS):
        values = [float(getattr(c.terms, field)) for c in candidates]
        if any(values):
            figure.add_bar(
                y=names,
                x=[value / unit.seconds for value in values],
                name=title,
                orientation="h",
                marker_color=series_color(index),
                customdata=[format_duration(value) for value in values],
                hovertemplate=f"%{{y}}: {title} %{{customdata}}<extra></extra>",
            )
    figure.update_layout(barmode="stack", bargap=0.35, legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(
        title=f"time added ({unit.name})", range=[0.0, _AIR * shown_s / unit.seconds]
    )
    for name, total_s in zip(names, totals_s, strict=True):
        _add_total(figure, name, total_s, shown_s, unit)
    whole = format_duration(recommendation.scenario.duration_s)
    return styled(figure, title=f"Time added to {whole}", height=150 + 44 * max(len(names), 1))


def _shown_s(totals_s: Sequence[float]) -> float:
    """Where the axis ends: bars many times as long as the best are cut, and say their length."""
    near = [total for total in totals_s if total <= _CUT_RATIO * min(totals_s)]
    return max(near, default=1.0) or 1.0


def _add_total(
    figure: go.Figure, name: str, total_s: float, shown_s: float, unit: TimeUnit
) -> None:
    cut = total_s > shown_s
    figure.add_annotation(
        x=(0.99 * _AIR * shown_s if cut else total_s) / unit.seconds,
        y=name,
        text=f"<b>→ {format_duration(total_s)}</b>" if cut else format_duration(total_s),
        showarrow=False,
        xanchor="right" if cut else "left",
        xshift=0 if cut else 4,
        font={"color": "white"} if cut else None,
    )


def _added_s(candidate: Candidate) -> float:
    terms = candidate.terms
    assert terms is not None
    return sum(float(getattr(terms, field)) for _, field in _TERMS)
