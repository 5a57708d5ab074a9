"""The exact time with failures of several classes: limits, order, and today's numbers."""

import itertools
from dataclasses import replace
from math import exp, expm1
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.exact_time import continuous_completion_s, periodic_completion_s
from advisor.failure_classes.catalogue import FailureClass
from advisor.failure_classes.completion import (
    Check,
    Work,
    saved_completion_s,
    unsaved_completion_s,
)
from advisor.failure_classes.pricing import Settings, price
from advisor.failure_classes.stated import ClassRate, Monitor, Stated
from advisor.failure_classes.stretches import Stop, Stretch, stops_of
from advisor.optimizer import Conditions, CostModel

_COST_S = st.floats(0.0, 600.0)
_MTBF_S = st.floats(300.0, 1e7)
_DURATION_S = st.floats(1.0, 1e6)
_CRASH = Stop(1.0 / 3600.0, 30.0, 60.0)
_CHECK = Check(every_s=100.0, cost_s=1.0, wrong_per_s=1e-5, after_s=50.0)


def saved(checks: tuple[Check, ...] = (), rare: Check | None = None, **changes: Any) -> float:
    case = {"duration_s": 50_500.0, "interval_s": 1000.0, "stall_s": 10.0, "kept": 9.0} | changes
    stops = stops_of(case.pop("stops", [_CRASH]))
    pace = case.pop("pace", 1.0)
    return float(saved_completion_s(Work(stops, pace, checks), rare=rare, **case))


@given(_DURATION_S, st.floats(1.0, 1e4), _COST_S, _MTBF_S, _COST_S, _COST_S)
def test_crashes_alone_are_the_exact_time(
    duration_s: float,
    interval_s: float,
    stall_s: float,
    mtbf_s: float,
    detection_s: float,
    recovery_s: float,
) -> None:
    case: dict[str, Any] = {
        "duration_s": duration_s,
        "interval_s": interval_s,
        "stall_s": stall_s,
    }
    known = periodic_completion_s(
        **case, mtbf_s=mtbf_s, detection_s=detection_s, recovery_s=recovery_s
    )
    found = saved(**case, stops=[Stop(1.0 / mtbf_s, detection_s, recovery_s)])
    assert found == pytest.approx(float(known), rel=1e-11)
    # A monitor that finds nothing and costs nothing changes nothing.
    idle = Check(duration_s, 0.0, 0.0, 100.0)
    beside = saved((), replace(idle, every_s=interval_s * 7.0), **case, kept=7.0, stops=[
        Stop(1.0 / mtbf_s, detection_s, recovery_s)
    ])  # fmt: skip
    assert beside == pytest.approx(float(known), rel=1e-9)


@given(_DURATION_S, st.floats(0.0, 1.0), _MTBF_S, _COST_S, _COST_S)
def test_without_saves_crashes_alone_are_the_exact_time(
    duration_s: float, overhead: float, mtbf_s: float, detection_s: float, recovery_s: float
) -> None:
    known = continuous_completion_s(
        duration_s=duration_s,
        overhead=overhead,
        mtbf_s=mtbf_s,
        detection_s=detection_s,
        recovery_s=recovery_s,
    )
    work = Work(stops_of([Stop(1.0 / mtbf_s, detection_s, recovery_s)]))
    found = unsaved_completion_s(work, duration_s=duration_s, overhead=overhead)
    assert float(found) == pytest.approx(float(known), rel=1e-12)


def test_classes_that_are_alike_are_one_class() -> None:
    split = [Stop(0.25 / 3600.0, 30.0, 60.0), Stop(0.75 / 3600.0, 30.0, 60.0)]
    assert saved((_CHECK,), stops=split) == pytest.approx(saved((_CHECK,)), rel=1e-13)


def test_several_classes_by_first_step_analysis() -> None:
    """B of each class from linear equations, in which a failure strikes a recovery as any class."""
    classes = [Stop(1e-3, 7.0, 40.0), Stop(3e-3, 90.0, 200.0), Stop(5e-4, 0.0, 0.0)]
    rate = sum(float(each.rate_per_s) for each in classes)
    shares = np.array([float(each.rate_per_s) / rate for each in classes])
    lost = np.array([-expm1(-rate * float(each.recovery_s)) for each in classes])
    waits = np.array([float(each.detection_s) for each in classes])
    matrix = np.eye(3) - lost[:, None] * shares[None, :]
    begun = np.linalg.solve(matrix, waits + lost / rate)
    assert float(stops_of(classes).spent_s) == pytest.approx(1.0 / rate + shares @ begun, rel=1e-12)


def test_one_check_before_each_save_by_first_step_analysis() -> None:
    """A pattern of work, check and save; a stop or a wrong state goes back to its beginning."""
    length_s, cost_s, stall_s, rate, wrong = 700.0, 5.0, 20.0, 1.0 / 900.0, 4e-4
    stops = stops_of([Stop(rate, 11.0, 35.0)])
    after_s = 8.0 + float(stops.recovered_s(35.0))
    check = Check(length_s, cost_s, wrong, after_s)
    p, s, q = exp(-rate * (length_s + cost_s)), exp(-wrong * length_s), exp(-rate * stall_s)
    lost_s = float(stops.spent_s)  # with 1 / rate: the time until a stop, P(stop) / rate
    # V = (1 - p) (G + V) + p (1 - s) (after + V) + p s (1 - q) (G + V)
    stopped = 1.0 - p + p * s * (1.0 - q)
    by_hand = (stopped * lost_s + p * (1.0 - s) * after_s) / (p * s * q)
    found = saved_completion_s(
        Work(stops, 1.0, (check,)), duration_s=length_s, interval_s=length_s, stall_s=stall_s
    )
    assert float(found) == pytest.approx(by_hand, rel=1e-12)


def test_a_check_at_each_save_is_both_a_rare_one_and_a_frequent_one() -> None:
    at_each = replace(_CHECK, every_s=1000.0, false_per_s=1e-6, false_per_check=1e-4)
    frequent = saved((at_each,))
    assert saved((), at_each, kept=1.0) == pytest.approx(frequent, rel=1e-12)


def test_a_rare_check_by_first_step_analysis() -> None:
    """Two saves between two checks, nothing stops the job: rolled back by both, or none."""
    stops = stops_of([Stop(1e-12, 0.0, 0.0)])
    rare = Check(2000.0, 5.0, 1e-4, 40.0)
    clean = exp(-1e-4 * 2000.0)
    found = saved_completion_s(
        Work(stops), duration_s=4000.0, interval_s=1000.0, stall_s=10.0, rare=rare, kept=2.0
    )
    # The last save of a pattern is made only if its check passed.
    one_s = (2000.0 + 10.0 + 5.0 + (1.0 - clean) * 40.0) / clean + 10.0
    assert float(found) == pytest.approx(2.0 * one_s, rel=1e-9)
    # With one save kept, the good one is gone: both patterns have to pass in a row.
    anew = saved_completion_s(
        Work(stops), duration_s=4000.0, interval_s=1000.0, stall_s=10.0, rare=rare, kept=1.0
    )
    tried_s = 2000.0 + 10.0 + 5.0 + 10.0 * clean + (1.0 - clean) * 40.0
    assert float(anew) == pytest.approx(tried_s * (1.0 / clean + 1.0 / clean**2), rel=1e-9)


def test_what_is_left_of_a_job_goes_back_as_far_as_saves_are_kept() -> None:
    """A pattern of three saves, two more and a rest: after a wrong verdict at the end, two kept
    saves lead to the beginning, three to the last check."""
    stops = stops_of([Stop(1e-12, 0.0, 0.0)])
    rare = Check(3000.0, 0.0, 1e-4, 40.0)
    case: dict[str, Any] = {"duration_s": 5500.0, "interval_s": 1000.0, "stall_s": 0.0}
    first, last = exp(-0.3), exp(-0.25)
    first_s, last_s = 3000.0 + (1.0 - first) * 40.0, 2500.0 + (1.0 - last) * 40.0
    kept = {
        3.0: first_s / first + last_s / last,
        2.0: (first_s / first + last_s) / last,
    }
    for saves, known in kept.items():
        found = saved_completion_s(Work(stops), rare=rare, kept=saves, **case)
        assert float(found) == pytest.approx(known, rel=1e-9)


def test_stretches_are_put_together_by_their_ends() -> None:
    """Against every way through them: three times two stretches with a verdict after each."""
    a = Stretch(0.7, 0.3, 0.0).checked(0.5, 40.0)
    b = Stretch(0.8, 0.2, 0.0).checked(0.25, 90.0)
    together = a.then(b).repeated(3.0)
    passed, stopped, found, found_s = 1.0, 0.0, 0.0, 0.0
    for each, after_s in ((a, 40.0), (b, 90.0)) * 3:
        stopped += passed * float(each.stopped)
        found += passed * float(each.found)
        found_s += passed * float(each.found) * after_s
        passed *= float(each.passed)
    assert float(together.passed) == pytest.approx(passed, rel=1e-13)
    assert float(together.stopped) == pytest.approx(stopped, rel=1e-13)
    assert float(together.found) == pytest.approx(found, rel=1e-13)
    assert float(together.found_s) == pytest.approx(found_s, rel=1e-13)
    assert passed + stopped + found == pytest.approx(1.0, rel=1e-13)
    none = together.repeated(0.0)
    assert (float(none.passed), float(none.stopped), float(none.found_s)) == (1.0, 0.0, 0.0)


def test_a_plan_by_first_step_analysis() -> None:
    """What is stated of a class and of its monitor, each in its place: misses, delay, alarms."""
    kind = FailureClass.DIVERGENCE
    digest = Monitor("digest", 5.0, {kind: 0.2}, 2e-5, 3e-3, delay_s=400.0)
    stated = Stated((ClassRate(kind, 4000.0),), (digest,))
    conditions = Conditions(
        duration_s=600.0,
        mtbf_s=900.0,
        step_time_s=2.0,
        detection_s=11.0,
        regroup_s=10.0,
        init_s=5.0,
    )
    model = CostModel(is_periodic=True, restore_s=20.0, stall_s=8.0)
    found = price(model, conditions, stated, Settings(300.0, (digest,), (300.0,)))
    rate, hazard = 1.0 / 900.0, 600.0 * (0.8 / 4000.0 + 2e-5) + 3e-3
    stop_s = (900.0 + 11.0) * exp(rate * 35.0)  # 1 / rate and what follows on a failure
    after_s = 400.0 - expm1(-rate * 35.0) * stop_s
    p, s, q = exp(-rate * 605.0), exp(-hazard), exp(-rate * 8.0)
    stopped = 1.0 - p + p * s * (1.0 - q)
    by_hand = (stopped * stop_s + p * (1.0 - s) * after_s) / (p * s * q)
    assert float(found.time_s) == pytest.approx(by_hand, rel=1e-12)
    assert float(found.wrong) == pytest.approx(-expm1(-600.0 * 0.2 / 4000.0), rel=1e-12)
    assert float(found.right_s) == pytest.approx(by_hand / exp(-0.03), rel=1e-12)
    assert float(found.overhead) == pytest.approx((5.0 + 8.0) / 600.0, rel=1e-12)


_MOVED = st.sampled_from(
    ["stall_s", "pace", "rate", "detection", "recovery", "cost_s", "wrong_per_s", "after_s",
     "false_per_s", "false_per_check", "duration_s"]
)  # fmt: skip


@given(
    _MOVED,
    st.floats(1.0, 3.0),
    st.integers(1, 20),
    st.integers(1, 6),
    st.booleans(),
    st.floats(3000.0, 1e6),
    st.floats(1e-9, 1e-5),
    st.floats(0.0, 30.0),
)
def test_monotone_in_every_cost(
    moved: str,
    factor: float,
    checks: int,
    saves: int,
    is_kept: bool,
    mtbf_s: float,
    wrong_per_s: float,
    cost_s: float,
) -> None:
    stop = {"rate": 1.0 / mtbf_s, "detection": 30.0, "recovery": 60.0}
    check = {
        "cost_s": cost_s,
        "wrong_per_s": wrong_per_s,
        "after_s": 70.0,
        "false_per_s": 1e-7,
        "false_per_check": 1e-5,
    }
    job = {"duration_s": 20_500.0, "stall_s": 10.0, "pace": 1.1}

    def time_s(times: float) -> float:
        def of(case: dict[str, float]) -> dict[str, float]:
            return {k: v * (times if k == moved else 1.0) for k, v in case.items()}

        stops = stops_of([Stop(of(stop)["rate"], of(stop)["detection"], of(stop)["recovery"])])
        fine = Check(every_s=1000.0 / checks, **of(check))
        rare = Check(every_s=1000.0 * saves, **of(check))
        told = of(job)
        return float(
            saved_completion_s(
                Work(stops, told["pace"], (fine,)),
                duration_s=told["duration_s"],
                interval_s=1000.0,
                stall_s=told["stall_s"],
                rare=rare,
                kept=float(saves if is_kept else max(saves - 1, 1)),
            )
        )

    assert time_s(factor) >= time_s(1.0) * (1.0 - 1e-11)


@given(st.integers(2, 12), st.floats(1e-8, 1e-5), st.floats(1e3, 1e6))
def test_keeping_more_saves_never_costs_time(saves: int, wrong_per_s: float, mtbf_s: float) -> None:
    rare = Check(1000.0 * saves, 5.0, wrong_per_s, 100.0)
    stops = [Stop(1.0 / mtbf_s, 10.0, 20.0)]
    times = [saved((), rare, kept=float(kept), stops=stops) for kept in range(1, saves + 3)]
    assert all(more <= less * (1.0 + 1e-12) for less, more in itertools.pairwise(times))
    assert times[saves - 1] == times[-1]


def test_checks_that_never_come_are_one_check_at_the_end() -> None:
    """N -> infinity: the job has no state that is proved good but its beginning."""
    wrong_per_s, duration_s = 1e-5, 50_500.0
    never = Check(1e9, 5.0, wrong_per_s, 80.0)
    clean = exp(-wrong_per_s * duration_s)
    stops = stops_of([Stop(1e-13, 0.0, 0.0)])
    found = saved_completion_s(
        Work(stops), duration_s=duration_s, interval_s=1000.0, stall_s=10.0, rare=never, kept=1.0
    )
    one_s = duration_s + 50 * 10.0 + 5.0
    assert float(found) == pytest.approx((one_s + (1.0 - clean) * 80.0) / clean, rel=1e-6)
    # ... and where nothing goes wrong, the check at the end is all that it costs.
    idle = replace(never, wrong_per_s=0.0)
    assert saved((), idle) - saved() == pytest.approx(5.0, rel=0.2)


def test_checks_without_end_are_an_overhead() -> None:
    """N -> 0 at a given share of the time: what goes wrong is found at once."""
    often = Check(0.5, 0.5 * 0.02, 0.0, 80.0)
    assert saved((often,)) == pytest.approx(saved(pace=1.02), rel=1e-9)
    found_at_once = saved((replace(often, cost_s=0.0, wrong_per_s=1e-4, after_s=0.0),))
    as_stop = saved(stops=[_CRASH, Stop(1e-4, 0.0, 0.0)])
    # It arises in work only: saves, which are a hundredth of the time, are not struck.
    assert found_at_once == pytest.approx(as_stop, rel=2e-3)


def test_no_time_holds_a_job_that_never_ends() -> None:
    always = Check(1000.0, 1.0, 1.0, 10.0)
    assert saved((), replace(always, every_s=4000.0), kept=1.0) == np.inf
    assert saved(stops=[Stop(10.0, 1.0, 1.0)]) == np.inf


def test_arrays_are_many_numbers() -> None:
    fine = Check(np.array([50.0, 100.0, 500.0]), 1.0, 1e-5, 50.0, 1e-6, 1e-5)
    rare = Check(np.array([3000.0, 5000.0, 1000.0]), 2.0, 2e-5, 60.0)
    kept = np.array([3.0, 2.0, 1.0])
    work = Work(stops_of([_CRASH]), 1.05, (fine,))
    case: dict[str, Any] = {"duration_s": 40_300.0, "interval_s": 1000.0, "stall_s": 10.0}
    together = saved_completion_s(work, **case, rare=rare, kept=kept)
    for index, found in enumerate(np.asarray(together)):
        alone = saved_completion_s(
            Work(work.stops, 1.05, (replace(fine, every_s=fine.every_s[index]),)),  # type: ignore[index]
            **case,
            rare=replace(rare, every_s=rare.every_s[index]),  # type: ignore[index]
            kept=kept[index],
        )
        assert float(alone) == pytest.approx(found, rel=1e-13)
