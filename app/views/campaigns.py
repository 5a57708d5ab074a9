"""Campaigns: how far one is, live while it runs; what its cluster's calibration says, and how far
predictions are from what was observed."""

from collections.abc import Sequence
from urllib.parse import urlencode

import pandas as pd
import streamlit as st

from advisor.campaign_progress import PairProgress, pair_progress, trace_of
from advisor.campaign_view import CampaignView
from advisor.figures.campaign import campaign_matrix
from advisor.reports import campaign_words
from app import address, data
from app.calibrations import against_observation, calibration
from app.markdown import escape, message
from app.shown import Shown
from app.validations import jobs
from app.widgets import figure, table
from db.campaign_queries import CampaignSummary
from db.errors import NotFoundError
from db.records import CampaignStatus

CAMPAIGN, TRACE = "campaign", "cells-of"
_EVERY_TRACE = "every trace"
_EVERY_S = 2.0
"""How often a campaign that runs is looked at again."""
_LISTED_ROWS, _ROW_PX = 5, 35
_SHOWN_FAILED = 64
_MAKE_CAMPAIGN = "advisor measure --matrix"
_SHOWED = {
    "tuple": st.column_config.TextColumn("tuple", pinned=True),
    "overhead_fraction": st.column_config.NumberColumn("overhead", format="percent"),
    "overhead_half_width": st.column_config.NumberColumn("± (95 %)", format="percent"),
    "recovery_total_s": st.column_config.NumberColumn("recovery (s)", format="%.3f"),
    "detection_s": st.column_config.NumberColumn("all knew (s)", format="%.3f"),
    "lost_steps": st.column_config.NumberColumn("steps made again", format="%.1f"),
    "samples_per_s_per_rank": st.column_config.NumberColumn("samples/s/rank", format="%.1f"),
    "post_failure_samples_per_s_per_rank": st.column_config.NumberColumn(
        "samples/s/rank after", format="%.1f"
    ),
}


def page(shown: Shown) -> None:
    """The campaign that the address names, or the newest; then its cluster's calibration."""
    st.header("Campaigns", anchor=False)
    address.await_later(CAMPAIGN, TRACE)
    found = data.or_explain(data.campaigns)
    if found is None:
        return
    cluster = shown.evidence.cluster.cluster
    if found:
        chosen = _chosen(found)
        cluster = chosen.cluster
        _campaign(chosen)
    else:
        st.info("No campaign is in this database. This makes one, on your machine:")
        st.code(_MAKE_CAMPAIGN, language="console")
    session = data.or_explain(lambda: (data.calibration(cluster),))
    if session is not None:
        calibration(cluster, *session)
    st.subheader("Prediction against observation", anchor=False)
    loaded = data.or_explain(lambda: data.loaded(cluster))
    if loaded is not None:
        jobs(loaded.evidence)
    if session is not None:
        against_observation(*session)


def _chosen(found: Sequence[CampaignSummary]) -> CampaignSummary:
    by_name = {each.campaign: each for each in found}
    names = list(by_name)
    # The newest is another one tomorrow: the address names it.
    name = address.choice(
        st,
        "Campaign",
        CAMPAIGN,
        names,
        names[0],
        always=True,
        format_func=lambda name: f"{name} on {by_name[name].cluster}",
    )
    return by_name[name]


def _campaign(chosen: CampaignSummary) -> None:
    view = data.or_explain(lambda: _view(chosen.campaign))
    if view is None:
        return
    trace = _trace(view)
    is_running = view.summary.status is CampaignStatus.RUNNING
    follow = st.fragment(_live, run_every=_EVERY_S if is_running else None)
    follow(chosen.campaign, trace, is_running)


def _view(campaign: str) -> CampaignView | None:
    try:
        return data.campaign(campaign)
    except NotFoundError as error:
        st.error(message(error))
        return None


def _trace(view: CampaignView) -> str:
    """Which cells the matrix counts; nothing to choose where there is one trace only."""
    traces = sorted({trace_of(cell) for cell in view.cells})
    if len(traces) < 2:
        return _EVERY_TRACE
    options = (_EVERY_TRACE, *traces)
    return address.choice(st, "Cells of", TRACE, options, _EVERY_TRACE, width=220)


def _live(campaign: str, trace: str, was_running: bool) -> None:
    """All that changes while a campaign runs; it draws itself again until nobody runs it."""
    view = data.or_explain(lambda: _view(campaign))
    if view is None:
        return
    if was_running and view.summary.status is not CampaignStatus.RUNNING:
        # The whole page once more, which then has nothing that is drawn again by itself.
        st.rerun()
    _standing(view)
    _matrix(view, trace)
    _failed(view)
    _showed(view)
    _others()


def _standing(view: CampaignView) -> None:
    summary = view.summary
    st.caption(escape(campaign_words.origin_line(summary)))
    with st.container(horizontal=True):
        for name, value in campaign_words.facts(view):
            st.metric(name, value, width="content")
    if not summary.cells:
        st.info("Its runs were ingested: there is no plan that says what else was to be run.")
        return
    st.progress(
        summary.done / summary.cells,
        text=escape(f"now {view.now}") if view.now else None,
    )
    if summary.status is CampaignStatus.STALE:
        st.warning("It was interrupted, and loses nothing by it. This goes on with it:")
        resume = campaign_words.resume_command(summary.campaign)
        st.code(resume, language="console", wrap_lines=True)
    drift = campaign_words.drift_words(view.drift)
    st.caption(escape(f"{campaign_words.order_words(summary)}; {drift}"))


def _matrix(view: CampaignView, trace: str) -> None:
    cells = [cell for cell in view.cells if trace in (_EVERY_TRACE, trace_of(cell))]
    if not cells:
        return
    st.subheader("The matrix", anchor=False)
    st.caption(
        "Cells done of those planned for each pair; » is running, × failed, ! interrupted, each "
        "with how many."
    )
    pairs = pair_progress(cells)
    figure(
        campaign_matrix(pairs),
        "campaign-matrix",
        "Architectures and mechanisms: cells that are done",
    )
    with st.expander("The matrix as a table"):
        _pairs(pairs)


def _pairs(pairs: Sequence[PairProgress]) -> None:
    table(
        ("architecture", "mechanism", "done", "planned", "of them"),
        [
            (
                pair.architecture.upper(),
                pair.mechanism.upper(),
                pair.done,
                pair.planned,
                pair.words,
            )
            for pair in pairs
        ],
    )


def _failed(view: CampaignView) -> None:
    rows = campaign_words.failed_rows(view.cells)
    if not rows:
        return
    st.subheader("Cells that failed", anchor=False)
    st.caption("Their runs are no evidence. They are not run again: that would bias what is left.")
    table(campaign_words.FAILED_HEADER, rows[:_SHOWN_FAILED])
    if len(rows) > _SHOWN_FAILED:
        st.caption(f"The first {_SHOWN_FAILED} of {len(rows):,}.")


def _showed(view: CampaignView) -> None:
    if not view.tuples:
        return
    st.subheader("What the runs showed so far", anchor=False)
    st.caption(
        "A line a tuple, the newest first: means of its valid runs, recoveries by their median. "
        "They become operating points of the cluster when the campaign ends."
    )
    summary = view.summary
    where = urlencode({"cluster": summary.cluster, "run-campaign": summary.campaign})
    st.markdown(f"[The runs of this campaign](runs?{where})")
    newest = campaign_words.newest_first(view.tuples, view.cells)
    shown = pd.DataFrame(campaign_words.tuple_rows(newest)).dropna(axis="columns", how="all")
    st.dataframe(
        shown,
        hide_index=True,
        column_config=_SHOWED,
        key="campaign_tuples",
        alt="What the runs of each tuple showed",
    )


def _others() -> None:
    """The list of all campaigns, where there are several."""
    found = data.or_explain(data.campaigns)
    if found is None or len(found) < 2:
        return
    st.subheader("All campaigns", anchor=False)
    rows = [campaign_words.list_row(each) for each in found]
    st.dataframe(
        pd.DataFrame(rows, columns=list(campaign_words.LIST_HEADER)),
        hide_index=True,
        height=_ROW_PX * (1 + min(len(rows), _LISTED_ROWS)) + 3,
        key="campaign_list",
        alt="All campaigns, the newest first",
    )
