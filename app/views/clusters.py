"""Clusters: the sidebar's scenario on each of several, and what was measured on them."""

from functools import partial

import streamlit as st

from advisor.comparison.clusters import ComparedRow, Comparison
from advisor.comparison.matching import Compared
from advisor.comparison.same_scenario import answers
from advisor.errors import UserError
from advisor.evidence import near_to
from advisor.figures.comparison import RatioRow, ratios
from advisor.recommendation import Recommendation
from advisor.reports import comparison_words as words
from advisor.scenario import Scenario
from app import address, data
from app.data import Loaded
from app.markdown import message
from app.shown import Shown
from app.widgets import bullets, figure, wide_table
from db.records import ClusterEvidence

_ALL, _COMMON = "all", "of all clusters"
_BESIDE = 3
"""How many other clusters are shown where nobody chose any."""
_DRAWN = 40
"""Most rows of a figure."""


def page(shown: Shown) -> None:
    """The cluster of the sidebar, which is the baseline, beside others."""
    st.header("Clusters", anchor=False)
    names = data.or_explain(data.clusters)
    if names is None:
        return
    baseline = shown.evidence.cluster.cluster
    others = [name for name in names if name != baseline]
    picked = address.choices(st, "Beside it", "beside", names, others[:_BESIDE])
    beside = [name for name in picked if name != baseline]
    picked_architectures, picked_mechanisms = _filters(shown.evidence)
    common = address.choice(st, "Cells", "cells", (_ALL, _COMMON), _ALL, width=220)
    loaded = _loaded(shown.loaded, beside)
    if loaded is None:
        return
    _answers(shown, loaded)
    if not beside:
        st.info("Nothing to compare: there is no other cluster, or none is chosen.")
        return
    found = data.comparison(
        loaded, tuple(picked_architectures) or None, tuple(picked_mechanisms) or None
    )
    _machines(found)
    _cells(found, common == _COMMON)
    _calibrations(found)


def _filters(evidence: ClusterEvidence) -> tuple[list[str], list[str]]:
    left, right = st.columns(2)
    architectures = sorted(evidence.architectures)
    mechanisms = sorted(evidence.mechanisms)
    return (
        address.choices(left, "Architectures", "of-architecture", architectures),
        address.choices(right, "Mechanisms", "of-mechanism", mechanisms),
    )


def _loaded(first: Loaded, beside: list[str]) -> tuple[Loaded, ...] | None:
    """The evidence of all; None, with the reason on the page, where the database is the trouble."""
    found = [first]
    for name in beside:
        other = data.or_explain(partial(data.loaded, name))
        if other is None:
            return None
        found.append(other)
    return tuple(found)


def _answers(shown: Shown, loaded: tuple[Loaded, ...]) -> None:
    """The scenario of the sidebar, a row a cluster."""
    st.subheader("The same scenario on each", anchor=False)
    inputs = shown.filled.inputs
    if inputs is None:
        st.info("The scenario in the sidebar is not complete.")
        return
    names = [each.evidence.cluster.cluster for each in loaded]
    near = data.or_explain(lambda: {name: data.near(name, near_to(inputs)) for name in names})
    if near is None:
        return

    def recommend(evidence: ClusterEvidence, scenario: Scenario) -> Recommendation:
        return data.surely(near[evidence.cluster.cluster], scenario)

    try:
        found = answers([each.evidence for each in near.values()], inputs, recommend)
    except UserError as error:
        st.error(message(error))
        return
    rows = map(words.answer_cells, found)
    wide_table(words.ANSWER_HEADER, rows, "answers", "The answer of each cluster")
    bullets(words.answer_lines(found))


def _machines(found: Comparison) -> None:
    st.subheader("Hardware and software", anchor=False)
    rows = words.machine_rows(found)
    wide_table(words.machine_header(found), rows, "machines", "The clusters side by side")


def _cells(found: Comparison, common: bool) -> None:
    st.subheader("What was measured", anchor=False)
    bullets(words.count_lines(found))
    rows = [row for row in found.rows if row.is_common or not common]
    for place, other in enumerate(found.names[1:]):
        _ratios(found.names[0], other, rows, place)
    cells = map(words.row_cells, rows)
    wide_table(words.row_header(found), cells, "cells-table", "Every cell, cluster by cluster")


def _ratios(baseline: str, other: str, rows: list[ComparedRow], place: int) -> None:
    drawn = [each for row in rows if (each := ratio_row(row, place)) is not None]
    if not drawn:
        return
    if len(drawn) > _DRAWN:
        st.caption(
            f"{len(drawn)} cells have a ratio with an interval: choose architectures or mechanisms "
            f"to have at most {_DRAWN} drawn."
        )
        return
    name = f"How many times the numbers of {baseline} those of {other} are"
    figure(ratios(drawn, baseline, other), f"ratios-{place}", name)


def ratio_row(row: ComparedRow, place: int) -> RatioRow | None:
    """A cell of the first cluster and of the other one at `place`, with what they are unlike in;
    None where it has no ratio with an interval above 0."""
    found = row.differences[place]
    if found is None or found.ratio is None or found.low is None or found.high is None:
        return None
    if found.low <= 0.0 or found.is_more_than_chance is None:
        return None
    key = row.key
    at = [key.trace] if key.trace else []
    at += [f"every {key.interval_steps} steps"] if key.compared is Compared.OVERHEAD else []
    pair = f"{key.architecture.upper()} {key.mechanism.upper()}"
    name = " ".join([pair, words.compared_name(key.compared), *at, words.pair_words(row, place)])
    return RatioRow(
        name, f"{name}: {words.ratio_words(found)}", found.ratio, found.low, found.high,
        found.is_more_than_chance,
    )  # fmt: skip


def _calibrations(found: Comparison) -> None:
    st.subheader("Calibrations", anchor=False)
    if found.fits:
        cells = map(words.fit_cells, found.fits)
        wide_table(words.fit_header(found), cells, "fits-table", "What each path takes")
        st.caption(words.FIT_NOTE)
    line = words.calibration_line(found)
    if line is not None:
        bullets([line])
