"""Recoveries phase by phase, and the detections that they begin with, for every way."""

import pytest

from measure.faults.schedule import FaultEvent
from measure.interfaces.capabilities import Way
from measure.results.verdict import Run, faults_of, reasons_of
from tests.measure.results.made import Made, answers_of, job

PHASES = ["detect", "stop", "elect", "rebuild", "initialise", "restore", "check", "resume"]


def phases(run: Run, number: int = 0) -> dict[str, float]:
    """The phases of a recovery; AssertionError unless they add up to its total."""
    found = answers_of(run)[number].phased
    assert found is not None
    assert sum(seconds for _, seconds in found.phases) == pytest.approx(found.total_s)
    assert [name for name, _ in found.phases] == PHASES
    assert all(seconds >= 0.0 for _, seconds in found.phases)
    return dict(found.phases)


def struck(way: Way, *more: FaultEvent, world_size: int = 3) -> Made:
    """Rank 1 dies in step 7, 7.5 s after the beginning."""
    made = Made(job(FaultEvent(1, step=7), *more, way=way, world_size=world_size))
    made.trains(range(world_size), 0.0, 0, 7)
    return made


def anew() -> Made:
    made = struck(Way.RESTART)
    made.crashes(1, 7.5, seen_s=0.25)
    made.is_given_up([0, 2], 7.8)
    made.recovers(7.75, 12.0, step=5, way="restart", idle_at=10.0, ordered_at=10.5)
    made.trains([3, 4, 5], 12.0, 5, 5, generation=1)
    return made


def test_in_place_the_last_survivor_who_notices_ends_the_detection() -> None:
    made = struck(Way.SPARE)
    made.crashes(1, 7.5)
    made.stops([0], 7.75)
    made.stops([2], 8.0)
    made.recovers(7.6, 12.0, step=5, idle_at=8.5, ordered_at=9.0)
    made.trains([0, 3, 2], 12.0, 5, 5, generation=1)
    found = phases(made.ends(17.0, 0, 2, 3))
    assert found["detect"] == pytest.approx(0.5)
    assert found["stop"] == pytest.approx(0.5)
    assert found["resume"] == pytest.approx(1.0)
    assert sum(found.values()) == pytest.approx(5.5)  # 7.5 to 13.0


def test_where_all_are_started_anew_the_supervisor_notices() -> None:
    found = phases(anew().ends(17.0, 3, 4, 5))
    assert found["detect"] == pytest.approx(0.25)
    assert found["stop"] == pytest.approx(2.25)  # until the new processes were up


def test_a_second_fault_during_a_restart_does_not_put_off_the_detection_of_the_first() -> None:
    made = struck(Way.RESTART, FaultEvent(0, after_s=2.0))
    made.crashes(1, 7.5, seen_s=0.25)
    made.is_given_up([0, 2], 7.8)
    made.says(3, 8.0, "ready")
    made.crashes(3, 9.5, ordinal=1, seen_s=0.25)
    made.is_given_up([4, 5], 9.8)
    made.recovers(9.75, 14.0, step=5, way="restart", generation=2)
    made.trains([6, 7, 8], 14.0, 5, 5, generation=2)
    run = made.ends(19.0, 6, 7, 8)
    assert phases(run)["detect"] == pytest.approx(0.25)
    assert [fault.ordinal for fault in answers_of(run)[0].faults] == [0, 1]


def test_processes_of_the_time_before_notice_no_later_fault() -> None:
    made = struck(Way.RESTART, FaultEvent(0, after_s=6.5))
    made.crashes(1, 7.5, seen_s=0.25)
    made.is_given_up([0, 2], 7.8)
    made.recovers(7.75, 12.0, step=5, way="restart")
    made.trains([3, 4, 5], 12.0, 5, 2, generation=1)
    made.crashes(3, 14.0, ordinal=1, seen_s=0.25)
    made.is_given_up([4, 5], 14.3)
    made.recovers(14.25, 18.0, step=5, way="restart")
    made.trains([6, 7, 8], 18.0, 5, 5, generation=2)
    run = made.ends(23.0, 6, 7, 8)
    first, second = faults_of(run)
    assert {detection.rank for detection in first.detections} == {0, 2}
    assert {detection.rank for detection in second.detections} == {4, 5}
    assert second.detected_s == pytest.approx(0.25)
    assert [phases(run, n)["detect"] for n in (0, 1)] == pytest.approx([0.25, 0.25])


def test_who_is_given_up_as_it_dies_of_its_own_fault_has_died_of_it() -> None:
    made = struck(Way.RESTART, FaultEvent(2, step=7))
    made.crashes(1, 7.5)
    made.crashes(2, 7.5, ordinal=1)
    made.is_given_up([0, 2], 7.6)
    made.recovers(7.6, 12.0, step=5, way="restart")
    made.trains([3, 4, 5], 12.0, 5, 5, generation=1)
    run = made.ends(17.0, 3, 4, 5)
    assert [fault.fired for fault in faults_of(run)] == [True, True]
    assert reasons_of(run, faults_of(run)) == []


def test_a_group_that_grows_begins_when_it_is_set_free() -> None:
    made = struck(Way.SMALLER)
    made.crashes(1, 7.0)
    made.stops([0, 2], 7.25)
    made.recovers(7.1, 8.0, step=7, way="smaller", world_size=2)
    made.trains([0, 2], 8.0, 7, 1, generation=1)
    made.recovers(9.5, 11.0, step=8, way="grown")
    made.trains([0, 3, 2], 11.0, 8, 2, generation=2)
    run = made.ends(13.0, 0, 2, 3)
    assert phases(run)["detect"] == pytest.approx(0.25)
    assert phases(run, 1)["detect"] == 0.0
    assert sum(phases(run, 1).values()) == pytest.approx(2.5)  # 9.5 to 12.0


def test_a_recovery_that_reached_no_step_has_no_phases_and_no_total() -> None:
    made = struck(Way.SPARE, FaultEvent(0, after_s=5.0))
    made.crashes(1, 7.5)
    made.recovers(7.6, 12.0, step=5)
    made.trains([0, 3, 2], 12.0, 5, 0, generation=1)
    made.crashes(0, 12.5, ordinal=1)
    made.recovers(12.6, 14.0, step=5)
    made.trains([4, 3, 2], 14.0, 5, 5, generation=2)
    first, second = answers_of(made.ends(19.0, 2, 3, 4))
    told = first.as_json(2, 2.5)
    assert (told["total_s"], told["phases"], told["faults"]) == (None, [], [0])
    assert second.as_json(0, 0.5)["total_s"] == pytest.approx(2.5)


def test_who_waits_for_a_recovery_already_notices_a_second_loss_by_being_told() -> None:
    """Not by what it stops for later, and it is not censored."""
    made = Made(job(FaultEvent(1, step=3), FaultEvent(2, after_s=0.5), world_size=4))
    made.trains([0, 1, 2, 3], 0.0, 0, 3)
    made.crashes(1, 3.0)
    made.stops([0, 2, 3], 3.1)
    made.crashes(2, 3.5, ordinal=1)
    for rank in (0, 3):
        made.says(rank, 3.52, "told", rank=2)
    made.recovers(3.6, 4.0, step=3)
    made.trains([0, 3, 4, 5], 4.0, 3, 7, generation=1)
    run = made.ends(11.0, 0, 3, 4, 5)
    second = faults_of(run)[1]
    assert {d.rank: round(d.after_s, 6) for d in second.detections} == {0: 0.02, 3: 0.02}
    assert second.detected_s == pytest.approx(0.02)
    assert not second.censored


def test_who_stops_after_a_recovery_for_no_fault_makes_the_run_no_evidence() -> None:
    made = Made(job(FaultEvent(1, step=3)))
    made.trains([0, 1], 0.0, 0, 3)
    made.crashes(1, 3.0)
    made.stops([0], 3.1)
    made.recovers(3.2, 4.0, step=3)
    made.trains([0, 2], 4.0, 3, 2, generation=1)
    made.stops([0, 2], 6.0)
    run = made.ends(6.5)
    (reason,) = reasons_of(run, faults_of(run))
    assert reason.startswith("rank 0 stopped unplanned after a recovery")
