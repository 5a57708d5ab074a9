"""Recommend: the answer first and in words, then everything behind it."""

from dataclasses import replace

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from advisor.figures.time_split import time_split
from advisor.recommendation import Recommendation
from advisor.report import make_report
from advisor.reports import next_words, words
from advisor.saved import save
from app import address, data, mtbf_range, percentiles, tool_settings
from app.markdown import escape, message
from app.shown import Shown
from app.widgets import answered, bullets, figure, section, table, take_along

_BADGES = {"M": ("measured", "green"), "E": ("extrapolated", "orange"), "D": ("derived", "blue")}


def page(shown: Shown) -> None:
    """The scenario's answer."""
    address.await_later(mtbf_range.FIELD, *percentiles.FIELDS, *tool_settings.FIELDS)
    answer = answered(shown)
    if answer is None:
        return
    shown, recommendation = answer
    _answer(recommendation)
    # Filled in last, as what is late: the answer waits neither for draws nor for simulations.
    beside = st.container()
    recommendation = mtbf_range.choose(shown, recommendation)
    for warning in recommendation.warnings:
        st.warning(message(warning), icon=":material/warning:")
    if any(c.terms for c in recommendation.candidates):
        figure(
            time_split(recommendation),
            "time_split",
            "Time that each candidate adds to the failure-free time, term by term",
        )
    if recommendation.candidates:
        st.subheader("Candidates")
        table(words.CANDIDATE_HEADER, map(words.candidate_cells, recommendation.candidates))
        st.caption(words.EVIDENCE_LEGEND)
        for line in words.drill_lines(recommendation):
            st.caption(message(line))
    below, late = st.container(), st.container()
    section("What would flip it", map(words.crossover_line, recommendation.crossovers))
    section("Not offered", map(words.excluded_line, recommendation.excluded))
    tool_settings.choose(shown, recommendation)
    _details(recommendation)
    _take_away(shown, recommendation)
    _how_sure(shown, recommendation, beside, below)
    with late:
        percentiles.choose(shown, recommendation)


def _how_sure(
    shown: Shown, recommendation: Recommendation, beside: DeltaGenerator, below: DeltaGenerator
) -> None:
    """Probability and regret beside the answer; every candidate's, and what to measure next, below
    the candidates."""
    uncertainty, cells = data.how_sure(shown.loaded, recommendation)
    if not uncertainty.chances:
        return
    known = replace(recommendation, uncertainty=uncertainty)
    pick = uncertainty.chances[0]
    beside.markdown(escape(words.sure_line(pick)))
    with below, st.expander("How sure this is, and which cell to measure next"):
        section("How sure", words.uncertainty_lines(known))
        st.subheader(next_words.TITLE)
        helpful = next_words.helpful(cells)
        if helpful:
            table(next_words.HEADER, map(next_words.cells_row, helpful))
            st.caption(next_words.BASIS)
            st.code(helpful[0].command, language="console", wrap_lines=True)
        rest = next_words.rest_line(cells)
        if rest is not None:
            bullets([rest])


def _answer(recommendation: Recommendation) -> None:
    st.header(escape(words.headline(recommendation)), anchor=False)
    selected = recommendation.selected
    if selected is not None:
        name, color = _BADGES[selected.evidence.value]
        st.badge(name, color=color)  # type: ignore[arg-type]
    runner_up = words.runner_up_line(recommendation)
    if runner_up:
        st.markdown(escape(runner_up))


def _details(recommendation: Recommendation) -> None:
    with st.expander("Evidence: the numbers behind this, and the rules applied to them"):
        section("Numbers", words.evidence_lines(recommendation))
        section("Rules", words.rule_lines(recommendation))
        section("Tried live", words.seen_lines(recommendation))
        section("Time between checkpoints", words.interval_lines(recommendation))
        section("Sources", (f"{s.citation} {s.url}" for s in recommendation.sources))
    with st.expander("What was assumed"):
        table(("input", "value", "from"), words.scenario_rows(recommendation.scenario))


def _take_away(shown: Shown, recommendation: Recommendation) -> None:
    st.subheader("Take it along")
    take_along(recommendation, lambda: make_report(recommendation, shown.evidence), "report")
    if st.button("Save in the database", key="save"):
        _save(recommendation)


def _save(recommendation: Recommendation) -> None:
    def write() -> str:
        with data.database() as engine:
            return save(engine, recommendation)

    saved = data.or_explain(write)
    if saved:
        bullets([f"Saved as {saved}: it is on the page Saved, and in `advisor report {saved}`."])
