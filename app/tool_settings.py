"""The settings that realise the answer in a training tool, to copy; part of the page Recommend."""

import streamlit as st

from advisor.emit import registry
from advisor.emit.emitting import Emitted
from advisor.emit.settings_for import made_again, settings_for
from advisor.emit.tool import Part
from advisor.emit.writers import write
from advisor.errors import AdvisorError
from advisor.recommendation import Recommendation
from app import address
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import bullets

FIELDS = ("tool", "candidate")
"""Their names in the address."""


def choose(shown: Shown, recommendation: Recommendation) -> None:
    """Two choices, and the settings below them; nothing where the answer has no candidate that a
    tool could be set to."""
    offered = [c.mechanism for c in recommendation.candidates if c.native is None]
    if not offered:
        return
    st.subheader("Settings for a training tool")
    tool_field, candidate_field = st.columns(2)
    titles = {name: registry.tool(name).title for name in registry.names()}
    tool = address.choice(
        tool_field,
        "Tool",
        FIELDS[0],
        list(titles),
        "",
        nothing="none",
        format_func=titles.__getitem__,
        help="The tool whose settings are written below.",
    )
    candidate = address.choice(
        candidate_field,
        "Candidate",
        FIELDS[1],
        offered,
        "",
        nothing="the selected one",
        format_func=str.upper,
        help="The mechanism that the settings are for.",
    )
    if tool:
        _settings(shown, recommendation, tool, (candidate,) if candidate else ())


def _settings(
    shown: Shown, recommendation: Recommendation, tool: str, chosen: tuple[str, ...]
) -> None:
    try:
        emitted = settings_for(tool, recommendation, shown.evidence, chosen)
    except AdvisorError as error:
        st.info(message(error), icon=":material/block:")
        return
    if emitted.limits:
        bullets(emitted.limits)
    command = made_again(tool, recommendation.scenario, chosen)
    for part in emitted.parts:
        _part(emitted, part, command)


def _part(emitted: Emitted, part: Part, command: str) -> None:
    if len(emitted.parts) > 1:
        st.markdown(f"**{escape(part.name)}**")
    st.code(write(emitted, part, command), language=part.syntax.value)
