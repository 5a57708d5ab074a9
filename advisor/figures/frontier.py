"""The trade-off: two axes, the frontier, and for each dominated candidate its dominator."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.decide import AXES, frontier_of
from advisor.figures.axes import LogAxis, log_axis
from advisor.figures.labels import Named, text_positions
from advisor.figures.theme import EVIDENCE_NAMES, GREY, SYMBOLS, mechanism_colors, safe, styled
from advisor.recommendation import Candidate
from advisor.reports.words import axis_words, label
from advisor.units import format_duration, format_percent

AXIS_TITLES = {
    "overhead": "steady-state overhead",
    "restore": "effective restore",
    "lost-work": "lost work a failure",
    "host-memory": "host memory a rank",
    "expected-time": "expected completion time",
}


@dataclass(frozen=True, slots=True)
class Spot:
    """One candidate on the plane; `x_error` is the half-width of its overhead, if known."""

    candidate: Candidate
    x: float
    y: float
    x_error: float | None
    dominated_by: str | None


def spots(candidates: Sequence[Candidate], x_axis: str, y_axis: str) -> list[Spot]:
    """Every candidate that has a value on both axes. Raises UserError for an unknown axis."""
    frontier = frontier_of(candidates, (x_axis, y_axis))
    dominated = {d.mechanism: d.dominated_by for d in frontier.dominated}
    return [
        Spot(
            c,
            float(getattr(c, AXES[x_axis])),
            float(getattr(c, AXES[y_axis])),
            _overhead_error(c) if x_axis == "overhead" else None,
            dominated.get(c.mechanism),
        )
        for c in candidates
        if c.mechanism not in frontier.not_comparable
    ]


def frontier(
    candidates: Sequence[Candidate],
    mechanisms: Sequence[str],
    x_axis: str = "overhead",
    y_axis: str = "restore",
) -> go.Figure:
    """Both axes logarithmic with a place for 0; colour is the mechanism, shape the evidence."""
    found = spots(candidates, x_axis, y_axis)
    horizontal = log_axis([s.x for s in found], axis_words(x_axis))
    vertical = log_axis([s.y for s in found], axis_words(y_axis))
    figure = go.Figure()
    _add_staircase(figure, [s for s in found if s.dominated_by is None], horizontal, vertical)
    colors = mechanism_colors(mechanisms)
    names = [
        Named(
            horizontal.fraction(spot.x), vertical.fraction(spot.y), spot.candidate.mechanism.upper()
        )
        for spot in found
    ]
    for spot, place in zip(found, text_positions(names), strict=True):
        _add_spot(figure, spot, horizontal, vertical, colors[spot.candidate.mechanism], place)
    for axis, scale, name in (("x", horizontal, x_axis), ("y", vertical, y_axis)):
        figure.update_layout(
            {
                f"{axis}axis": {
                    "title": AXIS_TITLES[name],
                    "tickvals": scale.tick_positions,
                    "ticktext": scale.tick_labels,
                    "range": scale.span,
                    "zeroline": False,
                }
            }
        )
    return styled(
        figure,
        title=f"{x_axis} against {y_axis}".replace("-", " ").capitalize(),
        height=460,
    )


def _add_spot(
    figure: go.Figure, spot: Spot, horizontal: LogAxis, vertical: LogAxis, color: str, place: str
) -> None:
    candidate = spot.candidate
    code = candidate.evidence.value
    position = horizontal.position(spot.x)
    figure.add_scatter(
        x=[position],
        y=[vertical.position(spot.y)],
        error_x=_error(spot, horizontal, position),
        mode="markers+text",
        text=[safe(candidate.mechanism.upper())],
        textposition=place,
        cliponaxis=False,
        name=f"{safe(label(candidate))} ({EVIDENCE_NAMES[code]})",
        marker={
            "size": 13,
            "symbol": SYMBOLS[code],
            "color": GREY if spot.dominated_by else color,
            "line": {"width": 2},
        },
        hovertemplate=f"{_hover(spot)}<extra></extra>",
    )


def _hover(spot: Spot) -> str:
    candidate = spot.candidate
    verdict = (
        f"dominated by {safe(spot.dominated_by.upper())}"
        if spot.dominated_by
        else "on the frontier"
    )
    restore = "–" if candidate.restore_s is None else format_duration(candidate.restore_s)
    return (
        f"<b>{safe(label(candidate))}</b><br>"
        f"overhead {format_percent(candidate.overhead)}, restore {restore}<br>"
        f"{EVIDENCE_NAMES[candidate.evidence.value]}, {verdict}"
    )


def _error(spot: Spot, axis: LogAxis, position: float) -> dict[str, object] | None:
    if not spot.x_error or spot.x <= spot.x_error:
        return None
    return {
        "type": "data",
        "symmetric": False,
        "array": [axis.position(spot.x + spot.x_error) - position],
        "arrayminus": [position - axis.position(spot.x - spot.x_error)],
        "thickness": 1,
    }


def _overhead_error(candidate: Candidate) -> float | None:
    """The measured dispersion of the overhead, scaled as the overhead itself was."""
    for used in candidate.used:
        if used.quantity == "overhead_fraction" and used.dispersion and used.value:
            return candidate.overhead * used.dispersion / used.value
    return None


def _add_staircase(
    figure: go.Figure, front: Sequence[Spot], horizontal: LogAxis, vertical: LogAxis
) -> None:
    """The border of what the frontier dominates."""
    ordered = sorted(front, key=lambda s: (s.x, -s.y))
    if len(ordered) < 2:
        return
    figure.add_scatter(
        x=[horizontal.position(s.x) for s in ordered],
        y=[vertical.position(s.y) for s in ordered],
        mode="lines",
        line={"shape": "hv", "color": GREY, "width": 1, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
