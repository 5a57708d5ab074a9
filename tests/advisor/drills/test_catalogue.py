"""Every drill: a schedule that can be, on pairs that work, with promises that can be broken."""

import csv
import json
from pathlib import Path

import pytest

from advisor.drill_run import known_to_the_harness
from advisor.drills.catalogue import BY_NAME, DRILLS, mechanisms_of
from advisor.drills.drill import DEFAULT_WORLD_SIZE, INTERVAL_STEPS, Drill
from advisor.drills.suite import schedule_file, unknown_words
from measure.faults.schedule import check, parse
from measure.mechanisms.catalogue import MECHANISMS

ROOT = Path(__file__).resolve().parents[3]
KNOWN = known_to_the_harness()
RUNNABLE = [drill for drill in DRILLS if not unknown_words(drill, KNOWN)]
IDS = [drill.name for drill in DRILLS]


def test_there_are_enough_and_each_once() -> None:
    assert len(RUNNABLE) >= 16
    assert len(DRILLS) >= 21
    assert len(BY_NAME) == len(DRILLS)


def test_every_mechanism_has_drills_that_run() -> None:
    assert mechanisms_of(RUNNABLE) == tuple(sorted(each.mechanism for each in MECHANISMS))


@pytest.mark.parametrize("drill", DRILLS, ids=IDS)
def test_its_pairs_work(drill: Drill) -> None:
    with (ROOT / "data" / "compatibility.csv").open(encoding="utf-8") as file:
        status = {(r["architecture"], r["mechanism"]): r["status"] for r in csv.DictReader(file)}
    assert drill.promises
    assert {status[drill.architecture, name] for name in drill.promises} == {"viable"}


@pytest.mark.parametrize("drill", DRILLS, ids=IDS)
def test_its_faults_strike_within_its_steps(drill: Drill) -> None:
    for event in drill.events:
        assert 0 <= event["rank"] < DEFAULT_WORLD_SIZE
        assert event.get("step", 0) < min(drill.steps_in("cpu"), drill.steps_in("smoke"))
    assert drill.steps > INTERVAL_STEPS
    assert drill.deadline_s > 0
    assert drill.proves[0].islower() or drill.proves.startswith("who")


@pytest.mark.parametrize("drill", RUNNABLE, ids=[drill.name for drill in RUNNABLE])
def test_the_harness_reads_its_schedule(drill: Drill) -> None:
    schedule = parse(json.loads(json.dumps(schedule_file(drill))))
    check(schedule, DEFAULT_WORLD_SIZE, int(drill.settings.get("nodes", 1)))
    assert schedule.name == drill.trace
    assert len(schedule.events) == len(drill.events)


@pytest.mark.parametrize("drill", DRILLS, ids=IDS)
def test_a_promise_says_what_would_break_it(drill: Drill) -> None:
    for promise in drill.promises.values():
        # Some run outcome breaks it; the words name all that keep it.
        assert 1 <= len(promise.outcomes) < 5
        assert all(outcome.value in promise.in_words() for outcome in promise.outcomes)
    assert drill.noticed_by is None or drill.noticed_by in {
        name.partition(":")[0] for name in drill.monitors
    }
