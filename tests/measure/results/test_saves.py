"""What saves cost, and what a mechanism costs in all, on runs whose figures are known."""

from typing import Any

import pytest

from measure.faults.schedule import FaultEvent
from measure.results.emergencies import emergencies_of
from measure.results.overhead import blocks_of, overhead_of
from measure.results.rank_log import Step
from measure.results.saves import UNKNOWN_PATH, saves_of
from measure.results.verdict import Run
from tests.measure.results.made import Made, job, trained


def saves(run: Run) -> dict[str, dict[str, Any]]:
    return {entry["path"]: entry for entry in saves_of(run.logs, trained(run))}


def test_what_training_waits_for_is_the_mean_over_the_ranks() -> None:
    made = Made(job())
    made.trains([0, 1], 0.0, 0, 10)
    for step, mine, theirs in ((5, 0.2, 0.3), (10, 0.5, 0.1)):
        made.saves(0, step, step, mine, bytes=100)
        made.saves(1, step, step, theirs, bytes=20)
    found = saves(made.ends(10.5, 0, 1))["storage"]
    assert (found["count"], found["skipped"], found["failed"]) == (2, 0, 0)
    assert found["foreground_s"]["n"] == 2
    assert found["foreground_s"]["mean"] == pytest.approx((0.25 + 0.3) / 2)
    assert found["background_s"] is None
    assert found["bytes_per_save"] == pytest.approx(120.0)  # of all ranks


def test_each_path_has_its_own_entry() -> None:
    made = Made(job(mechanism="ft2+ft1"))
    made.trains([0, 1], 0.0, 0, 10)
    made.saves(0, 5.0, 5, 0.1, path="peer memory")
    made.saves(0, 5.0, 5, 0.4, path="storage", background_s=2.0)
    made.saves(0, 10.0, 10, 0.1, path="peer memory")
    made.says(0, 7.0, "save-failed", step=7, s=0.1, why="of which nobody says")
    found = saves(made.ends(10.5, 0, 1))
    assert {path: entry["count"] for path, entry in found.items()} == {
        "peer memory": 2,
        "storage": 1,
        UNKNOWN_PATH: 0,
    }
    assert found["storage"]["background_s"]["median"] == pytest.approx(2.0)
    assert found[UNKNOWN_PATH]["failed"] == 1


def test_what_was_skipped_or_failed_is_of_the_only_path() -> None:
    made = Made(job())
    made.trains([0, 1], 0.0, 0, 10)
    for rank in (0, 1):
        made.saves(rank, 5.0, 5, 0.1)
        made.says(rank, 6.0, "save-skipped", step=6, why="the one before is on its way")
        made.says(rank, 7.0, "save-failed", step=7, s=0.1, why="no space")
    found = saves(made.ends(10.5, 0, 1))["storage"]
    assert (found["count"], found["skipped"], found["failed"]) == (1, 1, 1)


def test_a_state_that_is_saved_again_after_a_recovery_is_another_save() -> None:
    made = Made(job(FaultEvent(0, step=7)))
    made.trains([0, 1], 0.0, 0, 7, saves={5: 0.1, 6: 0.1})
    made.crashes(0, 7.0)
    made.recovers(7.1, 9.0, step=5)
    made.trains([2, 1], 9.0, 5, 5, generation=1, saves={6: 0.3, 10: 0.3})
    found = saves(made.ends(14.0, 1, 2))["storage"]
    assert found["count"] == 4
    assert found["foreground_s"]["mean"] == pytest.approx(0.2)


def test_no_saves_no_entry() -> None:
    made = Made(job(mechanism="ft9"))
    made.trains([0, 1], 0.0, 0, 10)
    assert saves(made.ends(10.5, 0, 1)) == {}


def alternating(steps: int, *, drift: float = 0.0, dropped: int = 0) -> Run:
    """Steps of 0.1 s, or 0.12 s with the mechanism, whose saves take 0.4 s by their own clock;
    each step takes `drift` seconds longer than the one before."""
    made = Made(job(alternates=True, steps=steps, interval_steps=10, dropped_steps=dropped))
    rests = made.job.alternation()
    assert rests is not None
    made.trains([0, 1], 0.0, 0, 0)
    now = 0.0
    for n in range(steps):
        step_s = (0.1 if rests(n) else 0.12) + n * drift
        # The step itself takes but half of it: what lies between two steps counts.
        for rank in (0, 1):
            made.steps.setdefault(rank, []).append(Step(n, now + step_s / 2, step_s / 2, 1.0, 4))
            if not rests(n) and (n + 1) % 10 == 0:
                made.saves(rank, now + step_s / 2, n + 1, 0.4)
        now += step_s
    return made.ends(now, 0, 1)


def test_overhead_is_what_steps_with_the_mechanism_take_longer() -> None:
    run = alternating(80)
    found = overhead_of(run, trained(run))
    assert found is not None
    assert found["fraction"] == pytest.approx(0.2)
    assert found["low"] <= 0.2 + 1e-9
    assert found["high"] >= 0.2 - 1e-9
    assert found["pairs"] == 4
    assert found["baseline_step_s"] == pytest.approx(0.1)
    # Ten steps lost 0.02 s each for a save of 0.4 s.
    assert found["overlap_factor"] == pytest.approx(0.5)


def test_a_machine_that_becomes_slower_is_no_overhead() -> None:
    run = alternating(400, drift=0.0005)
    found, middle_s = overhead_of(run, trained(run)), 0.1 + 200 * 0.0005
    assert found is not None
    assert found["fraction"] * middle_s == pytest.approx(0.02, rel=0.1)


def test_first_steps_and_broken_blocks_are_left_out() -> None:
    run = alternating(84, dropped=25)
    rests = run.job.alternation()
    assert rests is not None
    blocks = blocks_of(run.logs[0], rests, 84, 25)
    assert [(block.first, block.steps, block.rests) for block in blocks] == [
        (29, 10, False),
        (39, 10, True),
        (49, 10, False),
        (59, 10, True),
        (69, 10, False),
    ]


def test_one_pair_has_no_interval() -> None:
    run = alternating(30)
    found = overhead_of(run, trained(run))
    assert found is not None
    assert (found["pairs"], found["low"], found["high"]) == (1, None, None)


def test_runs_that_are_too_short_or_do_not_alternate_have_no_overhead() -> None:
    short = alternating(15)
    assert overhead_of(short, trained(short)) is None
    made = Made(job())
    made.trains([0, 1], 0.0, 0, 10)
    calm = made.ends(10.5, 0, 1)
    assert overhead_of(calm, trained(calm)) is None


def warned(*leads: float) -> Made:
    events = [FaultEvent(n + 1, step=7, lead_s=lead) for n, lead in enumerate(leads)]
    made = Made(job(*events, mechanism="ft4", world_size=len(leads) + 1))
    made.trains(range(len(leads) + 1), 0.0, 0, 10)
    for rank in range(len(leads) + 1):
        for ordinal, lead_s in enumerate(leads):
            made.says(rank, 5.0, "warning", ordinal=ordinal, rank=ordinal + 1, lead_s=lead_s)
    return made


def saved_in(
    made: Made, rank: int, seconds: float, *, within: bool = True, of: int | None = None
) -> None:
    """The rank's emergency save for a fault of rank `of`, so long after the warnings."""
    said = {"step": 6, "s": seconds, "save_s": seconds / 2, "bytes": 10 + rank, "within": within}
    named = {} if of is None else {"rank": of}
    made.says(rank, 5.0 + seconds, "emergency", lead_s=2.0, **said, **named)


def test_an_emergency_save_is_as_slow_as_its_slowest_rank() -> None:
    made = warned(2.0)
    saved_in(made, 0, 0.5)
    saved_in(made, 1, 0.8)
    assert emergencies_of(made.ends(10.0).logs, wants_warning=True) == [
        {
            "fault": 0,
            "lead_s": 2.0,
            "took_s": 0.8,
            "save_s": 0.4,
            "bytes": 11,
            "within_lead": True,
        }
    ]


def test_each_warning_is_answered_by_the_save_that_names_its_rank() -> None:
    made = warned(2.0, 3.0)
    for rank in range(3):
        saved_in(made, rank, 1.0, of=2)
        saved_in(made, rank, 1.5, of=1)
    found = emergencies_of(made.ends(10.0).logs, wants_warning=True)
    assert [(e["fault"], e["lead_s"], e["took_s"]) for e in found] == [(0, 2.0, 1.5), (1, 3.0, 1.0)]


def test_where_saves_name_nobody_the_oldest_warning_is_answered_first() -> None:
    made = warned(2.0, 3.0)
    for rank in range(3):
        saved_in(made, rank, 1.0)
    found = emergencies_of(made.ends(10.0).logs, wants_warning=True)
    assert [(entry["fault"], entry["took_s"]) for entry in found] == [(0, 1.0), (1, None)]


def test_a_warning_without_a_save_says_so() -> None:
    (entry,) = emergencies_of(warned(2.0).ends(10.0).logs, wants_warning=True)
    assert (entry["fault"], entry["took_s"], entry["within_lead"]) == (0, None, False)
    assert entry["lead_s"] == pytest.approx(2.0)


def test_one_rank_that_is_late_makes_the_save_late() -> None:
    made = warned(2.0)
    saved_in(made, 0, 0.5)
    saved_in(made, 1, 2.5, within=False)
    (entry,) = emergencies_of(made.ends(10.0).logs, wants_warning=True)
    assert not entry["within_lead"]


def test_a_mechanism_that_heeds_no_warning_has_no_entry() -> None:
    assert emergencies_of(warned(2.0).ends(10.0).logs, wants_warning=False) == []


def test_a_save_of_which_no_warning_is_known_is_told_without_its_fault() -> None:
    made = Made(job(mechanism="ft4"))
    made.trains([0, 1], 0.0, 0, 10)
    saved_in(made, 0, 0.5)
    (entry,) = emergencies_of(made.ends(10.0).logs, wants_warning=True)
    assert (entry["fault"], entry["lead_s"]) == (None, 2.0)
