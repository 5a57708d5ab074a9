"""How the wall time of a training was spent: every second once, and under the right name."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from measure.faults.schedule import FaultEvent, FaultKind, StartPhase
from measure.interfaces.capabilities import Way
from measure.results.accounting import times_of
from measure.results.verdict import Run
from measure.supervisor.observed import Ending
from tests.measure.results.made import Made, answers_of, job, times, trained, without_step

PARTS = ("productive_s", "save_s", "detect_s", "recover_s", "lost_s")


def spent(run: Run) -> dict[str, float]:
    """The parts that are not nothing; AssertionError unless they make the whole."""
    found = times(run)
    said = found.as_json()
    assert found.unexplained_s == pytest.approx(0.0, abs=1e-9)
    assert found.reasons() == []
    assert sum(said[part] for part in PARTS) == pytest.approx(said["wall_s"])
    return {part: round(said[part], 6) for part in PARTS if said[part]}


def one_fault() -> Made:
    """Saved after 5 steps; the fault strikes in step 7, at half time."""
    made = Made(job(FaultEvent(1, step=7)))
    made.trains([0, 1], 1.0, 0, 7, saves={5: 0.2})
    made.crashes(1, 8.5)
    made.stops([0], 8.75)
    made.recovers(8.6, 12.0, step=5)
    made.trains([0, 2], 12.0, 5, 5, generation=1, saves={10: 0.3})
    return made


def test_a_calm_run_is_productive_but_for_its_saves() -> None:
    made = Made(job())
    made.trains([0, 1], 1.0, 0, 10, saves={5: 0.2, 10: 0.3})
    assert spent(made.ends(11.5, 0, 1)) == {"productive_s": 9.5, "save_s": 0.5}


def test_a_fault_costs_what_was_lost_what_was_waited_and_what_was_rebuilt() -> None:
    run = one_fault().ends(17.0, 0, 2)
    assert spent(run) == {
        "productive_s": 9.5,  # ten steps without their saves
        "save_s": 0.5,
        "detect_s": 0.25,  # 8.5 to 8.75
        "recover_s": 3.25,  # to 12.0
        "lost_s": 2.5,  # steps 5 and 6, and half of step 7
    }
    (loss, halt) = times(run).losses
    assert (loss.steps, halt.steps) == (2, 0)
    assert loss.seconds == pytest.approx(2.5)


def test_a_fault_during_the_recovery_is_part_of_it() -> None:
    made = Made(job(FaultEvent(1, step=7), FaultEvent(0, after_s=1.0), world_size=3))
    made.trains([0, 1, 2], 1.0, 0, 7)
    made.crashes(1, 8.5)
    made.stops([0, 2], 8.75)
    made.crashes(0, 9.5, ordinal=1)
    made.recovers(9.6, 13.0, step=5, generation=2)
    made.trains([3, 2, 4], 13.0, 5, 5, generation=2)
    run = made.ends(18.0, 2, 3, 4)
    assert spent(run) == {
        "productive_s": 10.0,
        "detect_s": 0.25,
        "recover_s": 4.25,
        "lost_s": 2.5,
    }
    (answer,) = answers_of(run)
    assert [fault.ordinal for fault in answer.faults] == [0, 1]


def test_a_step_that_is_lost_twice_is_lost_twice() -> None:
    made = Made(job(FaultEvent(1, step=7), FaultEvent(0, after_s=5.0), world_size=3))
    made.trains([0, 1, 2], 0.0, 0, 7)
    made.crashes(1, 7.0)
    made.recovers(7.1, 10.0, step=5)
    made.trains([0, 3, 2], 10.0, 5, 2, generation=1)
    made.crashes(0, 12.5, ordinal=1)
    made.recovers(12.6, 15.0, step=4)
    made.trains([4, 3, 2], 15.0, 4, 6, generation=2)
    run = made.ends(21.0, 2, 3, 4)
    assert spent(run)["productive_s"] == pytest.approx(10.0)
    first, second, _ = times(run).losses
    assert (first.steps, second.steps) == (2, 3)  # 5 and 6; then 4, and 5 and 6 again
    assert [first.seconds, second.seconds] == pytest.approx([2.0, 3.5])


def test_where_all_are_started_anew_those_that_were_ended_tell_of_the_time_before() -> None:
    made = Made(job(FaultEvent(1, step=7), way=Way.RESTART))
    made.trains([0, 1], 0.0, 0, 7)
    made.crashes(1, 7.5, seen_s=0.25)
    made.is_given_up([0], 7.8)
    made.recovers(7.75, 12.0, step=5, way="restart")
    made.trains([2, 3], 12.0, 5, 5, generation=1)
    run = made.ends(17.0, 2, 3)
    assert spent(run) == {
        "productive_s": 10.0,
        "detect_s": 0.25,
        "recover_s": 4.25,
        "lost_s": 2.5,
    }
    assert [at.reference.rank for at in trained(run)] == [0, 2]


def test_a_group_that_grows_loses_time_but_has_nothing_to_notice() -> None:
    made = Made(job(FaultEvent(1, step=4), world_size=3, way=Way.SMALLER))
    made.trains([0, 1, 2], 0.0, 0, 4)
    made.crashes(1, 4.0)
    made.stops([0, 2], 4.25)
    made.recovers(4.1, 5.0, step=4, way="smaller", world_size=2)
    made.trains([0, 2], 5.0, 4, 3, generation=1)
    made.recovers(8.5, 10.0, step=7, way="grown", world_size=3)  # half of step 7 was made
    made.trains([0, 3, 2], 10.0, 7, 3, generation=2)
    run = made.ends(13.0, 0, 2, 3)
    assert spent(run) == {
        "productive_s": 10.0,
        "detect_s": 0.25,
        "recover_s": 2.25,  # 4.25 to 5.0 and 8.5 to 10.0
        "lost_s": 0.5,
    }
    grown = answers_of(run)[1]
    assert grown.phased is not None
    assert grown.faults == ()
    assert grown.phased.total_s == pytest.approx(2.5)


def test_a_halted_run_keeps_its_work_and_waits_in_vain() -> None:
    made = Made(job(FaultEvent(1, step=7)))
    made.trains([0, 1], 0.0, 0, 7)
    made.crashes(1, 7.5)
    made.stops([0], 8.0)
    assert spent(made.ends(10.0)) == {
        "productive_s": 7.0,
        "lost_s": 0.5,
        "detect_s": 0.5,
        "recover_s": 2.0,
    }


def test_what_nobody_notices_is_detected_to_the_end() -> None:
    made = Made(job(FaultEvent(1, FaultKind.HANG, step=7)))
    made.trains([0, 1], 0.0, 0, 7)
    made.says(1, 7.0, "fault", ordinal=0, kind="hang", steps=7)
    made.view(1).killed_by_supervisor = True
    assert spent(made.ends(12.0, ending=Ending.HUNG)) == {"productive_s": 7.0, "detect_s": 5.0}


def test_a_training_that_goes_on_by_itself_loses_nothing() -> None:
    made = Made(job(FaultEvent(1, step=7), architecture="a6", way=None))
    made.trains([0], 0.0, 0, 10)
    made.trains([1], 0.0, 0, 7)
    made.crashes(1, 7.5)
    made.says(0, 7.6, "dropped", rank=1, how="connection closed")
    assert spent(made.ends(10.0, 0)) == {"productive_s": 10.0}


def test_of_several_faults_the_one_after_which_no_step_began_ends_it() -> None:
    events = (FaultEvent(2, step=3), FaultEvent(0, after_s=4.0))
    made = Made(job(*events, architecture="a1-async", way=None, world_size=3))
    made.trains([0, 1], 0.0, 0, 7)
    made.trains([2], 0.0, 0, 3)
    made.crashes(2, 3.5)
    made.crashes(0, 7.5, ordinal=1)
    made.stops([1], 8.0)
    assert spent(made.ends(9.0))["productive_s"] == pytest.approx(7.0)


def test_an_emergency_save_counts_as_a_save_though_its_step_is_lost() -> None:
    made = Made(job(FaultEvent(1, step=7), mechanism="ft4"))
    made.trains([0, 1], 0.0, 0, 8)
    for rank in (0, 1):
        made.says(
            rank, 7.5, "emergency", step=7, s=0.4, save_s=0.3, bytes=10, lead_s=1.0, within=True
        )
    made.crashes(1, 8.5)
    made.stops([0], 8.5)
    made.recovers(8.6, 10.0, step=7)
    made.trains([0, 2], 10.0, 7, 3, generation=1)
    assert spent(made.ends(13.0, 0, 2)) == {
        "productive_s": 10.0,
        "save_s": 0.3,
        "lost_s": 1.2,
        "recover_s": 1.5,
    }


def test_a_save_that_is_written_down_as_saved_and_for_two_warnings_is_counted_once() -> None:
    made = Made(job(mechanism="ft4"))
    made.trains([0, 1], 0.0, 0, 10, saves={7: 0.3})
    said = {"step": 7, "s": 0.4, "save_s": 0.3, "bytes": 10, "lead_s": 1.0, "within": True}
    for _ in range(2):
        made.says(0, 7.0, "emergency", **said)
    assert spent(made.ends(10.0, 0, 1)) == {"productive_s": 9.7, "save_s": 0.3}


def test_a_reference_that_was_a_step_behind_has_lost_no_step_that_was_kept() -> None:
    made = Made(job(FaultEvent(1, step=7)))
    made.trains([0], 0.0, 0, 7)
    made.trains([1], 0.0, 0, 8)
    made.crashes(1, 8.0)
    made.recovers(8.1, 10.0, step=8)
    made.trains([0, 2], 10.0, 8, 2, generation=1)
    found = spent(made.ends(12.0, 0, 2))
    assert "lost_s" not in found
    assert found["productive_s"] == pytest.approx(10.0)  # 7 steps, the time of the 8th, 2 more


def test_a_fault_as_the_order_to_train_is_given_is_answered_by_the_next_recovery() -> None:
    made = Made(job(FaultEvent(1, step=7), FaultEvent(0, after_s=2.0), world_size=3))
    made.trains([0, 1, 2], 0.0, 0, 7)
    made.crashes(1, 7.0)
    made.recovers(7.1, 9.0, step=5)
    made.crashes(0, 8.99, ordinal=1)
    made.trains([3, 2], 9.0, 5, 0, generation=1)
    made.recovers(9.1, 11.0, step=5)
    made.trains([4, 3, 2], 11.0, 5, 5, generation=2)
    run = made.ends(16.0, 2, 3, 4)
    assert [[f.ordinal for f in answer.faults] for answer in answers_of(run)] == [[0], [1]]
    assert answers_of(run)[0].phased is None
    assert spent(run)["productive_s"] == pytest.approx(10.0)


def test_a_training_that_never_began_has_no_times() -> None:
    run = Made(job()).ends(3.0, ending=Ending.NEVER_STARTED)
    assert times_of(run, trained(run), [], []) is None


def test_a_step_that_is_missing_in_the_log_is_a_reason() -> None:
    run = without_step(one_fault().ends(17.0, 0, 2), 3)
    (reason,) = times(run).reasons()
    assert reason.startswith("the times do not add up: +1")


def test_a_log_without_its_last_step_is_a_reason() -> None:
    assert times(without_step(one_fault().ends(17.0, 0, 2), 9)).reasons()


@st.composite
def histories(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Generations: how many steps each made, how far the next one goes back, how long it took."""
    seconds = st.floats(0.0, 3.0)
    return draw(
        st.lists(
            st.fixed_dictionaries(
                {
                    "made": st.integers(0, 6),
                    "back": st.integers(0, 6),
                    "anew": st.booleans(),
                    "broken_off_s": st.floats(0.0, 0.9),
                    "detect_s": seconds,
                    "rebuild_s": seconds,
                    "step_s": st.floats(0.1, 1.0),
                    "save_s": st.floats(0.0, 0.05),
                }
            ),
            max_size=5,
        )
    )


@given(histories())
@settings(deadline=None)
def test_whatever_happened_every_second_is_counted_once(history: list[dict[str, Any]]) -> None:
    """The oracle: of each step the last time that it was made was kept."""
    events = [FaultEvent(1, step=0) for _ in history]
    made = Made(job(*events, steps=100))
    slots, now, first = [0, 1], 1.0, 0
    kept: dict[int, float] = {}
    for n, part in enumerate(history):
        saves = dict.fromkeys(range(0, 101, 3), part["save_s"])
        end_s = made.trains(slots, now, first, part["made"], part["step_s"], n, saves)
        kept |= dict.fromkeys(range(first, first + part["made"]), part["step_s"])
        fault_s = end_s + part["broken_off_s"] * part["step_s"]
        made.crashes(slots[1], fault_s, ordinal=n, seen_s=part["detect_s"])
        known_s = fault_s + part["detect_s"]
        fresh = len(made.seen.ranks)
        if part["anew"]:
            made.is_given_up([slots[0]], known_s)
            slots = [fresh, fresh + 1]
        else:
            made.stops([slots[0]], known_s)
            slots = [slots[0], fresh]
        first = max(0, first + part["made"] - part["back"])
        now = known_s + part["rebuild_s"]
        made.recovers(known_s, now, step=first)
    end_s = made.trains(slots, now, first, 100 - first, 0.5, len(history))
    kept |= dict.fromkeys(range(first, 100), 0.5)
    found = spent(made.ends(end_s, *slots))
    assert found["productive_s"] + found.get("save_s", 0.0) == pytest.approx(
        sum(kept.values()), abs=1e-4
    )
    paused_s = sum(part["detect_s"] + part["rebuild_s"] for part in history)
    assert found.get("detect_s", 0.0) + found.get("recover_s", 0.0) == pytest.approx(
        paused_s, abs=1e-4
    )


def test_a_rank_that_is_replaced_before_training_costs_no_training() -> None:
    made = Made(job(FaultEvent(1, phase=StartPhase.STARTING)))
    made.crashes(1, 0.5)
    made.recovers(0.6, 1.0, 0, generation=0, source="")
    run = made.ends(made.trains((0, 2), 1.0, 0, 10), 0, 2)
    assert spent(run) == {"productive_s": 10.0}
    assert [generation.number for generation in trained(run)] == [0]
