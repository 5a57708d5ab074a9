"""Every format shows the whole answer, escapes what came from outside, and is deterministic."""

import csv
import io
import json
import re
from dataclasses import replace
from html import unescape
from typing import Any

import pytest
from markdown_it import MarkdownIt

from advisor.errors import UserError
from advisor.recommendation import Recommendation, RuleCheck, RuleError, SeenError
from advisor.reports import FORMATS, Canvas, render
from advisor.reports.document import from_document, to_document
from advisor.reports.markdown import escape
from advisor.reports.words import check_words, headline, listed, rule_lines, seen_lines
from advisor.rules import Part, Rule
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


_HOSTILE = (
    "# h", "> q", "- x", "+ x", "* x", "- [ ] x", "1. x", "12) x", "---", "- - -", "===", "***",
    "~~~", "```", "~~a~~", "__a__", "*a*", "`a`", "[a](b)", "![a](b)", "[a]: b", "[^1]", "<b>x</b>",
    "<http://a.b>", "&lt;b&gt; &#42;", "a | b", "| - |", "\\", "a\\", "$x^2$", "    code", "a  \nb",
    "!", "1.37 GB", "-17 %", "--mtbf", "~ 1 / I",
)  # fmt: skip


@pytest.mark.parametrize("text", _HOSTILE)
@pytest.mark.parametrize(
    ("around", "tags"),
    [
        ("{}", "p /p"),
        ("- {}", "ul li /li /ul"),
        ("# {}", "h1 /h1"),
        (
            "| h |\n| --- |\n| {} |",
            "table thead tr th /th /tr /thead tbody tr td /td /tr /tbody /table",
        ),
    ],
)
def test_whatever_is_escaped_comes_out_as_text(text: str, around: str, tags: str) -> None:
    made = MarkdownIt().enable(["table", "strikethrough"]).render(around.format(escape(text)))
    assert re.findall(r"<(/?\w+)", made) == tags.split()
    shown = unescape(re.sub(r"<[^>]*>", "", made)).split()
    assert shown[-len(text.split()) :] == text.split()


def test_dollars_start_no_formula() -> None:
    # CommonMark knows no formulas; GitHub and the app do.
    assert escape("$x$") == r"\$x\$"


@pytest.mark.parametrize("fmt", ["table", "markdown"])
def test_a_size_that_was_not_measured_reads_as_no_data(matilda: ClusterEvidence, fmt: str) -> None:
    asked = ScenarioInput(architecture="a2", state_bytes=1_000_000_000, mtbf_s=14400.0)
    found = recommend(matilda, asked)
    said = (
        "No data near enough for FT1, FT3, FT5 and FT6 on A2 with 1 GB a rank and steps of "
        "112.3 ms; no other mechanism satisfies every rule and limit."
    )
    advice = (
        "nothing was measured near enough to 1 GB a rank, and no option extrapolates further; "
        "there would be an answer with 204.7 MB or 2.6 GB a rank, which was measured"
    )
    text = " ".join(render(found, fmt, Canvas(width=100)).split())
    assert said in text
    assert advice in text
    assert to_document(found)["warnings"] == [advice]
    for size in (204_700_000, 2_600_000_000):
        assert recommend(matilda, replace(asked, state_bytes=size)).selected is not None


def test_a_failed_limit_is_not_called_no_data(matilda: ClusterEvidence) -> None:
    asked = ScenarioInput(
        architecture="a2", state_bytes=204_700_000, mtbf_s=14400.0, max_pause_s=1.0
    )
    assert headline(recommend(matilda, asked)) == "No mechanism satisfies every rule and limit."


def test_several_failures_say_what_was_seen_to_survive_them(matilda: ClusterEvidence) -> None:
    asked = ScenarioInput(
        architecture="a2",
        state_bytes=204_700_000,
        mtbf_s=14400.0,
        failure_regime=FailureRegime.MULTI,
    )
    (warning,) = recommend(matilda, asked).warnings
    assert "on matilda-8xv100 it was for A6" in warning
    assert "the failure regime single" in warning


@pytest.mark.parametrize("fmt", FORMATS)
def test_each_rule_says_how_far_it_is_off(matilda: ClusterEvidence, fmt: str) -> None:
    answer = recommend(
        matilda,
        ScenarioInput(
            architecture="a1-sync", state_bytes=204_700_000, mtbf_s=14400.0, mechanisms=("ft6",)
        ),
    )
    text = " ".join(render(answer, fmt).replace("\\", "").split())
    if fmt == "json":
        (candidate,) = json.loads(text)["candidates"]
        carried, *_, interval = candidate["checks"]
        assert carried["rule"] == "like_architecture"
        assert carried["errors"][0]["part"] == "stall"
        assert carried["errors"][0]["n"] == 11
        assert interval["errors"] == []
        assert interval["not_checked"]
        return
    assert "leave-one-out on this cluster: stall median 1.1 %, at most 10 % (n = 11)" in text
    assert "not checked on this cluster: no mechanism was measured at two intervals" in text


def test_what_is_near_zero_is_said_as_a_share_of_a_step() -> None:
    apart = RuleError(Part.STALL, 0, None, None, None, 3, 0.00412)
    off = RuleError(Part.RESTORE, 4, 0.123, 0.4567, -0.1, 0, None)
    assert check_words(RuleCheck(Rule.LIKE_ARCHITECTURE, (apart, off), None)) == (
        "leave-one-out on this cluster: stall off by at most 0.41 % of a step, where it cannot be "
        "told from zero (n = 3), restore median 12 %, at most 46 % (n = 4)"
    )


def test_an_answer_without_checks_is_printed_without_them(answer: Recommendation) -> None:
    """One that was saved before they were known."""
    document = to_document(answer)
    for candidate in (*document["candidates"], document["selected"], document["runner_up"]):
        if candidate:
            candidate.pop("checks", None)
    old = from_document(document)
    rules = [r for c in answer.candidates for r in c.rules]
    assert [line.partition(": ")[2] for line in rule_lines(old)] == rules


def test_names_are_listed_as_people_do() -> None:
    assert [listed(n) for n in (["a"], ["a", "b"], ["a", "b", "c"])] == [
        "a",
        "a and b",
        "a, b and c",
    ]


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


def test_what_was_tried_live_is_said_once_each(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, ScenarioInput("a2", 204_700_000, 14400.0, mechanisms=("ft1", "ft2")))
    assert list(seen_lines(found)) == [
        "not tried live on this cluster: "
        + ", ".join(c.mechanism.upper() for c in found.candidates)
    ]
    first, *rest = found.candidates
    seen = SeenError("FT2 on A2", 3, -0.015, 0.04)
    tried = replace(found, candidates=(replace(first, seen=seen), *rest))
    assert list(seen_lines(tried)) == [
        "FT2 on A2: 1.5 % less was predicted than observed (median of 3 runs, at most 4 % off)",
        f"not tried live on this cluster: {rest[0].mechanism.upper()}",
    ]
    assert from_document(to_document(tried)).candidates[0].seen == seen
    for fmt in ("table", "markdown"):
        shown = render(tried, fmt, Canvas(140, False)).replace("\\", "")
        assert "1.5 % less was predicted than observed" in shown
