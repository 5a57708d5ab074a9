"""Whether a promise was kept: every way of breaking it is named, and keeping it is enough."""

from dataclasses import replace
from typing import Any

import pytest

from db.drill_verdict import Expectation, Shown, findings, verdict, verdict_without_run
from db.records import DrillResult

EXPECTED = Expectation(("recovered", "restarted-from-zero"), 10, 60.0, None)
SHOWN = Shown("recovered", "valid", "", 5.0, 10, 0, frozenset())


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"outcome": "restarted-from-zero"},
        {"lost_steps": None},
        {"wall_s": 60.0},
        {"monitors": frozenset({"digest"})},
    ],
)
def test_a_promise_is_kept(change: dict[str, Any]) -> None:
    assert verdict(EXPECTED, replace(SHOWN, **change)) == (DrillResult.PASSED, "")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"outcome": "halted"},
            "its outcome was halted, expected recovered or restarted-from-zero",
        ),
        ({"unfired": 1}, "1 of its faults did not strike"),
        ({"lost_steps": 11}, "it lost 11 steps, expected 10 at most"),
        ({"wall_s": 60.26}, "it took 60.3 s, its deadline is 60 s"),
        (
            {"validity": "invalid", "validity_reason": "rank 1 ended unplanned: SIGSEGV"},
            "its run shows nothing: rank 1 ended unplanned: SIGSEGV",
        ),
        (
            {"outcome": "hang", "wall_s": 75.0},
            "its outcome was hang, expected recovered or restarted-from-zero; "
            "it took 75.0 s, its deadline is 60 s",
        ),
    ],
)
def test_a_broken_promise_says_how(change: dict[str, Any], reason: str) -> None:
    assert verdict(EXPECTED, replace(SHOWN, **change)) == (DrillResult.FAILED, reason)


def test_no_limit_on_lost_steps_is_none() -> None:
    expected = replace(EXPECTED, most_lost_steps=None)
    assert verdict(expected, replace(SHOWN, lost_steps=10**6))[0] is DrillResult.PASSED
    assert verdict(replace(EXPECTED, most_lost_steps=0), SHOWN)[0] is DrillResult.FAILED


def test_the_monitor_that_is_named_has_to_find_something() -> None:
    expected = replace(EXPECTED, noticed_by="digest")
    failed = (DrillResult.FAILED, "the monitor digest found nothing")
    assert verdict(expected, SHOWN) == failed
    assert verdict(expected, replace(SHOWN, monitors=frozenset({"values"}))) == failed
    found = replace(SHOWN, monitors=frozenset({"digest", "values"}))
    assert verdict(expected, found) == (DrillResult.PASSED, "")


@pytest.mark.parametrize("status", [None, "pending", "running", "stale", "complete"])
def test_without_a_run_it_is_still_to_come(status: str | None) -> None:
    assert verdict_without_run(status, "why") == (DrillResult.PLANNED, "")


def test_a_cell_that_failed_without_a_record_fails_its_drill() -> None:
    found = verdict_without_run("failed", "the harness was killed in it 2 times")
    assert found == (
        DrillResult.FAILED,
        "it has no record: the harness was killed in it 2 times",
    )


@pytest.mark.parametrize(
    ("record", "found"),
    [
        ({}, set()),
        ({"monitoring": None}, set()),
        ({"monitoring": [{"monitor": "digest", "suspicions": []}]}, set()),
        ({"monitoring": [{"monitor": "digest:5", "suspicions": [{"step": 25}]}]}, {"digest"}),
        (
            {
                "monitoring": [
                    {"monitor": "digest", "suspicions": []},
                    {"monitor": "stragglers", "suspicions": [{}]},
                ]
            },
            {"stragglers"},
        ),
    ],
)
def test_what_monitors_found_is_in_the_record(record: dict[str, Any], found: set[str]) -> None:
    assert findings(record) == found
