"""How late the job may end: percentiles by simulation, where somebody asks for them; part of the
page Recommend."""

import streamlit as st

from advisor.arrivals import SHAPES, Law
from advisor.errors import UserError
from advisor.recommendation import Recommendation
from advisor.reports import simulation_document, simulation_words
from app import address, data
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import bullets, wide_table
from db.records import Arrivals

FIELDS = ("arrivals", "weibull-shape")
"""Their names in the address."""
_SHAPE_LABEL, _SHAPE_EXAMPLE = "Weibull shape", "such as 0.7"
_LAWS = {
    Arrivals.POISSON.value: "Poisson: memoryless",
    Arrivals.WEIBULL.value: "Weibull: with a shape, below 1 in bursts",
}


def choose(shown: Shown, recommendation: Recommendation) -> None:
    """A choice of how failures come, and the percentiles below it once one is made; nothing where
    no candidate has an expected time."""
    if not any(c.terms for c in recommendation.candidates):
        return
    st.subheader("How late it may end")
    arrivals_field, shape_field = st.columns(2)
    arrivals = address.choice(
        arrivals_field,
        "Simulate with arrivals",
        FIELDS[0],
        list(_LAWS),
        "",
        nothing="not simulated",
        format_func=_LAWS.__getitem__,
        help="How failures follow each other; the MTBF stays their mean. It takes a second; with "
        "tens of thousands of failures in one job, up to a minute.",
    )
    shape = address.text(
        shape_field,
        _SHAPE_LABEL,
        FIELDS[1],
        max_chars=20,
        placeholder=_SHAPE_EXAMPLE,
        disabled=arrivals != Arrivals.WEIBULL,
        help=f"From {SHAPES[0]:g} to {SHAPES[1]:g}. Below 1, failures come in bursts with long "
        "quiet times between; the page Failure logs gives that of a log.",
    )
    if not arrivals:
        return
    try:
        law = Law(Arrivals.POISSON) if arrivals == Arrivals.POISSON else _weibull(shape)
    except UserError as error:
        shape_field.error(message(f"{_SHAPE_LABEL}: {error}"))
        return
    _percentiles(shown, recommendation, law)


def _percentiles(shown: Shown, recommendation: Recommendation, law: Law) -> None:
    simulated = data.simulated(shown.loaded, recommendation, law)
    if simulated.found:
        rows = (simulation_words.row(*each) for each in simulated.found)
        alt = "Percentiles of each candidate's completion time"
        wide_table(simulation_words.HEADER, rows, "percentiles", alt)
        st.caption(escape(simulation_words.basis_line(law, data.SEED)))
    notes = list(simulation_document.remarks(simulated))
    if notes:
        bullets(notes)
    command = simulation_words.command_line(recommendation.scenario, law)
    st.code(command, language="console", wrap_lines=True)


def _weibull(text: str) -> Law:
    """The law of that shape. Raises UserError."""
    low, high = SHAPES
    wanted = f"write a number from {low:g} to {high:g}, {_SHAPE_EXAMPLE}"
    if not text.strip():
        raise UserError(f"it is needed: {wanted}")
    try:
        shape = float(text)
    except ValueError:
        raise UserError(f"{text!r} is not a shape: {wanted}") from None
    if not low <= shape <= high:  # nan is in no range
        raise UserError(f"{text!r} is no shape that failures have: {wanted}")
    return Law(Arrivals.WEIBULL, shape)
