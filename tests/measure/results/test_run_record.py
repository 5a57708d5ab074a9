"""What a record says of runs that were made by hand."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from measure.faults.schedule import FaultEvent
from measure.interfaces.capabilities import Way
from measure.results.run_record import Surroundings, run_record
from measure.results.verdict import Run
from measure.supervisor.observed import Ending
from tests.measure.results.made import Made, job, without_step

NOBODY = Surroundings({}, {}, {})


def record(run: Run) -> dict[str, Any]:
    found = run_record(run, NOBODY, {}, datetime.now(UTC))
    again: dict[str, Any] = json.loads(json.dumps(found, allow_nan=False))
    return again


def restarted() -> Made:
    made = Made(job(FaultEvent(1, step=7), way=Way.RESTART))
    made.trains([0, 1], 0.0, 0, 7)
    made.crashes(1, 7.5, seen_s=0.25)
    made.is_given_up([0], 7.8)
    made.recovers(7.75, 12.0, step=5, way="restart")
    made.trains([2, 3], 12.0, 5, 5, generation=1)
    return made


def test_a_run_in_which_nothing_happened_has_every_field() -> None:
    made = Made(job(mechanism="ft9"))
    made.trains([0, 1], 0.0, 0, 10)
    found = record(made.ends(10.0, 0, 1))
    assert (found["outcome"], found["validity"]) == ("completed", "valid")
    assert {name: found[name] for name in ("saves", "emergency", "recoveries", "lineage")} == {
        "saves": [],
        "emergency": [],
        "recoveries": [],
        "lineage": [],
    }
    assert (found["infeasible_reason"], found["overhead"]) == (None, None)
    assert (found["shared_memory_bytes"], found["equivalent"]) == (None, True)
    assert found["times"]["wall_s"] == pytest.approx(10.0)


def test_processes_that_were_ended_to_start_anew_neither_hung_nor_hold_the_run_back() -> None:
    found = record(restarted().ends(17.0, 2, 3))
    assert (found["outcome"], found["validity_reasons"]) == ("recovered", [])
    assert found["steps_completed"] == 10
    assert [rank["end"] for rank in found["ranks"]] == ["killed", "killed", "finished", "finished"]
    (recovery,) = found["recoveries"]
    assert recovery["phases"][0] == ["detect", pytest.approx(0.25)]
    assert [phase["fault"] for phase in found["phases"]] == [0] * 8


def test_a_run_with_one_generation_of_another_size_is_not_the_planned_one() -> None:
    made = restarted()
    for generation, equivalent in enumerate((True, False, True)):
        members = [{"slot": n, "place": n, "rank": n} for n in (0, 1)] if not generation else []
        line = {"generation": generation, "equivalent": equivalent, "members": members}
        made.seen.lineage.append(line)
    found = record(made.ends(17.0, 2, 3))
    assert not found["equivalent"]
    assert [line["generation"] for line in found["lineage"]] == [0, 1, 2]


def test_an_infeasible_cell_says_why() -> None:
    made = Made(job())
    made.view(1).infeasible = "too little memory"
    found = record(made.ends(2.0, ending=Ending.INFEASIBLE))
    assert (found["outcome"], found["infeasible_reason"]) == ("infeasible", "too little memory")
    assert (found["validity_reasons"], found["times"]) == ([], None)


def test_shared_memory_is_that_of_all_ranks_of_the_largest_generation() -> None:
    made = restarted()
    for slot, generation, size in ((0, 0, 10), (1, 0, 11), (2, 1, 10), (3, 1, 13)):
        made.says(slot, 0.5, "attached", generation=generation, shared_bytes=size)
    assert record(made.ends(17.0, 2, 3))["shared_memory_bytes"] == 23


def test_times_that_do_not_add_up_make_a_run_invalid() -> None:
    found = record(without_step(restarted().ends(17.0, 2, 3), 3))
    assert (found["outcome"], found["validity"]) == ("invalid", "invalid")
    assert found["validity_reasons"][0].startswith("the times do not add up: ")
