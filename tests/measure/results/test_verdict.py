"""What became of a run, in words: why training was not brought back, or only from the beginning."""

from dataclasses import replace

import pytest

from measure.faults.schedule import FaultEvent, FaultKind
from measure.results.nodes import failure_domain, nodes_of
from measure.results.verdict import (
    Run,
    faults_of,
    notes_of,
    outcome_of,
    reasons_of,
    struck_ranks,
)
from measure.supervisor.observed import Ending, Incident, NodeView
from tests.measure.results.made import Made, job

LOST = FaultEvent(1, step=3)


def notes(run: Run) -> list[str]:
    return notes_of(run, faults_of(run))


def recovered(source: str, *said: tuple[float, str], generation: int = 1) -> Run:
    """A spare takes the place of rank 1, which is lost at 4 s; training goes on at 5 s. `said`:
    reasons that rank 0 writes down for having restored nothing."""
    made = Made(job(LOST))
    made.trains((0, 1), 1.0, 0, 3)
    made.crashes(1, 4.0)
    made.stops((0,), 4.2)
    for at_s, why in said:
        made.says(0, at_s, "nothing-restored", why=why)
    made.recovers(4.1, 5.0, 0, source=source, generation=generation)
    end_s = made.trains((0, 2), 5.0, 0, 10, generation=generation)
    return made.ends(end_s, 0, 2)


def test_what_began_again_says_why() -> None:
    run = recovered("", (2.0, "of another"), (4.6, "nothing was there"), (9.0, "of another"))
    assert notes(run) == ["began again at step 0: nothing was there"]


def test_what_was_lost_before_training_began_had_no_state_yet() -> None:
    made = recovered("", generation=0)
    assert notes(made) == ["began again at step 0: a rank was lost before training began"]


def test_what_had_a_state_has_nothing_to_say() -> None:
    assert notes(recovered("storage", (4.6, "of another"))) == []


def halted(ending: Ending, why: str = "") -> Run:
    made = Made(job(LOST))
    made.trains((0, 1), 1.0, 0, 3)
    made.crashes(1, 4.0)
    made.stops((0,), 4.2)
    made.seen.why_stopped = why
    return made.ends(5.0, ending=ending)


def test_what_halted_says_why() -> None:
    assert notes(halted(Ending.ALL_STOPPED, "nobody was there")) == ["halted: nobody was there"]
    assert notes(halted(Ending.ALL_STOPPED)) == []
    assert notes(halted(Ending.NEVER_STARTED)) == ["stopped: training did not begin"]


def second_fault(at_s: float) -> Run:
    """After a recovery all are to train again at 5 s; rank 2 is lost, or it seems so, and rank 0,
    which comes a millisecond late, stops for good."""
    made = Made(job(LOST, FaultEvent(2, step=3), world_size=3))
    made.trains((0, 1, 2), 1.0, 0, 3)
    made.crashes(1, 4.0)
    made.stops((0, 2), 4.2)
    made.recovers(4.1, 5.0, 3)
    made.says(0, 5.001, "training", generation=1, step=3)
    made.crashes(2, at_s, ordinal=1)
    made.stops((0,), 5.2)
    return made.ends(5.5)


def test_a_fault_at_the_very_beginning_of_a_generation_is_why_it_stopped() -> None:
    run = second_fault(5.0005)
    assert reasons_of(run, faults_of(run)) == []


def test_a_stop_that_no_fault_explains_is_unplanned() -> None:
    run = second_fault(4.5)
    (reason,) = reasons_of(run, faults_of(run))
    assert reason.startswith("rank 0 stopped unplanned after a recovery")


def on_hosts(run: Run, clock_error_s: float) -> Run:
    """The same run, as its logs are on clocks that are known so well."""
    return replace(run, logs=[replace(log, clock_error_s=clock_error_s) for log in run.logs])


def seen_early(early_s: float) -> Run:
    """Rank 0 stops for the loss of rank 1, which its clock has so long before the loss."""
    made = Made(job(LOST))
    made.trains((0, 1), 1.0, 0, 3)
    made.crashes(1, 4.0)
    made.stops((0,), 4.0 - early_s)
    return made.ends(5.0)


def test_who_seems_to_stop_before_the_fault_by_its_clock_stopped_for_it() -> None:
    """A reset comes within a millisecond; clocks of two hosts are not known as well."""
    run = on_hosts(seen_early(0.003), 0.002)
    (fault,) = faults = faults_of(run)
    assert reasons_of(run, faults) == []
    (detection,) = fault.detections
    assert (detection.rank, detection.after_s, fault.censored) == (0, 0.0, False)


@pytest.mark.parametrize(("early_s", "clock_error_s"), [(0.005, 0.002), (0.001, 0.0)])
def test_who_stopped_before_that_stopped_unplanned(early_s: float, clock_error_s: float) -> None:
    run = on_hosts(seen_early(early_s), clock_error_s)
    (reason,) = reasons_of(run, faults_of(run))
    assert reason.startswith("rank 0 stopped unplanned")


def test_a_training_that_seems_to_begin_after_the_fault_is_what_was_struck() -> None:
    made = Made(job(LOST))
    made.trains((0,), 1.003, 0, 3)
    made.trains((1,), 1.0, 0, 3)
    made.crashes(1, 1.001)
    made.stops((0,), 1.2)
    (fault,) = faults_of(on_hosts(made.ends(5.0), 0.002))
    (detection,) = fault.detections
    assert detection.after_s == pytest.approx(0.199)


def test_failures_at_times_of_their_own_may_come_after_the_job_is_done() -> None:
    """As with those of a Poisson process: nothing is missed then, and the run is complete."""
    made = Made(job(FaultEvent(1, time_s=400.0)))
    end_s = made.trains((0, 1), 1.0, 0, 10)
    run = made.ends(end_s, 0, 1)
    faults = faults_of(run)
    assert reasons_of(run, faults) == []
    assert notes_of(run, faults) == ["fault 0 was due after the job had ended"]
    assert outcome_of(run, faults, []) == "completed"


def test_a_failure_that_was_due_in_the_training_has_to_strike() -> None:
    made = Made(job(FaultEvent(1, time_s=4.0)))
    end_s = made.trains((0, 1), 1.0, 0, 10)
    run = made.ends(end_s, 0, 1)
    assert [reason[-12:] for reason in reasons_of(run, faults_of(run))] == ["did not fire"]


def on_two_nodes(kind: FaultKind, how: str, *fault_failed: int) -> Run:
    """Four ranks on two nodes, with a spare on each; the node of ranks 2 and 3 is lost at 4 s."""
    made = Made(job(FaultEvent(2, kind, step=3), world_size=4, nodes=2))
    made.trains(range(4), 1.0, 0, 3)
    for slot, node in enumerate([0, 0, 1, 1, 0, 1]):
        made.view(slot).node = node
    made.seen.nodes = [NodeView(n, f"h{n}", f"10.0.0.{n}", "eth0", "eth0", False) for n in (0, 1)]
    made.says(2, 4.0, "fault", ordinal=0, kind=kind.value, steps=3)
    for ordinal in fault_failed:
        made.says(2, 4.01, "fault-failed", ordinal=ordinal, why="not permitted")
    if how:
        made.seen.nodes[1].lost, made.seen.nodes[1].lost_at = how, 4.1
        for slot in (2, 3, 5):
            made.view(slot).died_at, made.view(slot).exit_code = 4.1, -9
        made.view(4).member = made.view(5).member = False
    made.stops((0, 1), 4.3)
    return made.ends(5.0)


@pytest.mark.parametrize("kind", [FaultKind.NODE_CRASH, FaultKind.PARTITION])
def test_a_lost_node_is_one_fault_with_all_of_its_processes(kind: FaultKind) -> None:
    run = on_two_nodes(kind, kind.value)
    (fault,) = faults = faults_of(run)
    assert (fault.fired, fault.outcome, fault.slot) == (True, "halted", 2)
    assert {detection.rank for detection in fault.detections} == {0, 1}
    assert struck_ranks(run) == {2: 4.0, 3: 4.0, 5: 4.0}
    assert reasons_of(run, faults) == []
    assert failure_domain(faults) == "node"


def test_a_crash_that_looks_like_a_cut_link_has_not_fired() -> None:
    run = on_two_nodes(FaultKind.NODE_CRASH, "partition")
    (fault,) = faults = faults_of(run)
    assert (fault.fired, fault.outcome, fault.detections) == (False, "not_fired", ())
    assert "node 1 (h1) was lost unplanned: partition" in reasons_of(run, faults)
    assert failure_domain(faults) is None


def test_a_link_that_could_not_be_cut_is_no_fault() -> None:
    run = on_two_nodes(FaultKind.PARTITION, "", 0)
    (fault,) = faults = faults_of(run)
    assert (fault.fired, fault.outcome) == (False, "not_fired")
    assert struck_ranks(run) == {}
    assert any("did not fire" in reason for reason in reasons_of(run, faults))


def test_what_nodes_did_stands_in_the_record() -> None:
    run = on_two_nodes(FaultKind.NODE_CRASH, "node-crash")
    run.seen.nodes[0].passed([("eth0", 100, 50)])
    run.seen.nodes[0].passed([("eth0", 1100, 650)])
    found = nodes_of(run, faults_of(run))["nodes"]
    here, gone = found["members"]
    assert (here["ranks"], gone["ranks"]) == ([0, 1, 4], [2, 3, 5])
    assert here["passed"] == [{"interface": "eth0", "sent_bytes": 1000, "received_bytes": 600}]
    assert (here["lost"], gone["lost"], gone["lost_s"]) == (None, "node-crash", 4.1)
    assert nodes_of(halted(Ending.ALL_STOPPED), []) == {}


def test_a_lost_rank_is_a_smaller_domain_than_a_node() -> None:
    run = halted(Ending.ALL_STOPPED)
    assert failure_domain(faults_of(run)) == "rank"


def suspected(scope: str = "rollback", not_kept: str = "") -> Made:
    """A monitor stops both ranks at 4 s, for what the supervisor hears at 4.1 s."""
    made = Made(job())
    made.trains((0, 1), 1.0, 0, 3)
    for slot in (0, 1):
        made.says(slot, 4.0 + slot / 100, "suspect", severity="stop")
        made.says(slot, 4.02, "stopped", how="monitor", error="", peak_memory_bytes=1)
        made.view(slot).stopped_at = 4.02
    found = Incident(
        *(0, 0, 4.1, 3, 1, ("test",), ("corruption",), (1,)),
        *(scope, 1, (), "rolled back behind step 1: test: it differs", "incidents/0", not_kept),
    )
    made.seen.incidents.append(found)
    return made


def verdict(run: Run) -> tuple[str, list[str]]:
    faults = faults_of(run)
    reasons = reasons_of(run, faults)
    return outcome_of(run, faults, reasons), reasons


@pytest.mark.parametrize(
    ("source", "outcome"), [("storage", "recovered"), ("", "restarted-from-zero")]
)
def test_what_was_rolled_back_and_finished_has_recovered(source: str, outcome: str) -> None:
    made = suspected()
    made.recovers(4.1, 5.0, 1, lost=(), source=source, why="rolled back")
    run = made.ends(made.trains((0, 1), 5.0, 1, 9, generation=1), 0, 1)
    assert verdict(run) == (outcome, [])
    assert "incident 0: rolled back behind step 1: test: it differs" in notes(run)


def test_what_a_monitor_stopped_for_good_has_halted() -> None:
    run = suspected("halt", not_kept="no room").ends(5.0)
    assert verdict(run) == ("halted", [])
    assert notes(run)[-1] == "incident 0: evidence was not kept: no room"


def test_who_stopped_before_anybody_suspected_anything_did_so_unplanned() -> None:
    made = suspected()
    made.says(0, 3.5, "stopped", how="connection closed", error="broken", peak_memory_bytes=1)
    assert verdict(made.ends(5.0)) == ("invalid", ["rank 0 stopped unplanned: broken"])


def test_what_is_only_reported_changes_no_outcome() -> None:
    made = Made(job())
    made.trains((0, 1), 1.0, 0, 10)
    made.says(0, 4.0, "suspect", severity="report")
    found = suspected("report").seen.incidents
    made.seen.incidents += found
    assert verdict(made.ends(12.0, 0, 1)) == ("completed", [])
