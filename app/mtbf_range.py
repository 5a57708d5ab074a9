"""The answer where the MTBF is only known within a factor; part of the page Recommend."""

from dataclasses import replace

import streamlit as st

from advisor.errors import UserError
from advisor.recommendation import Recommendation
from advisor.reports import words
from advisor.uncertainty.answer import minimax_of, parse_factor
from app import address
from app.markdown import message
from app.shown import Shown
from app.widgets import bullets

FIELD = "mtbf-factor"
"""Its name in the address."""
_LABEL = "MTBF known within a factor of"


def choose(shown: Shown, recommendation: Recommendation) -> Recommendation:
    """A field, and beside it the choice with the least largest regret; the answer with it, as it
    is saved and taken along. Unchanged where the field is empty or mistaken."""
    field, said = st.columns((1, 2))
    text = address.text(
        field,
        _LABEL,
        FIELD,
        max_chars=20,
        placeholder="such as 2",
        help="The MTBF may then be as much shorter or longer than stated. The choice is shown "
        "that loses least, at the worst MTBF of that range, against what is the best there.",
    )
    if not text.strip():
        return recommendation
    try:
        minimax = minimax_of(shown.evidence, recommendation, parse_factor(text))
    except UserError as error:
        field.error(message(f"{_LABEL}: {error}"))
        return recommendation
    known = replace(recommendation, minimax=minimax)
    with said:
        st.markdown("**Least largest regret**")
        bullets(words.minimax_lines(known))
    return known
