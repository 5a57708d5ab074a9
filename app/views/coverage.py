"""Coverage: which pairs are possible, and which were measured."""

import streamlit as st

from advisor.figures.coverage import STATE_WORDS, STATES, cells, coverage
from app import address
from app.shown import Shown
from app.widgets import figure, table


def page(shown: Shown) -> None:
    """The matrix, and the reasons behind its cells."""
    matrix = cells(shown.evidence)
    st.header("Coverage", anchor=False)
    counts = {state: sum(c.state == state for c in matrix) for state in STATES}
    st.markdown(
        ", ".join(f"{count} {STATE_WORDS[state]}" for state, count in counts.items() if count)
        + f" of {len(matrix)} pairs."
    )
    figure(coverage(matrix), "coverage", "Architectures and mechanisms: what was measured")
    st.subheader("Cell by cell")
    picked = address.choices(st, "States", "states", STATES, ("degenerate", "infeasible"))
    table(
        ("architecture", "mechanism", "state", "why"),
        [
            (c.architecture.upper(), c.mechanism.upper(), STATE_WORDS[c.state], c.words)
            for c in matrix
            if c.state in picked
        ],
    )
