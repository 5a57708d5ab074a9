"""The formulas against a plain loop over events (event_loop.py), within three sigma."""

from math import exp
from typing import Any

import pytest

from advisor.failure_classes.catalogue import FailureClass
from advisor.failure_classes.noticing import slowed
from advisor.failure_classes.pricing import Settings, price
from advisor.failure_classes.stated import ClassRate, Monitor, Stated
from advisor.optimizer import Conditions, CostModel
from tests.advisor.failure_classes.event_loop import (
    Checking,
    Corrupting,
    Job,
    Simulated,
    SlowedJob,
    Stopping,
    simulate,
    simulate_slowed,
)

_DIVERGENCE, _CORRUPTION = FailureClass.DIVERGENCE, FailureClass.SILENT_CORRUPTION
_MODEL = CostModel(is_periodic=True, restore_s=25.0, stall_s=8.0)
_RECOVERY_S = 25.0 + 10.0 + 5.0
_STOPPING = (Stopping(1.0 / 6000.0, 20.0, _RECOVERY_S),)
_CONDITIONS = Conditions(
    duration_s=20_300.0,
    mtbf_s=6000.0,
    step_time_s=2.0,
    detection_s=20.0,
    regroup_s=10.0,
    init_s=5.0,
)


def monitor(name: str, cost_s: float, divergence: float, corruption: float, **more: Any) -> Monitor:
    return Monitor(name, cost_s, {_DIVERGENCE: divergence, _CORRUPTION: corruption}, **more)


_DIGEST = monitor("digest", 2.0, 0.1, 0.4, delay_s=7.0, false_per_s=1.0 / 60_000.0)
_VALUES = monitor("values", 0.3, 0.8, 0.5, false_per_check=2e-4)
_AUDIT = monitor("audit", 12.0, 0.0, 0.2, false_per_s=1.0 / 90_000.0, delay_s=3.0)
_STATED = Stated(
    (ClassRate(_DIVERGENCE, 9000.0), ClassRate(_CORRUPTION, 14_000.0)), (_DIGEST, _VALUES, _AUDIT)
)

_SELDOM = Stated((ClassRate(_DIVERGENCE, 50_000.0), ClassRate(_CORRUPTION, 80_000.0)), (_DIGEST,))


def simulated(
    settings: Settings, stated: Stated, stopping: tuple[Stopping, ...], jobs: int
) -> Simulated:
    """The same plan by the loop."""
    step_s = float(_CONDITIONS.step_time_s)
    job = Job(
        duration=float(_CONDITIONS.duration_s),
        interval=float(settings.interval_steps) * step_s,
        stall=_MODEL.stall_s,
        recovery=_RECOVERY_S,
        stopping=stopping,
        corrupting=tuple(
            Corrupting(each.rate_per_s, tuple(m.miss[each.kind] for m in settings.monitors))
            for each in stated.corrupting
        ),
        checking=tuple(
            Checking(float(n) * step_s, m.cost_s, m.delay_s, m.false_per_s, m.false_per_check)
            for m, n in zip(settings.monitors, settings.check_steps, strict=True)
        ),
        kept=int(settings.kept),
    )
    return simulate(job, jobs, seed=11)


def require_alike(
    settings: Settings, stated: Stated, stopping: tuple[Stopping, ...], jobs: int
) -> Simulated:
    formula = price(_MODEL, _CONDITIONS, stated, settings)
    found = simulated(settings, stated, stopping, jobs)
    assert abs(float(formula.time_s) - found.mean) <= 3.0 * found.error
    # Narrow enough to tell: three sigma are less than six hundredths of the mean.
    assert found.error < 0.02 * found.mean
    wrong = float(formula.wrong)
    sigma = (wrong * (1.0 - wrong) / jobs) ** 0.5
    assert abs(found.wrong - wrong) <= 3.0 * sigma
    return found


def test_classes_that_stop_the_job() -> None:
    stated = Stated(
        (
            ClassRate(FailureClass.HANG, 9000.0, detection_s=600.0),
            ClassRate(FailureClass.COORDINATOR_LOSS, 20_000.0, detection_s=5.0, recovery_s=900.0),
        )
    )
    stopping = (
        *_STOPPING,
        Stopping(1.0 / 9000.0, 600.0, _RECOVERY_S),
        Stopping(1.0 / 20_000.0, 5.0, 900.0),
    )
    require_alike(Settings(200.0), stated, stopping, 800)


_PLANS = {
    "frequent": Settings(200.0, (_DIGEST,), (50.0,)),
    "at-saves": Settings(200.0, (_DIGEST,), (200.0,)),
    "rare": Settings(100.0, (_DIGEST,), (300.0,), is_last_rare=True, kept=3.0),
    "two": Settings(200.0, (_VALUES, _DIGEST), (10.0, 100.0)),
    "two-one-rare": Settings(120.0, (_VALUES, _DIGEST), (60.0, 600.0), is_last_rare=True, kept=5.0),
    "three": Settings(
        160.0, (_VALUES, _DIGEST, _AUDIT), (40.0, 80.0, 640.0), is_last_rare=True, kept=4.0
    ),
}


@pytest.mark.parametrize("name", ["at-saves", "rare", "two-one-rare"])
def test_monitors_of_wrong_states(name: str) -> None:
    found = require_alike(_PLANS[name], _STATED, _STOPPING, 400)
    assert found.found > 1.0


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize("name", _PLANS)
def test_monitors_of_wrong_states_closely(name: str) -> None:
    """So many jobs that three sigma are less than a hundredth."""
    found = require_alike(_PLANS[name], _STATED, _STOPPING, 10_000)
    assert 3.0 * found.error < 0.01 * found.mean


def test_a_good_state_that_is_no_longer_kept() -> None:
    """Three saves a check and two of them kept: the job begins anew."""
    settings = Settings(150.0, (_DIGEST,), (450.0,), is_last_rare=True, kept=2.0)
    found = require_alike(settings, _SELDOM, _STOPPING, 1200)
    assert found.found > 0.5


def test_without_a_monitor_results_are_wrong_and_take_no_longer() -> None:
    settings = Settings(200.0)
    found = require_alike(settings, _STATED, _STOPPING, 600)
    rate = sum(each.rate_per_s for each in _STATED.corrupting)
    assert found.wrong == pytest.approx(1.0 - exp(-rate * 20_300.0), abs=0.06)
    plain = price(_MODEL, _CONDITIONS, Stated(), settings)
    assert price(_MODEL, _CONDITIONS, _STATED, settings).time_s == plain.time_s


def test_a_mechanism_with_one_state_begins_anew() -> None:
    model = CostModel(is_periodic=False, restore_s=25.0, overhead=0.03, lost_steps=4.0)
    stated = Stated((ClassRate(_DIVERGENCE, 30_000.0),), (_DIGEST,))
    formula = price(model, _CONDITIONS, stated, Settings(1.0, (_DIGEST,), (1000.0,)))
    job = Job(
        # The overhead lies evenly on all work, so the loop's seconds of work are longer.
        duration=20_300.0 * 1.03,
        interval=None,
        stall=0.0,
        recovery=_RECOVERY_S,
        stopping=(Stopping(1.0 / 6000.0, 20.0, _RECOVERY_S + 8.0),),
        corrupting=(Corrupting(1.0 / 30_000.0 / 1.03, (0.1,)),),
        checking=(Checking(2000.0 * 1.03, 2.0, 7.0, 1.0 / 60_000.0 / 1.03),),
    )
    found = simulate(job, 2000, seed=5)
    assert abs(float(formula.time_s) - found.mean) <= 3.0 * found.error
    assert found.error < 0.02 * found.mean


_SLOW = ClassRate(FailureClass.STRAGGLER, 5000.0, factor=1.8, length_s=1500.0)


@pytest.mark.parametrize(
    ("watching", "steps"),
    [
        (None, 1),
        (Monitor("stragglers", 0.2, {FailureClass.STRAGGLER: 0.0}), 53),
        (Monitor("stragglers", 0.2, {FailureClass.STRAGGLER: 0.3}, delay_s=60.0), 97),
    ],
    ids=["none", "all-seen", "some-missed"],
)
def test_stragglers(watching: Monitor | None, steps: int) -> None:
    """First order in what stragglers and other failures do to each other: within half a hundredth
    beyond three sigma. Their checks do not keep step with the saves."""
    conditions = Conditions(200_000.0, 1e6, 2.0, 0.0, 10.0, 5.0)
    settings = Settings(200.0, straggler_monitor=watching, straggler_steps=float(steps))
    formula = price(_MODEL, conditions, Stated((_SLOW,)), settings)
    seen = {} if watching is None else {
        "every": steps * 2.0,
        "cost": watching.cost_s,
        "delay": watching.delay_s,
        "miss": watching.miss[FailureClass.STRAGGLER],
    }  # fmt: skip
    job = SlowedJob(
        200_000.0, 400.0, _MODEL.stall_s, _RECOVERY_S, 1e-6, 1.0 / 5000.0, 1.8, 1500.0, **seen
    )
    found = simulate_slowed(job, 100, seed=3)
    assert abs(float(formula.time_s) - found.mean) <= 3.0 * found.error + 0.005 * found.mean
    assert found.error < 0.01 * found.mean
    # What stragglers do is many times what the comparison lets pass.
    without = float(price(_MODEL, conditions, Stated(), Settings(200.0)).time_s)
    assert found.mean - without > 0.03 * without


def test_how_long_a_straggler_lasts() -> None:
    """E[min(D, l)] for D uniform between two checks, by numerical integration."""
    watching = Monitor("stragglers", 3.0, {FailureClass.STRAGGLER: 0.25}, delay_s=20.0)
    found = slowed(_SLOW, watching, 400.0)
    length, fixed, window = 1500.0, 23.0, 1.8 * 400.0
    n = 20_000
    late = [fixed + window * (i + 0.5) / n for i in range(n)]
    lasting = sum(length * (1.0 - exp(-d / length)) for d in late) / n
    assert float(found.lasting_s) == pytest.approx(0.75 * lasting + 0.25 * length, rel=1e-6)
    noticed = sum(exp(-d / length) for d in late) / n
    assert float(found.noticed) == pytest.approx(0.75 * noticed, rel=1e-6)
