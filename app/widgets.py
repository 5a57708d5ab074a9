"""Pieces that several pages draw alike. All text from outside is escaped before it is Markdown."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from advisor.errors import AdvisorError, MissingToolError
from advisor.evidence import Question
from advisor.recommendation import Recommendation
from advisor.report import Report
from advisor.reports import Canvas, render
from advisor.reports.files import html_of, pdf_of
from advisor.reports.pdf import find_browser
from advisor.saved_mtbf import with_origin
from app import address, data
from app.markdown import escape, message
from app.shown import Shown


def answered(shown: Shown) -> tuple[Shown, Recommendation] | None:
    """The answer to the sidebar's scenario, and `shown` with the evidence that it is given from.

    None, with the reason on the page, if it has none.
    """
    filled, inputs = shown.filled, shown.filled.inputs
    if inputs is None:
        where = f"see {', '.join(filled.wrong)}" if filled.wrong else "see at its end"
        st.info(f"The scenario in the sidebar is not complete: {where}.")
        return None
    cluster = shown.evidence.cluster.cluster
    try:
        found = data.or_explain(lambda: data.ask(cluster, inputs))
    except AdvisorError as error:
        st.error(message(error))
        return None
    if found is None:
        return None
    loaded, scenario = found
    if filled.named is not None:
        scenario = with_origin(Question(loaded.evidence, scenario), filled.named).scenario
    return replace(shown, loaded=loaded), data.recommend(loaded, scenario)


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


def wide_table(header: Sequence[str], rows: Iterable[Sequence[object]], key: str, alt: str) -> None:
    """A table of texts whose columns keep their width: where there is no room, it scrolls."""
    cells = [[str(cell) for cell in row] for row in rows]
    st.dataframe(pd.DataFrame(cells, columns=list(header)), hide_index=True, key=key, alt=alt)


def figure(drawn: Any, key: str, alt: str) -> None:
    """A plotly figure in the page's own colours."""
    st.plotly_chart(
        drawn,
        key=f"figure-{key}",
        alt=alt,
        config={"displaylogo": False, "modeBarButtonsToRemove": ["select2d", "lasso2d"]},
    )


def link() -> None:
    """The address that shows this page again, with every value spelled out."""
    stated = address.everything()
    base = (st.context.url or "").partition("?")[0]
    with st.expander("Link to this page"):
        st.code(f"{base}?{urlencode(stated, doseq=True)}", language=None, wrap_lines=True)


def take_along(answer: Recommendation, make: Callable[[], Report], name: str) -> None:
    """A button for each kind of file; the file is made when it is clicked, not at every change."""
    with st.container(horizontal=True):
        _download("Report (HTML)", lambda: html_of(make()), f"{name}.html", "text/html")
        _download(
            "Markdown", lambda: render(answer, "markdown", Canvas()), f"{name}.md", "text/markdown"
        )
        _download("JSON", lambda: render(answer, "json"), f"{name}.json", "application/json")
        _download("CSV", lambda: render(answer, "csv"), f"{name}.csv", "text/csv")
        try:
            find_browser()
        except MissingToolError as error:
            st.caption(message(error))
            return
        _download("Report (PDF)", lambda: pdf_of(make()), f"{name}.pdf", "application/pdf")


def _download(label: str, make: Callable[[], str | bytes], name: str, mime: str) -> None:
    st.download_button(label, make, name, mime, on_click="ignore", key=f"get_{mime}")
