"""Every format shows the whole answer, escapes what came from outside, and is deterministic."""

import csv
import io
import json
import re
from dataclasses import replace
from typing import Any

import pytest

from advisor.errors import UserError
from advisor.recommendation import Recommendation
from advisor.reports import FORMATS, Canvas, render
from advisor.reports.document import from_document, to_document
from advisor.reports.markdown import escape
from advisor.scenario import FailureRegime, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_SCENARIOS: dict[str, dict[str, Any]] = {
    "plain": {},
    "announced": {"warning_lead_s": 2.0, "max_overhead": 0.05, "interval": 100},
    "nothing fits": {"max_pause_s": 1.0},
    "native": {"architecture": "a6"},
    "native, several failures": {"architecture": "a6", "failure_regime": FailureRegime.MULTI},
    "named": {"mechanisms": ("ft1", "ft2"), "storage_write_bytes_per_s": 5e8},
}


@pytest.fixture(params=_SCENARIOS)
def answer(request: pytest.FixtureRequest, matilda: ClusterEvidence) -> Recommendation:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return recommend(matilda, ScenarioInput(**(stated | _SCENARIOS[request.param])))


@pytest.mark.parametrize("fmt", FORMATS)
def test_every_format_names_every_mechanism_and_is_deterministic(
    answer: Recommendation, fmt: str
) -> None:
    text = render(answer, fmt)
    assert text == render(answer, fmt)
    assert text.endswith("\n")
    for number in range(1, 10):
        assert re.search(rf"\bft{number}\b", text, re.IGNORECASE), number


def test_json_holds_no_nan_and_reads_back_equal(answer: Recommendation) -> None:
    document = json.loads(render(answer, "json"), parse_constant=pytest.fail)
    assert document == to_document(answer)
    again = from_document(document)
    assert to_document(again) == document
    for fmt in FORMATS:
        assert render(again, fmt) == render(answer, fmt)


def test_json_contract_keys(answer: Recommendation) -> None:
    document = to_document(answer)
    keys = "mechanism interval_steps evidence overhead restore_s expected_completion_s goodput"
    for candidate in document["candidates"]:
        assert [*candidate][:7] == keys.split()
        assert "terms" in candidate
        if candidate["terms"]:
            parts = {k: v for k, v in candidate["terms"].items() if k != "failures"}
            assert sum(parts.values()) == pytest.approx(candidate["expected_completion_s"])
    for excluded in document["excluded"]:
        assert excluded["reason"]
    for crossover in document["crossovers"]:
        assert {"a", "b", "mtbf_s", "shortcut_mtbf_s"} <= crossover.keys()
    assert {"selected", "assumed", "frontier", "warnings", "sources"} <= document.keys()
    assert document["selected"] in [*document["candidates"], None]


def test_csv_has_one_row_a_mechanism(answer: Recommendation) -> None:
    rows = list(csv.DictReader(io.StringIO(render(answer, "csv"))))
    assert sorted(r["mechanism"] for r in rows) == [f"ft{n}" for n in range(1, 10)]
    assert sum(r["status"] == "selected" for r in rows) == (answer.selected is not None)
    for row in rows:
        assert row["status"] != "excluded" or row["reason"]


def test_text_without_colour_has_no_escape_codes_and_keeps_the_width(
    answer: Recommendation,
) -> None:
    text = render(answer, "table", Canvas(width=100))
    assert "\x1b" not in text
    assert max(map(len, text.splitlines())) <= 100
    assert "\x1b[" in render(answer, "table", Canvas(width=100, color=True))


def test_narrow_terminals_lose_no_mechanism(answer: Recommendation) -> None:
    text = render(answer, "table", Canvas(width=60))
    assert max(map(len, text.splitlines())) <= 60
    for candidate in answer.candidates:
        assert candidate.mechanism.upper() in text


def test_text_from_outside_is_escaped(answer: Recommendation) -> None:
    hostile = "[red]<script>alert(1)</script>[/red] | `x` \x1b[31m"
    named = replace(answer, warnings=(hostile,))
    assert "<script>" not in render(named, "markdown")
    assert "[red]" in render(named, "table")
    assert "\x1b" not in render(named, "table")
    assert escape("a|b_c") == "a\\|b\\_c"


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"format": "something else", "version": 1},
        {"format": "failbench-advisor-recommendation", "version": 2},
        {"format": "failbench-advisor-recommendation", "version": 1},
        {"format": "failbench-advisor-recommendation", "version": 1, "margin": 3},
    ],
)
def test_other_documents_are_refused_in_one_line(document: dict[str, Any]) -> None:
    with pytest.raises(UserError) as caught:
        from_document(document)
    assert "\n" not in str(caught.value)
