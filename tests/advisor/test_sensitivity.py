"""Curves, map and tornado say the same as asking scenario by scenario."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advisor.defaults import resolve
from advisor.scenario import FailureRegime, Scenario, ScenarioInput
from advisor.sensitivity import NOBODY, mtbf_curves, mtbf_grid, tornado, winner_map
from db.records import ClusterEvidence
from tests.advisor.conftest import VERSIONS


def scenario(evidence: ClusterEvidence, **more: Any) -> Scenario:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)


def winner(evidence: ClusterEvidence, asked: Scenario) -> tuple[str, float | None]:
    from advisor.decide import decide

    selected = decide(evidence, asked, VERSIONS).selected
    if selected is None:
        return NOBODY, None
    expected = selected.expected_completion_s
    return selected.mechanism, None if expected is None else expected / asked.duration_s - 1.0


@pytest.mark.parametrize(
    "more", [{}, {"warning_lead_s": 1.0}, {"max_overhead": 0.002}, {"interval": 100}]
)
def test_curves_are_the_answers(matilda: ClusterEvidence, more: dict[str, Any]) -> None:
    asked = scenario(matilda, **more)
    grid = mtbf_grid(asked.mtbf_s, points=9)
    found = mtbf_curves(matilda, asked, grid)
    by_name = {curve.mechanism: curve.slowdown for curve in found.curves}
    for index, mtbf_s in enumerate(grid):
        name, slowdown = winner(matilda, replace(asked, mtbf_s=float(mtbf_s)))
        assert found.winner[index] == name
        assert by_name[name][index] == pytest.approx(slowdown, rel=1e-9)


def test_a_change_of_winner_is_found_where_it_is(matilda: ClusterEvidence) -> None:
    # On A4, FT4 saves nothing until a failure and restores in 10 s; FT2 restores in 0.2 s.
    asked = scenario(
        matilda, architecture="a4", state_bytes=2_567_000_000, warning_lead_s=15.0, detection_s=0.0
    )
    found = mtbf_curves(matilda, asked, mtbf_grid(100.0, 3.0))
    for change_s in found.changes_s:
        below = winner(matilda, replace(asked, mtbf_s=change_s * 0.999))[0]
        above = winner(matilda, replace(asked, mtbf_s=change_s * 1.001))[0]
        assert below != above


def test_the_map_is_the_answers(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, warning_lead_s=1.5)
    sizes = np.array([60_000_000, 204_700_000, 300_000_000, 900_000_000, 2_600_000_000])
    grid = mtbf_grid(asked.mtbf_s, points=5)
    found = winner_map(matilda, asked, grid, sizes)
    for row, size in enumerate(sizes):
        for column, mtbf_s in enumerate(grid):
            moved = replace(asked, state_bytes=int(size), mtbf_s=float(mtbf_s))
            assert found.winner[row][column] == winner(matilda, moved)[0]


def test_native_degradation_wins_the_whole_map(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, architecture="a6")
    found = winner_map(matilda, asked, mtbf_grid(1e4, points=3), np.array([204_700_000]))
    assert found.winner == (("ft9",) * 3,)
    assert mtbf_curves(matilda, asked, mtbf_grid(1e4, points=3)).curves == ()


def test_nothing_fits_is_nobody(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, failure_regime=FailureRegime.MULTI)
    found = mtbf_curves(matilda, asked, mtbf_grid(1e4, points=3))
    assert found.winner == (NOBODY,) * 3
    assert found.changes_s == ()


def test_the_tornado_is_the_answers(matilda: ClusterEvidence) -> None:
    asked = scenario(matilda, max_overhead=0.05)
    bars = tornado(matilda, asked)
    assert {b.name for b in bars} >= {"mtbf_s", "state_bytes", "detection_s", "max_overhead"}
    for bar in bars:
        for end in (bar.low, bar.high):
            change: dict[str, Any] = {bar.name: end.value}
            moved = replace(asked, **change)
            assert (end.winner, end.slowdown) == pytest.approx(winner(matilda, moved))
    widths = [abs((b.high.slowdown or 0) - (b.low.slowdown or 0)) for b in bars if b.matters]
    assert widths == sorted(widths, reverse=True)
