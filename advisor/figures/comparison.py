"""How many times a baseline's numbers those of another cluster are, each with its interval."""

from collections.abc import Sequence
from dataclasses import dataclass

import plotly.graph_objects as go

from advisor.figures.theme import GREY, safe, series_color, styled

_ROW_PX, _AROUND_PX = 22, 130
_SERIES = (
    (True, "more than chance", series_color(0), "circle"),
    (False, "may be chance", series_color(1), "diamond-open"),
)


@dataclass(frozen=True, slots=True)
class RatioRow:
    """One cell: other / baseline with its 95 % interval, all above 0."""

    name: str
    words: str
    ratio: float
    low: float
    high: float
    is_more_than_chance: bool


def ratios(rows: Sequence[RatioRow], baseline: str, other: str) -> go.Figure:
    """The ratios on a logarithmic axis, a row each, from top to bottom as given; 1 is marked."""
    figure = go.Figure()
    for is_more, title, color, symbol in _SERIES:
        chosen = [row for row in rows if row.is_more_than_chance is is_more]
        figure.add_scatter(
            x=[row.ratio for row in chosen],
            y=[safe(row.name) for row in chosen],
            error_x={
                "type": "data",
                "symmetric": False,
                "array": [row.high - row.ratio for row in chosen],
                "arrayminus": [row.ratio - row.low for row in chosen],
                "thickness": 1.5,
                "width": 3,
            },
            mode="markers",
            marker={"color": color, "symbol": symbol, "size": 9},
            name=title,
            customdata=[safe(row.words) for row in chosen],
            hovertemplate="%{customdata}<extra></extra>",
        )
    figure.add_vline(x=1.0, line={"color": GREY, "width": 1.5})
    figure.update_xaxes(type="log", title=f"{safe(other)} / {safe(baseline)}")
    names = [safe(row.name) for row in rows]
    figure.update_yaxes(categoryorder="array", categoryarray=names[::-1], automargin=True)
    height = _AROUND_PX + _ROW_PX * len(rows)
    return styled(figure, title="", height=height).update_layout(margin={"t": 10})
