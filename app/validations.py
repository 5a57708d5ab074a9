"""Whole jobs, predicted and run live, as part of a page."""

import streamlit as st

from advisor.figures.agreement import Compared
from advisor.reports import validation_words as words
from advisor.validated import MAX_ERROR, MeanRun, repeated, validated
from app.calibrations import compared
from app.widgets import bullets, table
from db.records import ClusterEvidence


def jobs(evidence: ClusterEvidence) -> None:
    """Every scenario that was run live on the cluster: predicted beside observed, and regret."""
    st.markdown("**Whole jobs**, each candidate run live under the same failures:")
    if not evidence.validations:
        st.info("No scenario was tried live on this cluster. This does, on the machine it is:")
        st.code("advisor validate --scenario job.toml", language="console")
        return
    found = validated(evidence.validations)
    scenarios = repeated(found)
    points = [
        _compared(each.name, run)
        for each in scenarios
        for run in each.runs
        if run.error_fraction is not None
    ]
    if points:
        compared(points, MAX_ERROR, "jobs")
    bullets(words.regret_lines(scenarios))
    if len(found) > len(scenarios):
        with st.expander("Means of each scenario"):
            table(words.MEANS_HEADER, words.mean_rows(scenarios))
            st.caption(words.MEANS_LEGEND)
    with st.expander("Every run"):
        table(words.HEADER, words.rows(found))
        st.caption(words.LEGEND)


def _compared(scenario: str, run: MeanRun) -> Compared:
    said = f"{scenario}: {run.mechanism.upper()}" + (f", mean of {run.n}" if run.n > 1 else "")
    return Compared(run.mechanism.upper(), said, run.observed_s or 0.0, run.predicted_s or 0.0)
