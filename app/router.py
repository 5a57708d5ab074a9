"""The app's router: the sidebar that all pages share, then the page that was chosen."""

import streamlit as st

from app import data
from app.form import apply_pending, choose_cluster, remember_address, scenario_form
from app.shown import Shown
from app.views import (
    coverage,
    frontier,
    operating_points,
    recommend,
    saved,
    sensitivity,
    sql,
)

PAGES = (
    ("Recommend", "recommend", ":material/check_circle:", recommend.page),
    ("Frontier", "frontier", ":material/scatter_plot:", frontier.page),
    ("Sensitivity", "sensitivity", ":material/tornado:", sensitivity.page),
    ("Coverage", "coverage", ":material/grid_on:", coverage.page),
    ("Operating points", "operating-points", ":material/table:", operating_points.page),
    ("SQL", "sql", ":material/terminal:", sql.page),
    ("Saved", "saved", ":material/bookmark:", saved.page),
)


def main() -> None:
    """Runs at every change, for one session."""
    st.set_page_config(page_title="FailBench Advisor", page_icon=":material/shield:", layout="wide")
    chosen = st.navigation(
        [
            st.Page(_nothing, title=title, url_path=path, icon=icon, default=path == "recommend")
            for title, path, icon, _ in PAGES
        ]
    )
    draw(chosen.url_path or "recommend")


def draw(path: str) -> None:
    """The sidebar, then the page with that path.

    The sidebar is drawn here and not by the pages: its fields then keep their values, and their
    place in the address, from page to page.
    """
    remember_address()
    apply_pending()
    shown = _shown()
    if shown is not None:
        next(page for _, known, _, page in PAGES if known == path)(shown)


def _nothing() -> None:
    """Stands for a page in the navigation; `main` draws it."""


def _shown() -> Shown | None:
    """The sidebar's choice; None, with the reason on the page, where the database has no answer."""
    names = data.or_explain(data.clusters)
    if names is None:
        return None
    if not names:
        st.info("This database holds no cluster yet. This fills in the shipped ones:")
        st.code("advisor db load", language="console")
        return None
    cluster = choose_cluster(names)
    found = data.or_explain(lambda: data.loaded(cluster))
    if found is None:
        return None
    texts, inputs = scenario_form(cluster, found.evidence)
    return Shown(found, texts, inputs)
