"""Sensitivity: what would change the answer."""

import streamlit as st

from advisor.figures.sensitivity import (
    mtbf_figure,
    nowhere_line,
    tornado_figure,
    winner_figure,
)
from advisor.report import sensitivity_of
from advisor.reports import words
from app.markdown import escape
from app.shown import Shown
from app.widgets import answered, figure, section


def page(shown: Shown) -> None:
    """Expected time over the MTBF, the map of winners, the tornado of inputs."""
    answer = answered(shown)
    if answer is None:
        return
    shown, recommendation = answer
    scenario, mechanisms = recommendation.scenario, tuple(shown.evidence.mechanisms)
    moved = sensitivity_of(shown.evidence, scenario)
    st.header("Sensitivity", anchor=False)
    st.markdown(escape(words.headline(recommendation)))
    if moved.curves.curves:
        figure(
            mtbf_figure(moved.curves, mechanisms, scenario.mtbf_s),
            "mtbf",
            "Expected time of every candidate against the MTBF",
        )
        section("Crossings", map(words.crossover_line, recommendation.crossovers))
    if moved.winners.is_empty:
        st.markdown(escape(nowhere_line(scenario, moved.winners)))
    else:
        figure(
            winner_figure(moved.winners, mechanisms), "winners", "Who wins by MTBF and state size"
        )
    selected = recommendation.selected
    if selected is not None and selected.slowdown is not None:
        figure(
            tornado_figure(moved.tornado, selected.slowdown),
            "tornado",
            "Expected time with each input halved and doubled",
        )
