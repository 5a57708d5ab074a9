"""Where the time of one run went: its wall time in parts, and each recovery by its phases."""

from collections.abc import Iterable, Sequence

import plotly.graph_objects as go

from advisor.figures.axes import time_unit
from advisor.figures.theme import safe, series_color, styled
from advisor.units import format_duration, format_percent
from db.records import Phase
from db.run_record import Record, RecoveryPart, TimesPart

_PARTS = (
    ("productive", "productive_s"),
    ("saving", "save_s"),
    ("detecting", "detect_s"),
    ("recovering", "recover_s"),
    ("work made again", "lost_s"),
)
MOST_RECOVERIES = 12
"""How many recoveries get a bar; the record has them all."""
_BAR_PX, _EDGES_PX = 44, 150


def time_parts(times: TimesPart) -> list[tuple[str, float]]:
    """The parts that are not zero, with their seconds."""
    parts = [(title, float(getattr(times, field))) for title, field in _PARTS]
    return [(title, seconds) for title, seconds in parts if seconds > 0.0]


def where_the_time_went(times: TimesPart) -> go.Figure:
    """One stacked bar of the wall time of the training."""
    whole_s = times.wall_s or 1.0
    figure = go.Figure()
    for title, seconds in time_parts(times):
        index = [name for name, _ in _PARTS].index(title)
        words = f"{format_duration(seconds)}, {format_percent(seconds / whole_s)}"
        _add_bar(figure, [""], [seconds], title, index, times.wall_s, [words])
    return _stacked(figure, times.wall_s, 1)


def recovery_bars(record: Record) -> go.Figure:
    """A stacked bar for each recovery that led back to training, phase after phase."""
    shown = phased_recoveries(record)[:MOST_RECOVERIES]
    names = [f"generation {recovery.generation}" for recovery in shown]
    longest_s = max(recovery.total_s or 0.0 for recovery in shown)
    figure = go.Figure()
    for index, phase in enumerate(Phase):
        seconds = [recovery.phase_s(phase) or 0.0 for recovery in shown]
        if any(seconds):
            words = [format_duration(each) for each in seconds]
            _add_bar(figure, names, seconds, str(phase), index, longest_s, words)
    return _stacked(figure, longest_s, len(shown))


def phased_recoveries(record: Record) -> list[RecoveryPart]:
    """The recoveries that reached the next complete step, in their order."""
    return [each for each in record.recoveries if each.total_s is not None and each.phases]


def _add_bar(
    figure: go.Figure,
    names: Sequence[str],
    seconds: Iterable[float],
    title: str,
    index: int,
    longest_s: float,
    words: Sequence[str],
) -> None:
    unit = time_unit(longest_s)
    figure.add_bar(
        y=[safe(name) for name in names],
        x=[value / unit.seconds for value in seconds],
        name=title,
        orientation="h",
        marker_color=series_color(index),
        customdata=words,
        hovertemplate=f"{title}: %{{customdata}}<extra></extra>",
    )


def _stacked(figure: go.Figure, longest_s: float, bars: int) -> go.Figure:
    figure.update_layout(barmode="stack", bargap=0.35, legend_traceorder="normal")
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(title=time_unit(longest_s).name, zeroline=False)
    return styled(figure, title="", height=_EDGES_PX + _BAR_PX * bars).update_layout(
        margin={"t": 8}
    )
