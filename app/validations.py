"""Whole jobs, predicted and run live, as part of a page."""

import streamlit as st

from advisor.figures.agreement import Compared
from advisor.reports import validation_words as words
from advisor.validation import MAX_ERROR, validated
from app.calibrations import compared
from app.widgets import bullets, table
from db.records import ClusterEvidence, ValidatedRun


def jobs(evidence: ClusterEvidence) -> None:
    """Every scenario that was run live on the cluster: predicted beside observed, and regret."""
    st.markdown("**Whole jobs**, each candidate run live under the same failures:")
    if not evidence.validations:
        st.info("No scenario was tried live on this cluster. This does, on the machine it is:")
        st.code("advisor validate --scenario job.toml", language="console")
        return
    found = validated(evidence.validations)
    points = [_compared(run) for run in evidence.validations if run.error_fraction is not None]
    if points:
        compared(points, MAX_ERROR, "jobs")
    bullets(words.regret_lines(found))
    with st.expander("Every run"):
        table(words.HEADER, words.rows(found))
        st.caption(words.LEGEND)


def _compared(run: ValidatedRun) -> Compared:
    name = f"{run.name}: {run.mechanism.upper()}"
    return Compared(run.mechanism.upper(), name, run.observed_s or 0.0, run.predicted_s or 0.0)
