"""Coverage: which tuples are possible, and which were observed."""

import streamlit as st

from advisor.coverage import ARCHITECTURES, MECHANISMS, TRACES, TupleState
from advisor.figures.coverage import cells, coverage, tuple_words
from app import address, data
from app.shown import Shown
from app.widgets import figure, table

_EVERY, _THIS = "every cluster", "this cluster"
_STATES = tuple(str(state) for state in TupleState)


def page(shown: Shown) -> None:
    """The matrix, the counts of its tuples, and the reasons behind them."""
    st.header("Coverage", anchor=False)
    whose = address.choice(st, "Runs of", "runs-of", (_EVERY, _THIS), _EVERY, width=220)
    cluster = shown.evidence.cluster.cluster if whose == _THIS else None
    found = data.or_explain(lambda: data.coverage(cluster))
    if found is None:
        return
    counts = ", ".join(f"**{count}** {state}" for state, count in found.counts.items())
    st.markdown(f"{counts} of {len(found.tuples)} tuples.")
    st.caption(
        f"A tuple is one of the paper's {len(ARCHITECTURES)} architectures (A1 sync and async are "
        f"one) with one of its {len(MECHANISMS)} mechanisms under {', '.join(TRACES)}. It is "
        "observed if a valid run of it is in the database, or behind an operating point that came "
        "in a bundle; analytical if only a publication has numbers of it. A cell shows under how "
        "many of the traces its pair was observed."
    )
    figure(coverage(cells(found)), "coverage", "Architectures and mechanisms: what was observed")
    st.subheader("Tuple by tuple")
    picked = address.choices(st, "States", "states", _STATES, ("degenerate", "infeasible"))
    table(
        ("architecture", "mechanism", "trace", "state", "runs", "why"),
        [
            (
                each.architecture.upper(),
                each.mechanism.upper(),
                each.trace,
                str(each.state),
                tuple_words(each) if each.outcomes else "none",
                each.reason,
            )
            for each in found.tuples
            if each.state in picked
        ],
    )
