"""What the figures show: the numbers of the answer, names as text, and axes that can show 0."""

import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.coverage import covered
from advisor.figures.axes import log_axis, time_ticks, time_unit
from advisor.figures.coverage import cells, coverage
from advisor.figures.frontier import frontier, spots
from advisor.figures.sensitivity import (
    mtbf_figure,
    nowhere_line,
    tornado_figure,
    winner_figure,
)
from advisor.figures.theme import mechanism_colors
from advisor.figures.time_split import time_split
from advisor.recommendation import Recommendation
from advisor.report import sensitivity_of
from advisor.scenario import FailureRegime, IntervalPolicy, ScenarioInput
from db.coverage_queries import RunCount
from db.records import ClusterEvidence, PairStatus
from tests.advisor.conftest import recommend


def answer(evidence: ClusterEvidence, **more: Any) -> Recommendation:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return recommend(evidence, ScenarioInput(**(stated | {"detection_s": 30.0} | more)))


def traces(figure: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(figure.to_json())["data"]
    return found


def test_the_bars_add_up_to_the_time_added(matilda: ClusterEvidence) -> None:
    found = answer(matilda)
    figure = time_split(found)
    unit_s = {"h": 3600.0, "d": 86400.0}[figure.layout.xaxis.title.text.split("(")[1][:-1]]
    for index, candidate in enumerate(found.candidates):
        bar_s = sum(float(trace.x[index]) for trace in figure.data) * unit_s
        added_s = (candidate.expected_completion_s or 0.0) - found.scenario.duration_s
        assert bar_s == pytest.approx(added_s)


def test_bars_without_a_candidate_are_empty(matilda: ClusterEvidence) -> None:
    assert time_split(answer(matilda, max_pause_s=1.0)).data == ()


def test_frontier_spots_are_the_candidates(matilda: ClusterEvidence) -> None:
    found = answer(matilda, warning_lead_s=2.0, interval=IntervalPolicy.MEASURED)
    by_name = {s.candidate.mechanism: s for s in spots(found.candidates, "overhead", "restore")}
    assert by_name["ft4"].x == 0.0
    assert {m for m, s in by_name.items() if s.dominated_by is None} == {"ft1", "ft2", "ft4"}
    # Table VII: 0.48 +- 0.03 %.
    assert by_name["ft1"].x_error == pytest.approx(0.0003)
    figure = frontier(found.candidates, tuple(matilda.mechanisms))
    assert "0" in figure.layout.xaxis.ticktext
    hover = " ".join(t.get("hovertemplate", "") for t in traces(figure))
    assert "dominated by FT1" in hover


@pytest.mark.parametrize("axes", [("lost-work", "host-memory"), ("expected-time", "overhead")])
def test_frontier_takes_any_axes(matilda: ClusterEvidence, axes: tuple[str, str]) -> None:
    found = answer(matilda, warning_lead_s=2.0)
    assert len(frontier(found.candidates, tuple(matilda.mechanisms), *axes).data) >= 6


def test_sensitivity_figures_show_every_candidate(matilda: ClusterEvidence) -> None:
    found = answer(matilda)
    moved = sensitivity_of(matilda, found.scenario)
    mechanisms = tuple(matilda.mechanisms)
    curves = mtbf_figure(moved.curves, mechanisms, found.scenario.mtbf_s)
    assert {t.name for t in curves.data} == {c.mechanism.upper() for c in found.candidates}
    winners = winner_figure(moved.winners, mechanisms)
    assert {t.name for t in winners.data} == {"FT1", "none fits, or no data"}
    assert found.selected is not None
    slowdown = found.selected.slowdown
    assert slowdown is not None
    bars = tornado_figure(moved.tornado, slowdown)
    assert "MTBF" in bars.data[0].y


def test_marks_of_a_logarithmic_axis_stand_where_they_belong(matilda: ClusterEvidence) -> None:
    found = answer(matilda)
    curves = replace(sensitivity_of(matilda, found.scenario).curves, changes_s=(3600.0, 7200.0))
    figure = mtbf_figure(curves, tuple(matilda.mechanisms), 14400.0)
    marks = {a.text: 10.0**a.x for a in figure.layout.annotations}
    assert marks == pytest.approx({"1 h": 3600.0, "2 h": 7200.0, "yours": 14400.0})
    assert [s.x0 for s in figure.layout.shapes] == [3600.0, 7200.0, 14400.0]
    assert len({a.yshift for a in figure.layout.annotations}) == 3


def test_a_map_without_a_winner_is_one_line(matilda: ClusterEvidence) -> None:
    found = answer(matilda, failure_regime=FailureRegime.MULTI, max_overhead=0.05)
    winners = sensitivity_of(matilda, found.scenario).winners
    assert winners.is_empty
    assert nowhere_line(found.scenario, winners) == (
        "No mechanism fits at any MTBF from 14.4 s to 166 d 16 h with any state from 51.17 MB to "
        "10.4 GB a rank (largest overhead 5 %, several failures at once): “Not offered” says why."
    )
    assert not sensitivity_of(matilda, answer(matilda).scenario).winners.is_empty


def test_coverage_has_a_cell_for_each_pair() -> None:
    runs = [RunCount("a2", "ft1", trace, "recovered", 2, "") for trace in ("F1", "F2", "F3")]
    runs.append(RunCount("a3", "ft1", "F1", "halted", 1, ""))
    published = frozenset({("a4", "ft1", "F1")})
    found = cells(covered(runs, published, {("a6", "ft2"): (PairStatus.INFEASIBLE, "no ring")}))
    shown = {(c.architecture, c.mechanism): (c.state, c.label) for c in found}
    assert len(shown) == 63
    assert shown["a2", "ft1"] == ("observed", "3/3")
    assert shown["a3", "ft1"] == ("partly", "1/3")
    assert shown["a4", "ft1"] == ("analytical", "an.")
    assert shown["a5", "ft1"] == ("missing", "–")
    assert shown["a6", "ft2"] == ("infeasible", "S")
    (words,) = [c.words for c in found if (c.architecture, c.mechanism) == ("a3", "ft1")]
    assert words == "F1 1 halted; F2 missing; F3 missing"
    figure = coverage(found)
    assert len(figure.data) == 7
    assert figure.data[0].text[1][0] == "3/3"


def test_names_cannot_bring_markup_or_templates(matilda: ClusterEvidence) -> None:
    hostile = "<a href='javascript:1'>x</a> %{y} <img src=x>"
    mechanism = replace(matilda.mechanisms["ft1"], name=hostile)
    evil = replace(matilda, mechanisms={**matilda.mechanisms, "ft1": mechanism})
    found = answer(evil)
    for figure in (time_split(found), frontier(found.candidates, tuple(evil.mechanisms))):
        shown = figure.to_json().replace("\\u003c", "<")
        assert "<a href" not in shown
        assert "<img" not in shown
        assert "</a> %{y}" not in shown
        assert "&gt; %{y}" not in shown


def test_colours_are_told_apart() -> None:
    colors = mechanism_colors([f"ft{n}" for n in range(1, 10)])
    assert len(set(colors.values())) == 9
    assert colors == mechanism_colors([f"ft{n}" for n in range(9, 0, -1)])


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e12)), min_size=1, max_size=8))
def test_log_axis_keeps_order_and_shows_every_value(values: list[float]) -> None:
    axis = log_axis(values, str)
    positions = [axis.position(v) for v in sorted(values)]
    assert positions == sorted(positions)
    low, high = axis.span
    assert all(low <= p <= high for p in positions)
    assert axis.has_zero == (0.0 in values)
    assert list(axis.tick_positions) == sorted(axis.tick_positions)


def test_time_axes_speak_human_units() -> None:
    assert time_unit(2 * 86400.0).name == "d"
    assert time_unit(7000.0).name == "min"
    seconds, labels = time_ticks(60.0, 1e6)
    assert labels == ["1 min", "10 min", "1 h", "6 h", "1 d", "1 w"]
    assert np.all(np.diff(seconds) > 0)


def test_the_areas_of_the_map_cover_it_once(matilda: ClusterEvidence) -> None:
    found = answer(matilda, warning_lead_s=1.5)
    winners = sensitivity_of(matilda, found.scenario).winners
    covered = 0.0
    for trace in winner_figure(winners, tuple(matilda.mechanisms)).data:
        corners = [(x, y) for x, y in zip(trace.x, trace.y, strict=True) if x is not None]
        for start in range(0, len(corners), 5):
            (left, low), (right, _), (_, high) = corners[start : start + 3]
            covered += float(np.log(right / left) * np.log(high / low))
    m, s = np.log(winners.mtbf_s), np.log(winners.state_bytes.astype(float))
    whole = (m[-1] - m[0]) * (1 + 1 / (len(m) - 1)) * (s[-1] - s[0]) * (1 + 1 / (len(s) - 1))
    assert covered == pytest.approx(whole, rel=1e-3)
