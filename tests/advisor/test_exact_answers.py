"""The exact time in an answer: beside Eq. (5), marked where they differ, and in every format."""

import json
from dataclasses import replace
from math import exp
from typing import Any

import pytest

from advisor.decide import exact_time
from advisor.recommendation import ExactTime
from advisor.reports import Canvas, render
from advisor.reports.document import from_document, to_document
from advisor.reports.words import candidate_cells, crossover_line, interval_lines
from advisor.scenario import ScenarioInput
from advisor.units import format_duration
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_SIZE = 204_700_000


def asked(mtbf_s: float, **changes: Any) -> ScenarioInput:
    return replace(ScenarioInput("a2", _SIZE, mtbf_s, detection_s=30.0), **changes)


def test_where_failures_are_rare_nothing_is_marked(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(14400.0))
    assert not any("marked *" in warning for warning in found.warnings)
    for candidate in found.candidates:
        assert candidate.exact is not None
        assert candidate.exact.completion_s is not None
        assert candidate.expected_completion_s is not None
        assert candidate.exact.completion_s == pytest.approx(
            candidate.expected_completion_s, rel=0.01
        )
        assert not candidate.exact.is_flagged
        assert "*" not in "".join(candidate_cells(candidate))


def test_where_they_are_not_every_format_says_so(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(200.0, regroup_s=20.0))
    assert found.selected is not None
    exact = found.selected.exact
    assert exact is not None
    assert exact.is_flagged
    assert exact.completion_s is not None
    assert found.selected.expected_completion_s is not None
    difference = exact.completion_s / found.selected.expected_completion_s - 1.0
    assert difference > 0.01
    assert exact.difference_fraction == pytest.approx(difference)
    (warning,) = [each for each in found.warnings if "marked *" in each]
    assert f"{100 * difference:.2f}".rstrip("0") in warning
    assert all(candidate.mechanism.upper() in warning for candidate in found.candidates)
    assert candidate_cells(found.selected)[6].endswith("*")
    for fmt in ("table", "markdown"):
        assert "marked *" in render(found, fmt, Canvas(200, False)).replace("\\", "")
    document = json.loads(render(found, "json", Canvas(80, False)))
    assert document["selected"]["exact"]["is_flagged"] is True
    assert from_document(to_document(found)).candidates[0].exact == exact


def test_a_warned_mechanism_pays_for_recoveries_that_begin_anew(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(100.0, warning_lead_s=2.0, mechanisms=("ft4",)))
    (candidate,) = found.candidates
    assert candidate.exact is not None
    assert candidate.restore_s is not None
    recovery_s = candidate.restore_s + found.scenario.regroup_s
    expected_s = found.scenario.duration_s * (1.0 + 30.0 / 100.0) * exp(recovery_s / 100.0)
    assert candidate.exact.completion_s == pytest.approx(expected_s)
    assert candidate.exact.interval is None


def test_a_job_that_never_ends_has_no_number(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, asked(0.01, regroup_s=20.0))
    assert found.selected is not None
    exact = found.selected.exact
    assert exact is not None
    assert exact == ExactTime(None, None, True, exact.interval)
    assert any("practically never ends" in warning for warning in found.warnings)


def test_native_degradation_has_none(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, replace(asked(14400.0), architecture="a6"))
    assert found.selected is not None
    assert found.selected.native is not None
    assert found.selected.exact is None
    assert exact_time(found.scenario, found.selected) is None


def test_an_interval_says_whether_a_change_is_worth_it(matilda: ClusterEvidence) -> None:
    """One 10 times too short is; one within the flat range is not, and is called flat."""
    best = recommend(matilda, asked(14400.0, mechanisms=("ft1",))).candidates[0]
    assert best.interval_steps is not None
    lines = {}
    for steps in (best.interval_steps // 10, best.interval_steps, 2 * best.interval_steps):
        found = recommend(matilda, asked(14400.0, mechanisms=("ft1",), interval=steps))
        (lines[steps],) = interval_lines(found)
    changed, *same = lines.values()
    assert "points less" in changed
    assert all("points less" not in line for line in same)
    assert all("flat from" in line for line in lines.values())


_SLOW = {
    "mechanisms": ("ft1", "ft2"),
    "storage_write_bytes_per_s": 246e6,
    "storage_read_bytes_per_s": 66.1e6,
}
"""FT1's longer restore outweighs its shorter stall once failures are many."""


@pytest.mark.parametrize(
    ("changes", "is_off"),
    [
        ({"detection_s": 5.0, "regroup_s": 1.0}, False),
        ({"regroup_s": 60.0}, True),
        ({"interval": 100, "regroup_s": 1.0, "detection_s": 5.0}, False),
        ({"interval": 100, "regroup_s": 20.0}, True),
    ],
)
def test_a_crossing_is_marked_where_the_candidates_are_there(
    matilda: ClusterEvidence, changes: dict[str, Any], is_off: bool
) -> None:
    inputs = asked(14400.0, **_SLOW, **changes)
    found = recommend(matilda, inputs)
    (crossover,) = found.crossovers
    assert crossover.mtbf_s is not None
    there = recommend(matilda, replace(inputs, mtbf_s=crossover.mtbf_s)).candidates
    marks = [candidate.exact.is_flagged for candidate in there if candidate.exact]
    assert len(marks) == 2
    assert crossover.is_flagged is any(marks)
    assert crossover.is_flagged is is_off
    line = crossover_line(crossover)
    assert (f"{format_duration(crossover.mtbf_s)}*:" in line) is is_off
    for fmt in ("table", "markdown"):
        said = render(found, fmt, Canvas(300, False)).replace("\\", "")
        assert line in said
        assert ("*: Eq. (5) is more than 1 % off the exact time there" in said) is is_off
    assert to_document(found)["crossovers"][0]["is_flagged"] is is_off


def test_crossings_of_answers_that_were_saved_before_have_no_mark(
    matilda: ClusterEvidence,
) -> None:
    document = to_document(recommend(matilda, asked(14400.0, regroup_s=60.0, **_SLOW)))
    for each in document["crossovers"]:
        assert each.pop("is_flagged") is True
    (crossover,) = from_document(document).crossovers
    assert crossover.is_flagged is None
    assert "*" not in crossover_line(crossover)


def test_without_a_crossing_there_is_nothing_to_mark(matilda: ClusterEvidence) -> None:
    (crossover,) = recommend(matilda, asked(14400.0, mechanisms=("ft1", "ft3"))).crossovers
    assert crossover.mtbf_s is None
    assert crossover.is_flagged is None
