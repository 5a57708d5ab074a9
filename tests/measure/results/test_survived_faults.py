"""What becomes of a run in which a fault struck that its rank survived."""

from measure.faults.schedule import FaultEvent, FaultKind
from measure.results.nodes import failure_domain
from measure.results.verdict import (
    Run,
    faults_of,
    notes_of,
    outcome_of,
    reasons_of,
    struck_ranks,
)
from measure.supervisor.observed import Ending
from tests.measure.results.made import Made, answers_of, job, times

FLIP = FaultEvent(1, FaultKind.FLIP_PARAMETER, step=3)
FULL = FaultEvent(1, FaultKind.FULL_STORAGE, step=3)
STORE = FaultEvent(1, FaultKind.STORE_LOSS, step=3)
FALSE = FaultEvent(1, step=3, lead_s=0.5, params={"warning": "false"})


def struck(event: FaultEvent, *others: FaultEvent, steps: int = 4) -> Made:
    """Two ranks make some steps of a second, from 1 s on; fault 0 strikes before the fourth."""
    made = Made(job(event, *others))
    made.trains((0, 1), 1.0, 0, steps)
    made.says(event.rank, 4.0, "fault", ordinal=0, kind=event.kind.value, steps=3)
    return made


def judged(run: Run) -> tuple[str, list[str]]:
    """(Outcome, reasons why it is no evidence, the times' included)."""
    faults = faults_of(run)
    reasons = reasons_of(run, faults)
    return outcome_of(run, faults, reasons), reasons + times(run).reasons()


def test_a_flip_that_nobody_noticed_leaves_a_run_that_went_on() -> None:
    made = struck(FLIP, steps=10)
    run = made.ends(11.0, 0, 1)
    (fault,) = faults_of(run)
    assert judged(run) == ("graceful", [])
    assert (fault.fired, fault.at_s, fault.steps, fault.outcome) == (True, 4.0, 3, "degraded")
    assert (fault.detections, fault.detected_s, fault.censored) == ((), None, False)
    assert struck_ranks(run) == {}
    assert failure_domain([fault]) is None


def rolled_back() -> Run:
    """A monitor on both ranks notices at 5.5 s; training goes on from step 0 at 7 s."""
    made = struck(FLIP)
    for slot in (0, 1):
        made.says(
            slot,
            5.5,
            "suspect",
            monitor="digest:2",
            step=4,
            proved_step=2,
            why="it differs",
            kind="divergence",
            severity="stop",
            ranks=[1],
        )
    made.stops((0, 1), 5.6)
    made.recovers(5.5, 7.0, 2)
    end_s = made.trains((0, 1), 7.0, 2, 8, generation=1)
    return made.ends(end_s, 0, 1)


def test_a_flip_that_a_monitor_noticed_is_recovered_from() -> None:
    run = rolled_back()
    (fault,) = faults_of(run)
    assert judged(run) == ("recovered", [])
    assert (fault.outcome, fault.first_detected_s, fault.detected_s) == ("recovered", 1.5, 1.5)
    assert [(d.rank, d.how) for d in fault.detections] == [(0, "monitor"), (1, "monitor")]


def test_the_recovery_after_a_suspicion_answers_the_fault() -> None:
    (answer,) = answers_of(rolled_back())
    assert [fault.ordinal for fault in answer.faults] == [0]
    assert (answer.begin_s, answer.noticed_s) == (4.0, 5.5)


def test_a_crash_of_who_was_struck_before_is_answered_as_a_crash() -> None:
    made = struck(FLIP, FaultEvent(1, step=6), steps=6)
    made.crashes(1, 7.2, ordinal=1)
    made.stops((0,), 7.4)
    made.recovers(7.3, 8.0, 5)
    end_s = made.trains((0, 2), 8.0, 5, 5, generation=1)
    run = made.ends(end_s, 0, 2)
    assert judged(run) == ("recovered", [])
    (answer,) = answers_of(run)
    assert [fault.ordinal for fault in answer.faults] == [1]


def test_a_full_disk_halts_when_the_next_save_fails() -> None:
    made = struck(FULL, steps=5)
    made.stops((0, 1), 6.2)
    run = made.ends(6.5)
    (fault,) = faults_of(run)
    assert judged(run) == ("halted", [])
    assert fault.outcome == "halted"


def test_what_was_full_before_a_recovery_explains_a_stop_after_it() -> None:
    made = struck(FULL, FaultEvent(1, step=4))
    made.crashes(1, 5.0, ordinal=1)
    made.stops((0,), 5.2)
    made.recovers(5.1, 6.0, 0, source="")
    made.trains((0, 2), 6.0, 0, 4, generation=1)
    made.stops((0, 2), 10.2)
    assert judged(made.ends(10.5)) == ("halted", [])


def test_a_stop_before_any_fault_is_unplanned() -> None:
    made = Made(job(FULL))
    made.trains((0, 1), 1.0, 0, 4)
    made.stops((0, 1), 5.0)
    made.says(1, 5.5, "fault", ordinal=0, kind="full-storage", steps=4)
    outcome, reasons = judged(made.ends(6.0))
    assert outcome == "invalid"
    assert reasons[0].startswith("rank 0 stopped unplanned")


def test_a_false_alarm_is_a_fault_that_cost_nobody() -> None:
    made = struck(FALSE, steps=10)
    run = made.ends(11.0, 0, 1)
    assert judged(run) == ("graceful", [])
    assert struck_ranks(run) == {}


def test_a_lost_store_is_recovered_from() -> None:
    made = struck(STORE)
    made.stops((0, 1), 5.1)
    made.recovers(5.05, 6.0, 0, source="")
    end_s = made.trains((0, 1), 6.0, 0, 10, generation=1)
    run = made.ends(end_s, 0, 1)
    (fault,) = faults_of(run)
    assert judged(run) == ("restarted-from-zero", [])
    assert (fault.outcome, [d.rank for d in fault.detections]) == ("recovered", [0, 1])


def test_a_lost_store_that_ends_the_run_is_a_lost_coordinator() -> None:
    made = struck(STORE)
    made.stops((0, 1), 5.1)
    run = made.ends(5.5)
    (fault,) = faults_of(run)
    assert judged(run) == ("halted", [])
    assert fault.outcome == "coordinator_lost"


def test_what_could_not_strike_says_why() -> None:
    made = Made(job(FLIP))
    made.says(1, 4.0, "fault-failed", ordinal=0, why="there is no such tensor here")
    end_s = made.trains((0, 1), 1.0, 0, 10)
    run = made.ends(end_s, 0, 1)
    (reason,) = reasons_of(run, faults_of(run))
    assert reason == (
        "fault 0 (flip-parameter of rank 1, step 3) did not fire: there is no such tensor here"
    )


def test_a_run_that_hangs_after_a_fault_is_a_hang() -> None:
    made = struck(STORE)
    run = made.ends(20.0, ending=Ending.HUNG)
    assert judged(run)[0] == "hang"


def test_a_straggler_is_noticed_as_one_and_training_goes_on() -> None:
    """What another monitor says is no word of it, nor is its word one of another fault."""
    slow = FaultEvent(1, FaultKind.STRAGGLER, step=3, params={"factor": 2.0})
    made = struck(slow, FaultEvent(1, FaultKind.FLIP_BUFFER, step=4), steps=10)
    made.says(1, 5.0, "fault", ordinal=1, kind="flip-buffer", steps=4)
    for at_s, kind in ((6.0, "straggler"), (7.0, "loss-spike"), (8.0, "straggler")):
        made.says(0, at_s, "suspect", monitor="m", kind=kind, severity="report")
    run = made.ends(11.0, 0, 1)
    first, second = faults_of(run)
    assert [d.after_s for d in first.detections] == [2.0]
    assert [d.after_s for d in second.detections] == [2.0]
    assert judged(run) == ("graceful", [])


def test_a_straggler_that_was_noticed_is_answered_by_no_recovery() -> None:
    slow = FaultEvent(1, FaultKind.STRAGGLER, step=3, params={"factor": 2.0})
    made = struck(slow, FaultEvent(0, FaultKind.STORE_LOSS, step=4), steps=5)
    made.says(0, 4.5, "suspect", monitor="stragglers", kind="straggler", severity="report")
    made.says(0, 5.0, "fault", ordinal=1, kind="store-loss", steps=4)
    made.stops((0, 1), 6.1)
    made.recovers(6.05, 7.0, 0, source="")
    end_s = made.trains((0, 1), 7.0, 0, 10, generation=1)
    (answer,) = answers_of(made.ends(end_s, 0, 1))
    assert [fault.ordinal for fault in answer.faults] == [1]


def test_what_could_not_strike_is_not_excused_by_a_halt() -> None:
    """It was due, and was tried: that the job had ended is not so."""
    made = struck(FULL, FaultEvent(1, FaultKind.CORRUPT_SHARD, step=4), steps=5)
    why = "no generation of checkpoints is committed yet"
    made.says(1, 5.0, "fault-failed", ordinal=1, why=why)
    made.stops((0, 1), 6.2)
    run = made.ends(6.5)
    faults = faults_of(run)
    assert reasons_of(run, faults) == [
        f"fault 1 (corrupt-shard of rank 1, step 4) did not fire: {why}"
    ]
    assert notes_of(run, faults) == []


def test_nobody_notices_a_false_alarm() -> None:
    """What a monitor suspects after it is something else, as is the recovery from that."""
    made = struck(FALSE)
    for slot in (0, 1):
        made.says(slot, 5.5, "suspect", monitor="m", kind="loss-spike", severity="stop")
    made.stops((0, 1), 5.6)
    made.recovers(5.5, 7.0, 2)
    end_s = made.trains((0, 1), 7.0, 2, 8, generation=1)
    run = made.ends(end_s, 0, 1)
    (fault,) = faults_of(run)
    assert (fault.detections, fault.detected_s) == ((), None)
    (answer,) = answers_of(run)
    assert (answer.faults, answer.begin_s) == ((), 5.5)


def test_a_false_alarm_of_a_hang_hangs_nobody() -> None:
    false = FaultEvent(1, FaultKind.HANG, step=3, lead_s=0.5, params={"warning": "false"})
    made = struck(false, FaultEvent(1, step=4), steps=4)
    made.crashes(1, 5.0, ordinal=1)
    made.stops((0,), 5.2)
    assert judged(made.ends(5.5)) == ("halted", [])
