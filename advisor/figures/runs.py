"""One run against time: throughput, step time and loss, the faults, and who knew when."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import log10
from statistics import median

import plotly.graph_objects as go

from advisor.figures.axes import TimeUnit, time_unit
from advisor.figures.theme import GREY, series_color, styled
from advisor.units import format_duration, format_number
from db.run_record import FaultPart, Record, WindowPart

FAULT_WORDS = {
    "crash": "was killed",
    "hang": "hung",
    "exception": "raised an error",
    "node-crash": "was lost with its node",
    "partition": "was cut off with its node",
    "coordinator-loss": "was killed, and with it the coordinator",
    "store-loss": "saw the store killed",
    "straggler": "became slow",
    "skipped-update": "lost an update",
    "wrong-rng": "drew other random numbers",
    "partial-restore": "fell back in part",
    "flip-parameter": "had a bit of a parameter flipped",
    "flip-gradient": "had a bit of a gradient flipped",
    "flip-buffer": "had a bit of a buffer flipped",
    "flip-replica": "had a bit of a replica flipped",
    "full-storage": "found its storage full",
    "slow-storage": "found its storage slow",
    "corrupt-shard": "had its shard damaged",
    "missing-shard": "lost its shard",
    "corrupt-manifest": "saw the manifest damaged",
}
MOST_FAULTS = 6
"""How many faults are marked: more lines than these nobody can tell apart."""
_PANEL_PX, _GAP_PX, _EDGES_PX, _LEGEND_LINE_PX = 190, 34, 76, 19
_AROUND_STEPS, _AROUND_DETECTIONS, _AIR = 25, 10.0, 0.04
"""How much is shown at first, before the first mark and after the last one: so many steps of
median length, or so many times the longest detection, whichever is more; and the air beyond."""
_SPIKE = 20.0
"""A step so many times as long as the median one would press all others onto the axis."""
_FAULT, _FIRST, _ALL = "#D55E00", "#56B4E9", "#0072B2"
_SHADES = ("rgba(230,159,0,0.16)", "rgba(0,158,115,0.18)")


@dataclass(frozen=True, slots=True)
class Mark:
    """An instant, in seconds on the figure's axis."""

    at_s: float
    words: str
    color: str
    dash: str


@dataclass(frozen=True, slots=True)
class Shade:
    """A window in which the ranks trained undisturbed, in seconds on the figure's axis."""

    from_s: float
    to_s: float
    words: str
    color: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """What the figure shows. Times count from the first fault, if one fired."""

    from_fault: bool
    t_s: tuple[float, ...]
    step: tuple[int, ...]
    samples_per_s: tuple[float, ...]
    step_s: tuple[float, ...]
    loss: tuple[float | None, ...]
    longest_s: float
    """The longest detection, or the longest wait for one."""
    marks: tuple[Mark, ...]
    shades: tuple[Shade, ...]

    @property
    def whole_s(self) -> tuple[float, float]:
        """From the first step's beginning to whatever comes last."""
        first_s = self.t_s[0] - self.step_s[0]
        return first_s, max(self.t_s[-1], *(mark.at_s for mark in self.marks), first_s)

    @property
    def around_s(self) -> tuple[float, float]:
        """What to show at first: the surroundings of the marks, or everything without one."""
        low_s, high_s = self.whole_s
        if not self.marks:
            return low_s, high_s
        at_s = [mark.at_s for mark in self.marks]
        around_s = max(_AROUND_STEPS * median(self.step_s), _AROUND_DETECTIONS * self.longest_s)
        return max(low_s, min(at_s) - around_s), min(high_s, max(at_s) + around_s)


def fired_faults(record: Record) -> list[FaultPart]:
    """The faults that struck, the first one first."""
    return sorted((f for f in record.faults if f.fired), key=lambda f: (f.at_s, f.ordinal))


def timeline_of(record: Record) -> Timeline | None:
    """None of a run in which no step was finished."""
    series, faults = record.series, fired_faults(record)
    if not series.t_s:
        return None
    origin_s = faults[0].at_s if faults else 0.0
    return Timeline(
        from_fault=bool(faults),
        t_s=tuple(t - origin_s for t in series.t_s),
        step=series.step,
        samples_per_s=series.samples_per_s,
        step_s=series.step_s,
        loss=series.loss,
        longest_s=max((f.detected_s or 0.0 for f in faults), default=0.0),
        marks=tuple(_marks(faults, origin_s)),
        shades=tuple(_shades(record, origin_s)),
    )


def _marks(faults: Sequence[FaultPart], origin_s: float) -> Iterator[Mark]:
    for fault in faults[:MOST_FAULTS]:
        at_s, first_s, last_s = fault.at_s - origin_s, fault.first_detected_s, fault.detected_s
        of = f" of rank {fault.rank}" if len(faults) > 1 else ""
        yield Mark(at_s, f"rank {fault.rank} {FAULT_WORDS[fault.kind]}", _FAULT, "solid")
        if first_s is not None and (fault.censored or first_s != last_s):
            words = f"the first knew{of}, {format_duration(first_s)} later"
            yield Mark(at_s + first_s, words, _FIRST, "dot")
        if last_s is not None and fault.censored:
            words = f"not all knew{of}, {format_duration(last_s)} later"
            yield Mark(at_s + last_s, words, GREY, "dashdot")
        elif last_s is not None:
            words = f"the last knew{of}, {format_duration(last_s)} later"
            yield Mark(at_s + last_s, words, _ALL, "dash")


def _shades(record: Record, origin_s: float) -> Iterator[Shade]:
    first = "before" if fired_faults(record) else "after warm-up"
    windows = ((first, record.before), ("after", record.after))
    for (name, window), color in zip(windows, _SHADES, strict=True):
        if window is not None:
            from_s = max(window.from_s, _kept_from_s(record))
            yield Shade(
                from_s - origin_s, window.to_s - origin_s, f"{name}: {_rate(window)}", color
            )


def _rate(window: WindowPart) -> str:
    ranks = "1 rank" if window.ranks == 1 else f"{window.ranks} ranks"
    return f"{format_number(window.samples_per_s_per_rank)} samples/s/rank, {ranks}"


def _kept_from_s(record: Record) -> float:
    """When the first step began that is not dropped as warm-up."""
    series = record.series
    kept = (
        t - duration
        for t, step, duration in zip(series.t_s, series.step, series.step_s, strict=True)
        if step >= record.cell.dropped_steps
    )
    return next(kept, 0.0)


def timeline(shown: Timeline) -> go.Figure:
    """A panel for each of throughput, step time and loss, one above the other, one time axis."""
    panels = list(_panels(shown))
    figure = go.Figure()
    for index, panel in enumerate(panels):
        _add_panel(figure, shown, panel, index, len(panels))
    _add_shades_and_marks(figure, shown)
    figure.update_xaxes(
        title=f"seconds since the {'first fault' if shown.from_fault else 'run began'}",
        range=_with_air(*shown.around_s),
        anchor=f"y{len(panels)}",
        zeroline=False,
        hoverformat=".4~g",
    )
    plane_px = _PANEL_PX * len(panels)
    legend_px = _LEGEND_LINE_PX * (len(shown.marks) + len(shown.shades))
    return styled(figure, title="", height=plane_px + legend_px + _EDGES_PX).update_layout(
        margin={"t": 26},
        legend={"orientation": "v", "y": -48 / plane_px},
        hovermode="x unified",
        hoversubplots="axis",
    )


@dataclass(frozen=True, slots=True)
class _Panel:
    title: str
    values: Sequence[float | None]
    hover: str
    is_log: bool = False
    is_loss: bool = False


def _panels(shown: Timeline) -> Iterator[_Panel]:
    yield _Panel("throughput of all ranks (samples/s)", shown.samples_per_s, "%{y:,.4~g} samples/s")
    unit, is_log = _step_axis(shown.step_s)
    yield _Panel(
        f"step time ({unit.name}{', logarithmic' if is_log else ''})",
        [duration / unit.seconds for duration in shown.step_s],
        f"step %{{customdata}}, %{{y:,.4~g}} {unit.name}",
        is_log,
    )
    if any(loss is not None for loss in shown.loss):
        yield _Panel("loss", shown.loss, "loss %{y:.4~g}", is_loss=True)


def _step_axis(step_s: Sequence[float]) -> tuple[TimeUnit, bool]:
    usual_s = median(step_s)
    return time_unit(usual_s), min(step_s) > 0 and max(step_s) > _SPIKE * usual_s


def _with_air(low: float, high: float) -> list[float]:
    air = _AIR * (high - low) or _AIR * max(abs(high), 1e-9)
    return [low - air, high + air]


def _shown_range(panel: _Panel, shown: Timeline) -> list[float]:
    """Fits what is shown at first; rates and times begin at 0."""
    low_s, high_s = shown.around_s
    values = [
        value
        for t, value in zip(shown.t_s, panel.values, strict=True)
        if value is not None and low_s <= t <= high_s
    ] or [value for value in panel.values if value is not None]
    if panel.is_log:
        return _with_air(log10(min(values)), log10(max(values)))
    if panel.is_loss:
        return _with_air(min(values), max(values))
    return [0.0, _with_air(0.0, max(values))[1]]


def _add_panel(figure: go.Figure, shown: Timeline, panel: _Panel, index: int, count: int) -> None:
    axis = "y" if index == 0 else f"y{index + 1}"
    # The first panel's title stands in the margin, those of the others in a gap above them.
    gap = _GAP_PX / (_PANEL_PX * count) if index else 0.0
    top, bottom = 1.0 - index / count - gap, max(0.0, 1.0 - (index + 1) / count)
    figure.add_scatter(
        x=shown.t_s,
        y=list(panel.values),
        yaxis=axis,
        mode="lines+markers",
        marker={"size": 3.5},
        line={"width": 1.5},
        marker_color=series_color(index),
        customdata=shown.step,
        hovertemplate=f"{panel.hover}<extra></extra>",
        showlegend=False,
    )
    figure.update_layout(
        {
            f"yaxis{axis[1:]}": {
                "domain": [bottom, top],
                "type": "log" if panel.is_log else "linear",
                "range": _shown_range(panel, shown),
                "anchor": "x",
                "nticks": 5,
                "zeroline": False,
            }
        }
    )
    figure.add_annotation(
        text=panel.title,
        xref="paper",
        yref="paper",
        x=0,
        y=top,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 13},
    )


def _add_shades_and_marks(figure: go.Figure, shown: Timeline) -> None:
    for shade in shown.shades:
        figure.add_shape(
            type="rect",
            x0=shade.from_s,
            x1=shade.to_s,
            y0=0,
            y1=1,
            yref="paper",
            fillcolor=shade.color,
            line_width=0,
            layer="below",
            name=shade.words,
            showlegend=True,
        )
    for mark in shown.marks:
        figure.add_shape(
            type="line",
            x0=mark.at_s,
            x1=mark.at_s,
            y0=0,
            y1=1,
            yref="paper",
            line={"color": mark.color, "width": 2, "dash": mark.dash},
            name=mark.words,
            showlegend=True,
        )
