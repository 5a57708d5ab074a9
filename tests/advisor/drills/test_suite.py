"""Which drills are run, and what the harness is told."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.drill_run import drill_name
from advisor.drills.catalogue import BY_NAME, DRILLS
from advisor.drills.drill import Promise
from advisor.drills.suite import (
    Chosen,
    Known,
    campaign_file,
    expected_row,
    known_of,
    schedule_file,
    suite_of,
    unknown_words,
)
from advisor.errors import UserError
from db.records import RunOutcome

EVERYTHING = Known(
    kinds=frozenset(event["kind"] for drill in DRILLS for event in drill.events),
    phases=frozenset(event["phase"] for d in DRILLS for event in d.events if "phase" in event),
    takes_params=True,
    keys=frozenset({"monitors"}),
)
CRASH, STRAGGLER = BY_NAME["crash"], BY_NAME["straggler"]


def test_without_names_all_are_run() -> None:
    suite = suite_of(DRILLS, EVERYTHING)
    assert [each.drill for each in suite.chosen] == list(DRILLS)
    assert suite.skipped == ()
    assert suite.runs == sum(len(drill.promises) for drill in DRILLS)


def test_names_and_mechanisms_choose() -> None:
    suite = suite_of(DRILLS, EVERYTHING, ["adjacent", "announced", "crash"], ["ft2", "ft4"])
    assert [(each.drill.name, each.mechanisms) for each in suite.chosen] == [
        ("crash", ("ft2", "ft4")),
        ("adjacent", ("ft2",)),
        ("announced", ("ft4",)),
    ]
    assert suite.runs == 4


@pytest.mark.parametrize(
    ("names", "mechanisms", "says"),
    [
        (["earthquake"], [], r"unknown drill 'earthquake': known are crash, exception, "),
        ([], ["ft10"], r"unknown mechanism with drills 'ft10': known are ft1, ft2, "),
        (["announced"], ["ft1"], r"none of these drills applies to ft1: to ft4"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line(
    names: list[str], mechanisms: list[str], says: str
) -> None:
    with pytest.raises(UserError, match=says) as caught:
        suite_of(DRILLS, EVERYTHING, names, mechanisms)
    assert "\n" not in str(caught.value)


def test_what_the_harness_does_not_know_is_skipped_with_the_word() -> None:
    older = replace(EVERYTHING, kinds=EVERYTHING.kinds - {"straggler"}, keys=frozenset())
    suite = suite_of(DRILLS, older, ["crash", "straggler", "flip-gradient"])
    assert [each.drill.name for each in suite.chosen] == ["crash"]
    assert {each.drill: each.reason for each in suite.skipped} == {
        "straggler": "the harness of this version does not know the kind of fault straggler,"
        " monitors",
        "flip-gradient": "the harness of this version does not know monitors",
    }
    assert suite_of(DRILLS, older, ["straggler"]).chosen == ()


def test_phases_and_params_may_be_unknown_too() -> None:
    second = BY_NAME["second-loss-restoring"]
    unphased = replace(EVERYTHING, phases=frozenset({"starting"}))
    assert unknown_words(second, unphased).endswith("the phase restoring")
    without = replace(EVERYTHING, takes_params=False)
    assert unknown_words(BY_NAME["lost-warning"], without).endswith("params of faults")
    assert unknown_words(BY_NAME["no-lead"], without) == ""


def test_what_is_known_is_read_from_the_schemas() -> None:
    def schemas(params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        event = {
            "kind": {"enum": ["crash", None]},
            "phase": {"enum": ["starting", None]},
            "params": params,
        }
        keys: dict[str, Any] = {"properties": {"architecture": {}, "monitors": {}}}
        return {"$defs": {"event": {"properties": event}}}, {"$defs": {"keys": keys}}

    found = known_of(*schemas({"type": "object", "maxProperties": 0}))
    assert found == Known(
        frozenset({"crash"}),
        frozenset({"starting"}),
        False,
        frozenset({"architecture", "monitors"}),
    )
    assert known_of(*schemas({"type": "object"})).takes_params


def test_the_harness_is_told_a_block_a_drill() -> None:
    chosen = [Chosen(CRASH, ("ft1", "ft9")), Chosen(STRAGGLER, ("ft1",))]
    traces = {"crash": "/runs/crash.json", "straggler": "/runs/straggler.json"}
    common = {"profile": "smoke", "world-size": 4, "device": None}
    assert campaign_file(chosen, traces, common) == {
        "profile": "smoke",
        "world-size": 4,
        "block": [
            {
                "architecture": "a2",
                "mechanism": ["ft1", "ft9"],
                "trace": "/runs/crash.json",
                "steps": 30,
                "interval": 10,
            },
            {
                "architecture": "a2",
                "mechanism": ["ft1"],
                "trace": "/runs/straggler.json",
                "steps": 100,
                "interval": 10,
                "monitors": "stragglers",
            },
        ],
    }
    assert schedule_file(CRASH) == {
        "schema": "failbench-faults",
        "version": 1,
        "name": "drill-crash",
        "events": [{"rank": 2, "kind": "crash", "step": 25}],
    }


def test_steps_of_a_clocked_drill_follow_the_profile() -> None:
    announced = BY_NAME["announced"]
    assert announced.steps_in("smoke") > announced.steps_in("cpu") == announced.steps_in("paper")
    assert CRASH.steps_in("smoke") == CRASH.steps_in("cpu")


def test_settings_of_a_drill_are_keys_of_its_block() -> None:
    (block,) = campaign_file(
        [Chosen(BY_NAME["node-crash"], ("ft1",))], {"node-crash": "n.json"}, {"profile": "cpu"}
    )["block"]
    assert block["nodes"] == 2


def test_a_promise_as_it_is_stored() -> None:
    promise = Promise(frozenset({RunOutcome.RESTARTED, RunOutcome.HALTED}), 3)
    assert expected_row(STRAGGLER, promise) == {
        "drill": "straggler",
        "architecture": "a2",
        "expected": "halted restarted-from-zero",
        "most_lost_steps": 3,
        "noticed_by": "stragglers",
        "deadline_s": 60.0,
    }


def test_a_trace_says_which_drill_it_is() -> None:
    assert drill_name("drill-two-at-once@1a2b3c4d") == "two-at-once"
    assert drill_name(None) == ""


@pytest.mark.parametrize(
    ("promise", "words"),
    [
        (Promise(frozenset({RunOutcome.HALTED})), "halted"),
        (Promise(frozenset({RunOutcome.RECOVERED}), 10), "recovered, 10 steps lost at most"),
        (Promise(frozenset({RunOutcome.RECOVERED}), 1), "recovered, 1 step lost at most"),
        (Promise(frozenset({RunOutcome.RECOVERED}), 0), "recovered, no step lost"),
        (Promise(frozenset({RunOutcome.HANG, RunOutcome.HALTED})), "halted or hang"),
    ],
)
def test_a_promise_in_words(promise: Promise, words: str) -> None:
    assert promise.in_words() == words
