"""What the paths of a calibration take: its samples as points, its fits as lines with the 95 %
intervals of their coefficients, one figure a path."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

import plotly.graph_objects as go

from advisor.figures.axes import time_ticks
from advisor.figures.theme import series_color, styled
from advisor.units import format_bytes, format_duration
from db.records import (
    CalibrationFit,
    CalibrationPath,
    CalibrationSample,
    FitModel,
    FittedNumber,
    SamplePurpose,
)

_SYMBOLS = ("circle", "diamond-open", "square-open")
_DASHES = ("solid", "dash", "dot")
_HEIGHT_PX, _LEGEND_PX = 250, 30
_SHADE = 0.22
_PLACES = 25
"""At how many places a curve is drawn: a constant and a slope are no line on logarithmic axes."""
_AIR = 1.25
"""How far beyond the samples the axis of sizes goes, as a factor."""
_SHORTEST_S = 1e-9
_MOST_TICKS = 8


@dataclass(frozen=True, slots=True)
class Curve:
    """A fit with its samples. `at` has bytes, or ranks, or (of a mean) which sample it was."""

    fit: CalibrationFit
    at: tuple[int, ...]
    duration_s: tuple[float, ...]

    @property
    def places(self) -> list[float]:
        """Where the fit is drawn: over what was measured, in even ratios."""
        low, high = log10(min(self.at)), log10(max(self.at))
        return [10.0 ** (low + (high - low) * n / (_PLACES - 1)) for n in range(_PLACES)]

    @property
    def line_s(self) -> list[float]:
        """What the fit says at its places."""
        return self._along(lambda number: number.value)

    @property
    def low_s(self) -> list[float]:
        """The same with both coefficients at the lower ends of their intervals."""
        return self._along(lambda number: number.low)

    @property
    def high_s(self) -> list[float]:
        """The same with both coefficients at the upper ends."""
        return self._along(lambda number: number.high)

    def _along(self, end: Callable[[FittedNumber], float]) -> list[float]:
        fit = self.fit
        share = fit.s_per_byte or fit.s_per_rank
        slope = end(share) if share is not None else 0.0
        return [end(fit.latency_s) + slope * place for place in self.places]


def curves_of(
    samples: Iterable[CalibrationSample], fits: Iterable[CalibrationFit]
) -> dict[CalibrationPath, list[Curve]]:
    """The fits of each path, each with the samples that it was fitted to."""
    fitted = [sample for sample in samples if sample.purpose is SamplePurpose.FIT]
    found: dict[CalibrationPath, list[Curve]] = {}
    for fit in fits:
        points = list(_points(fit, fitted))
        if points:
            at, durations = zip(*points, strict=True)
            found.setdefault(fit.path, []).append(Curve(fit, at, durations))
    return found


def _points(
    fit: CalibrationFit, samples: Iterable[CalibrationSample]
) -> Iterator[tuple[int, float]]:
    """(At, s) of the samples of a fit."""
    number = 0
    for sample in samples:
        if sample.path is not fit.path:
            continue
        if fit.model is FitModel.RANKS:
            yield sample.processes, sample.duration_s
        elif sample.processes == fit.processes:
            number += 1
            yield sample.size_bytes or number, sample.duration_s


def path_figure(path: CalibrationPath, curves: Sequence[Curve]) -> go.Figure:
    """The curves of one path, seconds and what they grow with on logarithmic axes."""
    figure = go.Figure()
    low_s, high_s = _decades([s for curve in curves for s in (*curve.duration_s, *curve.line_s)])
    for index, curve in enumerate(curves):
        _add_band(figure, curve, index, low_s)
        _add_line(figure, curve, index)
        _add_points(figure, curve, index)
    figure.update_xaxes(zeroline=False, **_x_axis(curves))
    ticks, words = time_ticks(low_s, high_s)
    figure.update_yaxes(
        type="log", range=[log10(low_s), log10(high_s)], tickvals=ticks, ticktext=words
    )
    several = len(curves) > 1
    height = _HEIGHT_PX + (_LEGEND_PX if several else 0)
    title = path.value.replace("_", " ")
    return styled(figure, title=title, height=height).update_layout(showlegend=several)


def _decades(values: Sequence[float]) -> tuple[float, float]:
    """Whole decades around the values, at least one."""
    low = floor(log10(max(min(values), _SHORTEST_S)))
    high = max(ceil(log10(max(values))), low + 1)
    return 10.0**low, 10.0**high


def _x_axis(curves: Sequence[Curve]) -> dict[str, object]:
    at = sorted({place for curve in curves for place in curve.at})
    model = curves[0].fit.model
    if model is FitModel.MEAN:
        # Samples were taken one after the other: they grow with nothing.
        return {"title": "sample", "type": "linear", "dtick": 1 + len(at) // _MOST_TICKS}
    if model is FitModel.RANKS:
        ticks, words, title = [float(ranks) for ranks in at], [str(ranks) for ranks in at], "ranks"
    else:
        decades = [10.0**power for power in range(16) if at[0] <= 10.0**power <= at[-1]]
        ticks = decades or [float(at[0])]
        words, title = [format_bytes(tick) for tick in ticks], "size"
    span = [log10(at[0] / _AIR), log10(at[-1] * _AIR)]
    return {"title": title, "type": "log", "tickvals": ticks, "ticktext": words, "range": span}


def _words(fit: CalibrationFit) -> str:
    """What tells a curve from others of its path."""
    if fit.model is FitModel.RANKS:
        return "by ranks"
    return "1 process" if fit.processes == 1 else f"{fit.processes} processes"


def _add_band(figure: go.Figure, curve: Curve, index: int, low_s: float) -> None:
    places = curve.places
    figure.add_scatter(
        x=[*places, *reversed(places)],
        # A logarithmic axis has no 0: an interval that reaches there goes down to its edge.
        y=[*curve.high_s, *(max(s, low_s) for s in reversed(curve.low_s))],
        mode="lines",
        line={"width": 0},
        fill="toself",
        fillcolor=_transparent(series_color(index)),
        hoverinfo="skip",
        showlegend=False,
    )


def _add_line(figure: go.Figure, curve: Curve, index: int) -> None:
    figure.add_scatter(
        x=curve.places,
        y=curve.line_s,
        mode="lines",
        line={"color": series_color(index), "width": 2, "dash": _DASHES[index % len(_DASHES)]},
        name=_words(curve.fit),
        hoverinfo="skip",
    )


def _add_points(figure: go.Figure, curve: Curve, index: int) -> None:
    is_bytes = curve.fit.model is FitModel.BYTES
    figure.add_scatter(
        x=curve.at,
        y=curve.duration_s,
        mode="markers",
        marker={
            "color": series_color(index),
            "symbol": _SYMBOLS[index % len(_SYMBOLS)],
            "size": 6,
            "opacity": 0.75,
        },
        customdata=[
            f"{format_bytes(at) if is_bytes else at}: {format_duration(s)}"
            for at, s in zip(curve.at, curve.duration_s, strict=True)
        ],
        hovertemplate=f"{_words(curve.fit)}, %{{customdata}}<extra></extra>",
        showlegend=False,
    )


def _transparent(color: str) -> str:
    red, green, blue = (int(color[at : at + 2], 16) for at in (1, 3, 5))
    return f"rgba({red},{green},{blue},{_SHADE})"
