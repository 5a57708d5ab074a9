"""What a detection timeout costs: too long a wait for a loss, or too many false alarms."""

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from advisor.figures.axes import time_ticks
from advisor.figures.theme import GREY, styled
from advisor.tuning.search import Choice
from advisor.units import format_duration, format_number

_WORST = 1.5
"""Times beyond this many times the best are left out: the best would look flat beside them."""


def timeout_figure(choice: Choice) -> go.Figure:
    """Expected time above, false alarms a day below, against the timeout (logarithmic). The band is
    where the time is less than 0.2 % longer than the best."""
    most_s = _WORST * choice.expected_completion_s
    shown = [each for each in choice.timeouts if each.expected_completion_s <= most_s]
    figure = make_subplots(rows=2, cols=1, shared_xaxes=True, row_heights=[0.65, 0.35])
    timeouts = [each.timeout_s for each in shown]
    times = [each.expected_completion_s for each in shown]
    alarms = [each.false_alarms_per_day for each in shown]
    _add(figure, 1, "expected", timeouts, times, [format_duration(each) for each in times])
    said = [f"{format_number(each)} a day" for each in alarms]
    _add(figure, 2, "false alarms", timeouts, alarms, said)
    if choice.timeout_s is not None:
        figure.add_vline(x=choice.timeout_s, line_color=GREY, line_dash="dash")
    if choice.flat_timeouts_s is not None:
        low, high = choice.flat_timeouts_s
        figure.add_vrect(x0=low, x1=high, fillcolor=GREY, opacity=0.15, line_width=0)
    _scales(figure, timeouts, times)
    return styled(figure, title="Time and false alarms against the timeout", height=440)


def _add(
    figure: go.Figure,
    row: int,
    name: str,
    timeouts: list[float],
    values: list[float],
    words: list[str],
) -> None:
    figure.add_scatter(
        x=timeouts,
        y=values,
        customdata=[[format_duration(t), word] for t, word in zip(timeouts, words, strict=True)],
        hovertemplate="%{customdata[0]}: %{customdata[1]}<extra></extra>",
        name=name,
        mode="lines",
        row=row,
        col=1,
    )


def _scales(figure: go.Figure, timeouts: list[float], times: list[float]) -> None:
    if not timeouts:
        return
    ticks, words = time_ticks(min(timeouts), max(timeouts))
    figure.update_xaxes(type="log", tickvals=ticks, ticktext=words)
    figure.update_xaxes(title="detection timeout", row=2, col=1)
    least, most = min(times), max(times)
    marks = [least + (most - least) * share for share in (0.0, 0.25, 0.5, 0.75, 1.0)]
    figure.update_yaxes(
        tickvals=marks, ticktext=[format_duration(m) for m in marks], title="expected", row=1, col=1
    )
    figure.update_yaxes(title="false alarms a day", rangemode="tozero", row=2, col=1)
