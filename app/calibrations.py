"""The calibration of a cluster as part of a page: curves, fits, and predicted against observed."""

import shlex
from collections.abc import Sequence

import streamlit as st

from advisor.calibration_fits import TARGET_ERROR, checked_sizes, median_error
from advisor.figures.agreement import Compared, agreement
from advisor.figures.calibration import curves_of, path_figure
from advisor.reports import calibration_words
from advisor.units import format_bytes, format_duration, format_percent
from app.markdown import escape, message
from app.widgets import bullets, figure, table, wide_table
from db.calibration_queries import CalibrationSession

_ACROSS = 3
"""How many figures stand side by side on a wide screen."""


def calibration(cluster: str, session: CalibrationSession | None) -> None:
    """What each path of a cluster takes; what would say so, where it has no calibration."""
    st.subheader(escape(f"Calibration of {cluster}"), anchor=False)
    if session is None:
        st.info(message(f"{cluster} has no calibration of its own. This makes one, there:"))
        st.code(_calibrate(cluster), language="console", wrap_lines=True)
        return
    quick = ", a quick one" if session.is_quick else ""
    st.caption(
        escape(
            f"The newest, {session.session}{quick}: {len(session.samples):,} samples taken from "
            f"{session.started_at} on, in {format_duration(session.wall_s)}. Points are samples, "
            "lines the fits; shaded is what both coefficients leave open at the ends of their "
            "95 % intervals."
        )
    )
    _curves(session)
    rows = map(calibration_words.fit_row, session.fits)
    wide_table(calibration_words.FIT_HEADER, rows, "fits", "The fits with their intervals")
    st.caption(calibration_words.FIT_LEGEND)
    with st.expander("How each path was measured"):
        table(
            ("path", "processes", "conditions"),
            [(fit.path, fit.processes or "", fit.conditions) for fit in session.fits],
        )
        if session.note:
            bullets(session.note.split("; "))


def _calibrate(cluster: str) -> str:
    return f"advisor calibrate --cluster {shlex.quote(cluster)} --check"


def _curves(session: CalibrationSession) -> None:
    """Small multiples, side by side as far as they fit."""
    paths = list(curves_of(session.samples, session.fits).items())
    for first in range(0, len(paths), _ACROSS):
        columns = st.columns(_ACROSS)
        for column, (path, curves) in zip(columns, paths[first : first + _ACROSS], strict=False):
            with column:
                words = path.value.replace("_", " ")
                figure(path_figure(path, curves), f"path-{path}", f"{words}: samples and fit")


def against_observation(session: CalibrationSession | None) -> None:
    """What was predicted of restores beside what was then observed."""
    if session is not None:
        _restores(session)


def _restores(session: CalibrationSession) -> None:
    sizes = checked_sizes(session.samples, session.checks)
    if not sizes:
        st.info(
            "This calibration made no real restores to hold its predictions against. This does:"
        )
        st.code(_calibrate(session.cluster), language="console", wrap_lines=True)
        return
    error = median_error(sizes) or 0.0
    st.markdown(
        f"Real restores, predicted from the paths above: **{format_percent(round(error, 4))}** off "
        f"in the median over {len(sizes)} sizes and paths; the target is "
        f"{format_percent(TARGET_ERROR)}."
    )
    compared(_compared_restores(session), TARGET_ERROR, "restores")
    table(calibration_words.CHECK_HEADER, map(calibration_words.check_row, sizes))


def _compared_restores(session: CalibrationSession) -> list[Compared]:
    """Every real restore beside what the fits said of it."""
    found = []
    for check in session.checks:
        sample = session.samples[check.ordinal]
        kind = sample.path.value.replace("_", " ")
        size = format_bytes(sample.size_bytes or 0)
        found.append(Compared(kind, f"{kind} of {size}", sample.duration_s, check.predicted_s))
    return found


def compared(points: Sequence[Compared], tolerance: float, name: str) -> None:
    """Predictions against observations of one kind, `name`, as a figure."""
    figure(
        agreement(points, tolerance), f"agreement-{name}", f"{name}: how far predictions were off"
    )
