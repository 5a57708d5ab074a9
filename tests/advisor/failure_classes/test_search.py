"""The best plan: against every setting there is, and what must not be chosen."""

import itertools
from dataclasses import replace
from math import inf

import numpy as np
import pytest

from advisor.candidates import conditions_of
from advisor.completion_time import expected_completion_s
from advisor.exact_time import FLAT_WASTE
from advisor.failure_classes.breakdown import breakdown
from advisor.failure_classes.catalogue import CORRUPTING, FailureClass
from advisor.failure_classes.grid import settings_beside, settings_between
from advisor.failure_classes.pricing import Settings, price
from advisor.failure_classes.search import Limits, Plan, Plans, plan
from advisor.failure_classes.stated import ClassRate, Monitor, Stated
from advisor.recommendation import Recommendation
from advisor.scenario import IntervalPolicy, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_DAY_S = 86400.0
_DIGEST = Monitor("digest", 0.05, dict.fromkeys(CORRUPTING, 0.01), false_per_s=0.02 / _DAY_S)
_AUDIT = Monitor("audit", 3.0, dict.fromkeys(CORRUPTING, 0.0))
_STRAGGLERS = Monitor("stragglers", 0.001, {FailureClass.STRAGGLER: 0.05})
_WRONG = ClassRate(FailureClass.SILENT_CORRUPTION, 5 * _DAY_S)
_SLOW = ClassRate(FailureClass.STRAGGLER, _DAY_S, factor=1.5, length_s=6 * 3600.0)


@pytest.fixture(scope="module")
def recommendation(matilda: ClusterEvidence) -> Recommendation:
    inputs = ScenarioInput("a2", 204_700_000, 4 * 3600.0, mechanisms=("ft1", "ft2", "ft5"))
    return recommend(matilda, inputs)


def plans_of(recommendation: Recommendation, stated: Stated, limits: Limits | None = None) -> Plans:
    return plan(recommendation, stated, limits or Limits(), ranks_per_node=8)


def test_without_other_classes_it_is_the_recommendation(recommendation: Recommendation) -> None:
    """At the same interval to the digit; at the best one never later."""
    found = plans_of(recommendation, Stated())
    assert {each.mechanism for each in found.choices} == {
        each.mechanism for each in recommendation.candidates
    }
    conditions = conditions_of(recommendation.scenario)
    for candidate in recommendation.candidates:
        assert candidate.model is not None
        assert candidate.exact is not None
        steps = float(candidate.interval_steps or 1)
        same = price(candidate.model, conditions, Stated(), Settings(steps))
        assert float(same.time_s) == pytest.approx(candidate.exact.completion_s, rel=1e-12)
        best = next(each for each in found.choices if each.mechanism == candidate.mechanism)
        assert best.expected_completion_s <= float(same.time_s) * (1.0 + 1e-12)
        assert best.expected_completion_s == pytest.approx(float(same.time_s), rel=1e-3)
        assert (best.monitors, best.kept, best.wrong_probability) == ((), 1, 0.0)


def test_terms_without_other_classes_are_equation_5(recommendation: Recommendation) -> None:
    scenario = recommendation.scenario
    for each in plans_of(recommendation, Stated()).choices:
        model = each.candidate.model
        assert model is not None
        lost_s = model.lost_steps * scenario.step_time_s
        if each.interval_steps is not None:
            lost_s = 0.5 * each.interval_steps * scenario.step_time_s
        per_failure_s = scenario.detection_s + model.restore_s + scenario.regroup_s
        known = expected_completion_s(
            duration_s=scenario.duration_s,
            overhead=each.overhead,
            mtbf_s=scenario.mtbf_s,
            per_failure_s=per_failure_s + scenario.init_s + lost_s,
        )
        found = breakdown(scenario, Stated(), each)
        assert found.total_s == pytest.approx(float(known), rel=1e-12)


def test_terms_are_the_first_order_of_the_exact_time(recommendation: Recommendation) -> None:
    stated = Stated((_WRONG, _SLOW, ClassRate(FailureClass.HANG, 2 * _DAY_S, detection_s=600.0)),
                    (_DIGEST, _AUDIT, _STRAGGLERS))  # fmt: skip
    rare = replace(recommendation, scenario=replace(recommendation.scenario, mtbf_s=4 * _DAY_S))
    found = plans_of(rare, stated)
    for each in (*found.choices, *found.others):
        if not each.begins_anew:
            terms = breakdown(rare.scenario, stated, each)
            assert terms.total_s == pytest.approx(each.expected_completion_s, rel=5e-3)


def test_what_wrong_states_cost_is_the_first_order_too(recommendation: Recommendation) -> None:
    """Where nothing else fails: how far back, how late, how often, within 6 %."""
    scenario = replace(recommendation.scenario, mtbf_s=1e12, duration_s=365 * _DAY_S)
    quiet = replace(recommendation, scenario=scenario)
    digest = replace(_DIGEST, cost_s=4.0, delay_s=5.0, false_per_s=1.0 / _DAY_S)
    often = Stated((replace(_WRONG, every_s=2 * _DAY_S),), (digest, _AUDIT))
    dear = Stated((replace(_WRONG, every_s=20 * _DAY_S),), (replace(_AUDIT, cost_s=300.0),))
    compared = []
    for stated, interval in ((often, IntervalPolicy.AUTO), (dear, 20_000)):
        asked = replace(quiet, scenario=replace(scenario, interval=interval))
        found = plans_of(asked, stated, Limits(kept=4))
        for each in (*found.choices, *found.others):
            # With much overhead, lost work takes longer the second time too: second order.
            if each.monitors and not each.begins_anew and each.overhead <= 0.05:
                terms = breakdown(scenario, stated, each)
                steady_s = terms.base_s + terms.saves_s + sum(m.checks_s for m in terms.monitors)
                failures_s = each.expected_completion_s - steady_s
                assert terms.total_s - steady_s == pytest.approx(failures_s, rel=0.06)
                compared.append((each.interval_steps, each.monitors[-1].interval_steps))
    assert len(compared) >= 4
    assert any(saves < checks for saves, checks in compared if saves)
    assert any(saves >= checks for saves, checks in compared if saves)


def test_false_alarms_cost_what_a_failure_does(recommendation: Recommendation) -> None:
    """By rate and by check, of either kind of monitor, in the terms and in the exact time."""
    quiet = replace(recommendation.scenario, mtbf_s=1e12, interval=2000)
    asked = replace(recommendation, scenario=quiet, candidates=recommendation.candidates[:1])
    step_s, duration_s = quiet.step_time_s, quiet.duration_s
    digest = Monitor("digest", 0.0, dict.fromkeys(CORRUPTING, 0.0), 1e-5, 1e-4, interval_steps=1000)
    stragglers = Monitor(
        "stragglers", 0.0, {FailureClass.STRAGGLER: 0.0}, 2e-5, 2e-4, interval_steps=500
    )
    for monitor, kind, lost_steps in ((digest, _WRONG, 1500), (stragglers, _SLOW, 1000)):
        # Hardly ever is there a failure to notice, and it is worth noticing.
        seldom = replace(kind, every_s=1e11)
        stated = Stated((seldom,), (monitor,))
        found = plans_of(asked, stated)
        (plan_,) = [p for p in (*found.choices, *found.others) if p.monitors]
        model = plan_.candidate.model
        assert model is not None
        alarms = duration_s * (
            monitor.false_per_s + monitor.false_per_check / (step_s * (monitor.interval_steps or 1))
        )
        (terms,) = breakdown(quiet, stated, plan_).monitors
        assert terms.false_alarms == pytest.approx(alarms, rel=1e-12)
        each_s = model.restore_s + quiet.regroup_s + quiet.init_s + lost_steps * step_s
        assert terms.false_alarms_s == pytest.approx(alarms * each_s, rel=1e-12)
        silent = replace(monitor, false_per_s=0.0, false_per_check=0.0)
        bare = plans_of(asked, Stated((seldom,), (silent,)))
        (without,) = [p for p in (*bare.choices, *bare.others) if p.monitors]
        more_s = plan_.expected_completion_s - without.expected_completion_s
        assert more_s == pytest.approx(terms.false_alarms_s, rel=0.03)


def test_the_search_finds_what_there_is(recommendation: Recommendation) -> None:
    """Against every whole interval and every multiple of a short job."""
    step_s = recommendation.scenario.step_time_s
    scenario = replace(
        recommendation.scenario, duration_s=240.5 * step_s, mtbf_s=60.0, regroup_s=0.1
    )
    candidate = next(c for c in recommendation.candidates if c.mechanism == "ft1")
    model = candidate.model
    assert model is not None
    quick = replace(model, min_interval_steps=1, restore_s=0.2)
    digest = replace(_DIGEST, cost_s=0.02)
    stated = Stated((replace(_WRONG, every_s=100.0),), (digest,))
    asked = replace(
        recommendation, scenario=scenario, candidates=(replace(candidate, model=quick),)
    )
    found = plans_of(asked, stated, Limits(kept=4)).choices[0]
    least = inf
    for interval in range(1, 241):
        for count in range(1, 241):
            rows = []
            if interval % count == 0:
                rows.append((False, 1.0))
            if count % interval == 0:
                rows.append((True, float(min(count // interval, 4))))
            for is_rare, kept in rows:
                settings = Settings(
                    float(interval), (digest,), (float(count),), is_last_rare=is_rare, kept=kept
                )
                least = min(
                    least, float(price(quick, conditions_of(scenario), stated, settings).right_s)
                )
    assert found.monitors
    assert found.right_s == pytest.approx(least, rel=FLAT_WASTE)
    assert found.right_s >= least * (1.0 - 1e-12)


def test_a_monitor_that_is_worth_nothing_is_not_set(recommendation: Recommendation) -> None:
    blind = Monitor("blind", 1.0, dict.fromkeys(CORRUPTING, 0.999999))
    dear = Monitor("dear", 1e6, dict.fromkeys(CORRUPTING, 0.0), interval_steps=1)
    found = plans_of(recommendation, Stated((_WRONG,), (blind, dear, _DIGEST)))
    for each in found.choices:
        assert {m.name for m in each.monitors} <= {"digest"}
    best = found.best
    assert best is not None
    assert [m.name for m in best.monitors] == ["digest"]
    # Without a monitor the job takes as long and its result is worth little.
    bare = next(each for each in found.others_of(best) if not each.monitors)
    assert bare.expected_completion_s < best.expected_completion_s
    assert bare.wrong_probability == pytest.approx(1.0 - np.exp(-6.0), rel=1e-6)
    assert bare.right_s > 10.0 * best.right_s


def test_stragglers_are_watched_for_where_they_last(recommendation: Recommendation) -> None:
    found = plans_of(recommendation, Stated((_SLOW,), (_STRAGGLERS,)))
    best = found.best
    assert best is not None
    assert best.straggler_monitor is not None
    assert best.straggler_monitor.interval_steps >= 1
    brief = replace(_SLOW, length_s=1.0)
    assert not plans_of(recommendation, Stated((brief,), (_STRAGGLERS,))).choices[0].monitors


def test_given_intervals_are_kept(recommendation: Recommendation) -> None:
    fixed = replace(_DIGEST, interval_steps=70)
    for each in plans_of(recommendation, Stated((_WRONG,), (fixed, _AUDIT))).choices:
        steps = {m.name: m.interval_steps for m in each.monitors}
        assert steps.get("digest", 70) == 70
        if each.interval_steps is not None and "digest" in steps:
            longer, shorter = max(each.interval_steps, 70), min(each.interval_steps, 70)
            assert longer % shorter == 0
    scenario = replace(recommendation.scenario, interval=350)
    model = next(c for c in recommendation.candidates if c.mechanism == "ft1")
    asked = replace(recommendation, scenario=scenario, candidates=(model,))
    (only,) = plans_of(asked, Stated((_WRONG,), (fixed,))).choices
    assert (only.interval_steps, only.monitors[0].interval_steps) == (350, 70)
    unfit = replace(_DIGEST, interval_steps=340)
    (only,) = plans_of(asked, Stated((_WRONG,), (unfit,))).choices
    assert only.monitors == ()


def test_every_plan_keeps_step(recommendation: Recommendation) -> None:
    stated = Stated((_WRONG,), (_DIGEST, _AUDIT))
    found = plans_of(recommendation, stated, Limits(kept=5))
    assert any(len(each.monitors) == 2 for each in (*found.choices, *found.others))
    for each in (*found.choices, *found.others):
        steps = sorted(m.interval_steps for m in each.monitors)
        if each.interval_steps is not None:
            steps = sorted([*steps, each.interval_steps])
        assert all(b % a == 0 for a, b in itertools.pairwise(steps))
        assert each.kept <= 5


def _kept(plans: Plans) -> list[Plan]:
    return [each for each in plans.choices if each.mechanism == "ft1"]


def test_dear_checks_are_rare_and_keep_more_saves(recommendation: Recommendation) -> None:
    dear = replace(_AUDIT, cost_s=300.0)
    rare_wrong = replace(_WRONG, every_s=60 * _DAY_S)
    (few,) = _kept(plans_of(recommendation, Stated((rare_wrong,), (dear,)), Limits(kept=1)))
    (more,) = _kept(plans_of(recommendation, Stated((rare_wrong,), (dear,)), Limits(kept=50)))
    assert more.right_s <= few.right_s
    assert more.kept > 1
    assert more.interval_steps is not None
    assert more.monitors[0].interval_steps == more.kept * more.interval_steps


def test_memory_holds_no_more_saves_than_fit(recommendation: Recommendation) -> None:
    dear = replace(_AUDIT, cost_s=300.0)
    stated = Stated((replace(_WRONG, every_s=60 * _DAY_S),), (dear,))
    ft2 = next(c for c in recommendation.candidates if c.mechanism == "ft2")
    assert ft2.host_memory_bytes_per_rank > 0
    room = 8 * ft2.host_memory_bytes_per_rank * 2
    scenario = replace(recommendation.scenario, host_memory_bytes=room)
    asked = replace(recommendation, scenario=scenario, candidates=(ft2,))
    found = plans_of(asked, stated, Limits(kept=50))
    assert max(each.kept for each in (*found.choices, *found.others)) == 2


def test_limits_are_kept(recommendation: Recommendation) -> None:
    stated = Stated((_WRONG,), (_DIGEST,))
    found = plans_of(recommendation, stated, Limits(wrong=0.1))
    assert found.choices
    assert all(each.wrong_probability <= 0.1 for each in (*found.choices, *found.others))
    none = plans_of(recommendation, Stated((_WRONG,)), Limits(wrong=0.1))
    assert none.choices == ()
    reasons = [each.reason for each in none.left_out if each.mechanism == "ft1"]
    assert "chance of a wrong result at or below 10 %" in reasons[0]
    scenario = replace(recommendation.scenario, max_overhead=0.002)
    limited = plans_of(replace(recommendation, scenario=scenario), stated)
    assert all(each.overhead <= 0.002 for each in (*limited.choices, *limited.others))


def test_a_mechanism_with_one_state_begins_anew(matilda: ClusterEvidence) -> None:
    warned = ScenarioInput(
        "a2", 204_700_000, 4 * 3600.0, mechanisms=("ft1", "ft4"), warning_lead_s=2.0
    )
    found = plans_of(recommend(matilda, warned), Stated((_WRONG,), (_DIGEST,)))
    states = {each.mechanism: each for each in found.choices}
    assert not states["ft1"].begins_anew
    assert states["ft4"].begins_anew
    assert (states["ft4"].interval_steps, states["ft4"].kept) == (None, 1)
    assert states["ft4"].right_s > 10.0 * states["ft1"].right_s


def test_the_grid_holds_multiples_only() -> None:
    for fixed in ([None, None, None], [None, 700, None], [10, None, None], [None, None, 900]):
        rows = settings_between(fixed, 5000.0)
        assert rows[0].size > 10
        for shorter, longer in itertools.pairwise(rows):
            assert not np.any(np.mod(longer, shorter))
        assert float(rows[-1].max()) <= 5000.0
        for value, row in zip(fixed, rows, strict=True):
            assert value is None or set(row) == {float(value)}
        near = settings_beside(fixed, 5000.0, [float(row[0]) for row in rows])
        assert all(np.any(row == near_row[0]) for row, near_row in zip(near, rows, strict=True))
    assert settings_between([7, 10], 5000.0)[0].size == 0
