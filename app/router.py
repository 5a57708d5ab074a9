"""The app's router: the sidebar that all pages share, then the page that was chosen."""

from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import StreamlitPage

from app import address, data
from app.form import choose_cluster, scenario_form
from app.shown import Shown
from app.views import (
    campaigns,
    clusters,
    coverage,
    failure_logs,
    frontier,
    operating_points,
    recommend,
    runs,
    saved,
    scale,
    sensitivity,
    sql,
    tune,
)
from app.widgets import link

_ICON = Path(__file__).with_name("icon.png")

PAGES = (
    ("Recommend", "recommend", ":material/check_circle:", recommend.page),
    ("Frontier", "frontier", ":material/scatter_plot:", frontier.page),
    ("Sensitivity", "sensitivity", ":material/tornado:", sensitivity.page),
    ("Scale", "scale", ":material/stacked_line_chart:", scale.page),
    ("Tune", "tune", ":material/tune:", tune.page),
    ("Coverage", "coverage", ":material/grid_on:", coverage.page),
    ("Clusters", "clusters", ":material/compare_arrows:", clusters.page),
    ("Operating points", "operating-points", ":material/table:", operating_points.page),
    ("Runs", "runs", ":material/monitoring:", runs.page),
    ("Campaigns", "campaigns", ":material/science:", campaigns.page),
    ("Failure logs", "failure-logs", ":material/monitor_heart:", failure_logs.page),
    ("SQL", "sql", ":material/terminal:", sql.page),
    ("Saved", "saved", ":material/bookmark:", saved.page),
)


def main() -> None:
    """Runs at every change, for one session."""
    # An icon of our own: Streamlit would fetch a named one from another host.
    st.set_page_config(page_title="FailBench Advisor", page_icon=str(_ICON), layout="wide")
    notices = st.container()
    drawn: list[Shown] = []
    # Above twelve pages Streamlit would hide the last ones behind a button.
    chosen = st.navigation([_page(entry, drawn) for entry in PAGES], expanded=True)
    # The sidebar is drawn before the page runs, and not by the page: its fields then keep their
    # values, and their place in the address, from page to page.
    address.begin(chosen.url_path)
    shown = sidebar()
    if shown is not None:
        drawn.append(shown)
    chosen.run()
    _finish(shown, notices)


def draw(path: str) -> None:
    """The sidebar and one page, without the navigation around them."""
    notices = st.container()
    address.begin(path)
    shown = sidebar()
    if shown is not None:
        next(page for _, known, _, page in PAGES if known == path)(shown)
    _finish(shown, notices)


def _finish(shown: Shown | None, notices: DeltaGenerator) -> None:
    if shown is None:
        address.give_up()
    else:
        link()
        address.end(notices)


def _page(
    entry: tuple[str, str, str, Callable[[Shown], None]], drawn: Sequence[Shown]
) -> StreamlitPage:
    title, path, icon, page = entry

    def run() -> None:
        for shown in drawn:
            page(shown)

    return st.Page(run, title=title, url_path=path, icon=icon, default=path == "recommend")


def sidebar() -> Shown | None:
    """Draws the sidebar; None, with the reason on the page, where the database has no answer."""
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
    estimates = data.or_explain(data.estimate_names)
    if estimates is None:
        return None
    return Shown(found, scenario_form(cluster, found.evidence, estimates))
