"""How many failures a job is expected to meet: the exact forms, and simulations."""

from dataclasses import replace

import pytest

from advisor.exact_time import continuous_completion_s, periodic_completion_s
from advisor.simulation.estimate import expected, expected_events
from advisor.simulation.fallbacks import Fallbacks, fallbacks_of
from advisor.simulation.limits import (
    BLOCK,
    MOST_FAILURES,
    MOST_IN_ALL,
    block_size,
    most_jobs,
    too_many_failures,
)
from advisor.simulation.process import Bursts, Kind, Process, Spares, Tier, Warnings
from advisor.simulation.run import simulate
from advisor.simulation.times import Constant, Exponential, Lognormal

_MTBF_S = 400.0
_ONE = Process(3_000.0, Exponential(_MTBF_S), (Tier(100.0, 4.0, 10.0),), 15.0, regroup_s=5.0)
_TWO = replace(
    _ONE,
    tiers=(Tier(50.0, 1.0, 2.0, survives=0), Tier(200.0, 9.0, 20.0, survives=1)),
    kinds=(Kind(0.7), Kind(0.3, 1)),
)
_WARNED = replace(_ONE, work_s=20_000.0, tiers=(), warnings=Warnings(0.9, Constant(60.0), 8.0, 6.0))
_PROCESSES = {
    "one-tier": _ONE,
    "two-tiers": _TWO,
    "some-begin-again": replace(_ONE, kinds=(Kind(0.95), Kind(0.05, 1)), work_s=4_000.0),
    "warned": _WARNED,
    "rarely-warned": replace(_WARNED, warnings=Warnings(0.5, Lognormal(30.0, 1.0), 8.0, 6.0)),
    "warned-with-a-tier": replace(_TWO, warnings=Warnings(0.6, Constant(60.0), 8.0, 6.0)),
    "emergency-saves-that-are-lost": replace(
        _WARNED,
        work_s=4_000.0,
        kinds=(Kind(0.95), Kind(0.05, 1)),
        warnings=Warnings(0.9, Constant(60.0), 8.0, 6.0, survives=0),
    ),
    "bursts-in-which-nothing-is-done": replace(_ONE, bursts=Bursts(0.4, 3, Exponential(20.0))),
    "bursts-that-are-far-apart": replace(_ONE, bursts=Bursts(0.4, 3, Exponential(400.0))),
    "no-spares": replace(_ONE, spares=Spares(0, Exponential(100.0))),
    "some-spares": replace(_ONE, work_s=9_000.0, spares=Spares(2, Exponential(700.0))),
    "two-nodes-at-once": replace(
        _TWO, kinds=(Kind(0.7, 0, 0), Kind(0.3, 1, 2)), spares=Spares(1, Exponential(300.0))
    ),
}


def test_the_exact_forms() -> None:
    exact_s = periodic_completion_s(
        duration_s=3_000.0,
        interval_s=100.0,
        stall_s=4.0,
        mtbf_s=_MTBF_S,
        detection_s=15.0,
        recovery_s=15.0,
    )
    assert expected_events(_ONE) * _MTBF_S == pytest.approx(float(exact_s), rel=1e-9)
    always = replace(_ONE, tiers=(Tier(0.0, 0.0, 10.0),), overhead=0.1)
    exact_s = continuous_completion_s(
        duration_s=3_000.0, overhead=0.1, mtbf_s=_MTBF_S, detection_s=15.0, recovery_s=15.0
    )
    assert expected_events(always) * _MTBF_S == pytest.approx(float(exact_s), rel=1e-9)
    nothing = replace(_ONE, tiers=(), work_s=900.0)
    exact_s = periodic_completion_s(
        duration_s=900.0,
        interval_s=1e9,
        stall_s=0.0,
        mtbf_s=_MTBF_S,
        detection_s=15.0,
        recovery_s=5.0,
    )
    assert expected_events(nothing) * _MTBF_S == pytest.approx(float(exact_s), rel=1e-9)


@pytest.mark.parametrize("name", _PROCESSES)
def test_about_as_many_as_are_simulated(name: str) -> None:
    process = _PROCESSES[name]
    found = simulate(process, 3, narrow=0.01, most=8_000, block=2_000)
    assert expected_events(process) == pytest.approx(found.failures, rel=0.15)


def test_false_alarms_are_events() -> None:
    warned = _PROCESSES["warned-with-a-tier"]
    assert warned.warnings is not None
    alarmed = replace(warned, warnings=replace(warned.warnings, false_alarms=Exponential(100.0)))
    # One a 100 s of the job's time, besides the failures, which a longer job meets more of.
    once = expected_events(warned)
    assert expected_events(alarmed) > once * (1.0 + _MTBF_S / 100.0)
    assert expected_events(alarmed) < 1.2 * once * (1.0 + _MTBF_S / 100.0)


def test_too_many_false_alarms_are_said() -> None:
    warnings = Warnings(1.0, Constant(60.0), 8.0, 6.0, Exponential(1e-3))
    reason = too_many_failures(replace(_ONE, warnings=warnings)) or ""
    assert reason.startswith(f"more than {MOST_FAILURES:,} failures and false alarms are expected")


def test_what_failures_fall_back_to() -> None:
    assert fallbacks_of(_TWO) == Fallbacks((0.7, 0.3), 0.0, 0.0, 0.0)
    lost = fallbacks_of(_PROCESSES["emergency-saves-that-are-lost"])
    assert lost.saved == pytest.approx(0.95 * 0.9)
    assert lost.missed == pytest.approx(0.95 * 0.1)
    assert (lost.tiers, lost.unsurvived) == ((), 0.05)
    with_tiers = fallbacks_of(_PROCESSES["warned-with-a-tier"])
    assert with_tiers.tiers == pytest.approx((0.7 * 0.4, 0.3 * 0.4))
    assert with_tiers.saved == pytest.approx(0.6)
    assert with_tiers.missed == 0.0


def test_failures_of_bursts_count_too() -> None:
    """As far as they come, and worse where any of them puts a job back to its beginning."""
    calm = expected_events(_ONE)
    for more in (1, 10, 100):
        quick = replace(_ONE, bursts=Bursts(0.5, more, Exponential(0.01)))
        assert expected_events(quick) == pytest.approx((1.0 + 0.5 * more) * calm)
    once = replace(_ONE, kinds=(Kind(0.95), Kind(0.05, 1)), work_s=4_000.0)
    often = replace(once, bursts=Bursts(1.0, 4, Exponential(0.01)))
    assert expected_events(often) > 1.5 * 5.0 * expected_events(once)
    assert too_many_failures(replace(_ONE, work_s=1e6)) is None
    endless = replace(_ONE, work_s=1e6, bursts=Bursts(1.0, 1000, Exponential(1.0)))
    assert too_many_failures(endless) == "more than 100,000 failures are expected in one job"


def test_too_few_spares_are_said() -> None:
    """Waits make a job longer without end where more nodes are in repair than there are spares."""
    process = replace(_ONE, work_s=1e6, spares=Spares(2, Exponential(10_000.0)))
    assert too_many_failures(process) == (
        "more than 100,000 failures are expected in one job; with 2 spares it waits for a node "
        "100 % of the time"
    )
    one = too_many_failures(replace(process, spares=Spares(1, Exponential(2_000.0)), work_s=1e7))
    assert one is not None
    assert "; with 1 spare it waits for a node 9" in one
    assert too_many_failures(replace(process, spares=Spares(50, Exponential(10_000.0)))) is None
    # Which are enough for all of a short job's failures, whatever a repair takes.
    patient = replace(_ONE, spares=Spares(30, Exponential(1e6)))
    assert expected_events(patient) == pytest.approx(expected_events(_ONE), rel=1e-3)
    assert expected(patient).waiting_fraction < 1e-3
    # Failures that take no node need no spare.
    software = replace(process, kinds=(Kind(1.0, 0, nodes=0),))
    assert too_many_failures(software) is None


@pytest.mark.parametrize(
    ("process", "words"),
    [
        (replace(_ONE, arrivals=Exponential(0.5)), ""),
        (replace(_ONE, arrivals=Exponential(1.0), regroup_s=1e6), ""),
        (
            replace(_ONE, work_s=1e6, kinds=(Kind(0.95), Kind(0.05, 1))),
            "; 5 % of the failures put it back",
        ),
        (
            replace(_WARNED, work_s=1e5, warnings=Warnings(1e-4, Constant(60.0), 8.0, 6.0)),
            "; 99.99 % of the failures are not announced in time",
        ),
    ],
)
def test_jobs_that_do_not_end_say_why(process: Process, words: str) -> None:
    reason = too_many_failures(process)
    assert reason is not None
    assert reason.startswith(f"more than {MOST_FAILURES:,} failures are expected in one job{words}")
    assert too_many_failures(_ONE) is None


def test_fewer_jobs_of_very_many_failures() -> None:
    """As many as meet 30 million failures together, in two blocks or more."""
    assert most_jobs(_ONE, 100_000) == 100_000
    assert most_jobs(_ONE, 64) == 64
    assert block_size(_ONE) == BLOCK
    often = replace(_ONE, work_s=1e6)
    assert most_jobs(often, 100_000) == int(MOST_IN_ALL / expected_events(often)) < 10_000
    assert block_size(often) == BLOCK
    very_often = replace(_ONE, work_s=3e7)
    each = expected_events(very_often)
    assert 0.99 * MOST_IN_ALL < most_jobs(very_often, 100_000) * each <= MOST_IN_ALL
    assert 0.98 * MOST_IN_ALL < 2 * block_size(very_often) * each <= MOST_IN_ALL
    assert most_jobs(replace(_ONE, arrivals=Exponential(1e12)), 100_000) == 100_000
