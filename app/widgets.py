"""Pieces that several pages draw alike. All text from outside is escaped before it is Markdown."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from advisor.defaults import resolve
from advisor.errors import AdvisorError
from advisor.recommendation import Recommendation
from advisor.reports.markdown import escape
from app import data
from app.form import REPEATED
from app.shown import Shown


def answered(shown: Shown) -> Recommendation | None:
    """The answer to the sidebar's scenario; None, with the reason on the page, if it has none."""
    if shown.inputs is None:
        st.info("The scenario in the sidebar is not complete: see the fields marked there.")
        return None
    try:
        scenario = resolve(shown.inputs, shown.evidence)
    except AdvisorError as error:
        st.error(escape(str(error)))
        return None
    return data.recommend(shown.loaded, scenario)


def bullets(items: Iterable[str]) -> None:
    """A list of plain texts."""
    st.markdown("\n".join(f"- {escape(item)}" for item in items))


def section(title: str, items: Iterable[str]) -> None:
    """A titled list, or nothing where it is empty."""
    listed = list(items)
    if listed:
        st.subheader(title)
        bullets(listed)


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A small table of texts, readable by screen readers."""
    cells = [[escape(str(cell)) for cell in row] for row in rows]
    st.table(pd.DataFrame(cells, columns=list(header)).set_index(header[0]))


def figure(drawn: Any, key: str, alt: str) -> None:
    """A plotly figure in the page's own colours."""
    st.plotly_chart(
        drawn,
        key=f"figure-{key}",
        alt=alt,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )


def link(texts: Mapping[str, str | Sequence[str]]) -> None:
    """The address that shows this page again, with every value spelled out."""
    stated = {
        name: text.split(",") if name in REPEATED and isinstance(text, str) else text
        for name, text in texts.items()
        if text
    }
    base = (st.context.url or "").partition("?")[0]
    with st.expander("Link to this page"):
        st.code(f"{base}?{urlencode(stated, doseq=True)}", language=None, wrap_lines=True)
