"""Frontier: the candidates on two axes, who is dominated, and by whom."""

import streamlit as st

from advisor.decide import AXES, frontier_of
from advisor.figures.frontier import AXIS_TITLES, frontier
from advisor.reports import words
from app import address
from app.shown import Shown
from app.widgets import answered, bullets, figure, table

_NAMES = tuple(AXES)


def page(shown: Shown) -> None:
    """The trade-off of the scenario's candidates."""
    st.header("Frontier", anchor=False)
    left, right = st.columns(2)
    with left:
        across = _axis("Across", "x", "overhead")
    with right:
        upwards = _axis("Upwards", "y", "restore")
    answer = answered(shown)
    if answer is None:
        return
    shown, recommendation = answer
    if across == upwards:
        st.info("Choose two different axes.")
        return
    priced = [c for c in recommendation.candidates if c.terms is not None]
    if not priced:
        st.info("No candidate of this scenario has a cost by Eq. (5): see Recommend for why.")
        return
    figure(
        frontier(priced, tuple(shown.evidence.mechanisms), across, upwards),
        "frontier",
        f"Candidates by {AXIS_TITLES[across]} and {AXIS_TITLES[upwards]}",
    )
    st.caption("Shape tells the evidence; grey points are dominated, and say by whom.")
    front = frontier_of(priced, (across, upwards))
    dominated = {d.mechanism: d.dominated_by for d in front.dominated}
    table(
        ("mechanism", AXIS_TITLES[across], AXIS_TITLES[upwards], "verdict"),
        [
            (
                words.label(c),
                words.axis_words(across)(getattr(c, AXES[across])),
                words.axis_words(upwards)(getattr(c, AXES[upwards])),
                f"dominated by {dominated[c.mechanism].upper()}"
                if c.mechanism in dominated
                else "on the frontier",
            )
            for c in priced
        ],
    )
    if recommendation.excluded:
        with st.expander("Not offered"):
            bullets(map(words.excluded_line, recommendation.excluded))


def _axis(title: str, key: str, first: str) -> str:
    return address.choice(st, title, key, _NAMES, first)
