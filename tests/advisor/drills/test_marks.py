"""Which mechanisms count as tested: of each drill the newest, and not for longer than 30 days."""

from dataclasses import replace
from datetime import timedelta

import pytest

from advisor.drills.marks import MOST_DAYS, is_stale, mark_of, with_marks
from advisor.recommendation import DrillMark
from advisor.reports import Canvas, render
from advisor.reports.document import from_document, to_document
from advisor.reports.words import drill_lines, evidence_code
from advisor.scenario import ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend
from tests.advisor.drills.drilled import NOW, OLD, RECENT, drilled, failed


def test_what_passed_lately_is_tested() -> None:
    found = mark_of([drilled(), drilled("adjacent"), failed(mechanism="ft2")], "ft1", NOW)
    assert found == DrillMark(True, "", 2, 0, 0, RECENT, ("c/ft1-crash", "c/ft1-adjacent"))


def test_what_failed_is_untested_and_says_which_run() -> None:
    found = mark_of([drilled("adjacent"), failed()], "ft1", NOW)
    assert not found.is_tested
    assert found.reason == (
        "drill crash failed on 2026-12-20: its outcome was halted, expected recovered "
        "(run c/ft1-crash)"
    )
    assert (found.passed, found.failed, found.stale) == (1, 1, 0)


def test_several_that_failed_are_counted() -> None:
    names = ("crash", "adjacent", "cascade", "hang")
    found = mark_of([*map(failed, names), drilled("shard")], "ft1", NOW)
    assert found.reason == "4 of 5 drills failed: crash, adjacent, cascade, ..."


def test_the_newest_of_each_drill_counts() -> None:
    again = drilled(run_id="c/again", tried_at="2026-12-21T10:00:00Z")
    assert mark_of([failed(), again], "ft1", NOW).is_tested
    broken = failed(run_id="c/again", tried_at="2026-12-21T10:00:00Z")
    found = mark_of([drilled(), broken], "ft1", NOW)
    assert (found.is_tested, found.run_ids) == (False, ("c/again",))


def test_what_is_older_than_thirty_days_is_untested() -> None:
    found = mark_of([drilled("adjacent"), drilled(tried_at=OLD)], "ft1", NOW)
    assert found.reason == "1 of 2 drills are older than 30 days, the oldest 31 days: crash"
    assert (found.is_tested, found.passed, found.stale, found.newest_at) == (False, 1, 1, RECENT)


@pytest.mark.parametrize(("seconds", "stale"), [(0, False), (1, True)])
def test_thirty_days_to_the_second(seconds: int, stale: bool) -> None:
    tried_at = (NOW - timedelta(days=MOST_DAYS, seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert is_stale(drilled(tried_at=tried_at), NOW) is stale


def test_what_was_never_drilled_is_untested() -> None:
    found = mark_of([drilled(mechanism="ft2")], "ft1", NOW)
    assert found == DrillMark(False, "no drill of it was run on this cluster", 0, 0, 0, None, ())


def test_drills_that_are_no_more_do_not_count() -> None:
    gone = failed("a drill of an older version")
    assert mark_of([gone, drilled()], "ft1", NOW).is_tested


INPUTS = ScenarioInput("a2", 204_700_000, 14400.0, mechanisms=("ft1", "ft2", "ft3"))


def test_a_cluster_without_drills_has_one_line(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, INPUTS)
    assert with_marks(found, (), NOW) is found
    assert list(drill_lines(found)) == [
        "no mechanism was drilled on this cluster, so all are untested (`advisor drill`)"
    ]
    assert {evidence_code(each)[-1] for each in found.candidates} <= {"M", "E", "D"}
    assert to_document(found)["candidates"][0]["drilled"] is None
    nothing = replace(found, candidates=(), selected=None, runner_up=None)
    assert list(drill_lines(nothing)) == []


def test_each_candidate_is_marked_and_none_excluded(matilda: ClusterEvidence) -> None:
    before = recommend(matilda, INPUTS)
    found = with_marks(before, (drilled(), failed(mechanism="ft2")), NOW)
    assert [each.mechanism for each in found.candidates] == [
        each.mechanism for each in before.candidates
    ]
    codes = {each.mechanism: evidence_code(each) for each in found.candidates}
    assert {name: code.endswith("‡") for name, code in codes.items()} == {
        "ft1": False,
        "ft2": True,
        "ft3": True,
    }
    assert set(drill_lines(found)) == {
        "FT1: 1 drill passed, the newest on 2026-12-20",
        "FT2‡: untested: drill crash failed on 2026-12-20: its outcome was halted, expected "
        "recovered (run c/ft2-crash)",
        "FT3‡: untested: no drill of it was run on this cluster",
    }
    assert (found.selected, found.runner_up) == (found.candidates[0], found.candidates[1])
    document = to_document(found)
    marks = {each["mechanism"]: each["drilled"] for each in document["candidates"]}
    assert marks["ft1"]["is_tested"]
    assert marks["ft1"]["run_ids"] == ["c/ft1-crash"]
    assert [each.drilled for each in from_document(document).candidates] == [
        each.drilled for each in found.candidates
    ]
    for fmt in ("table", "markdown", "csv"):
        shown = render(found, fmt, Canvas(200, False)).replace("\\", "")
        assert "untested: no drill of it was run on this cluster" in shown, fmt
