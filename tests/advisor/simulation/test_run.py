"""Whole simulations: against the exact time, closer on demand, the same for the same seed."""

from dataclasses import astuple, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from advisor.checkpoint_interval import equation_5_interval_s, exact_interval_s
from advisor.errors import UserError
from advisor.exact_time import continuous_completion_s, periodic_completion_s
from advisor.simulation import engine
from advisor.simulation.engine import NoEndError, simulate_block
from advisor.simulation.events import RandomSource
from advisor.simulation.process import Bursts, Kind, Process, Spares, Tier, Warnings
from advisor.simulation.run import simulate
from advisor.simulation.times import Constant, Exponential, Lognormal, Times, Weibull

_SEED = 20261130
_ARRIVALS: list[Times] = [Exponential(600.0), Weibull(600.0, 0.6), Lognormal(600.0, 1.0)]
# MTBF in times of what a recovery takes (detection and restore, 30 s together), and how many
# intervals the job has: enough for failures to be met, few enough to be quick.
_GRID = [
    (ratio, detection, stall_s)
    for ratio in (3.0, 10.0, 100.0, 1e3, 1e5)
    for detection in (0.0, 0.5, 1.0)
    for stall_s in (0.3, 15.0)
]


@pytest.mark.parametrize(("ratio", "detection", "stall_s"), _GRID)
def test_the_exact_time_is_the_simulated_mean(
    ratio: float, detection: float, stall_s: float
) -> None:
    """Within 3 sigma of the simulation's own error and within 1 %."""
    mtbf_s = 30.0 * ratio
    interval_s = float(exact_interval_s(stall_s, mtbf_s))
    # A rest of 0.4 intervals, so that the last one counts; ten failures or so.
    work_s = interval_s * (round(max(10.0 * mtbf_s / interval_s, 3.0)) + 0.4)
    found = simulate(
        Process(
            work_s,
            Exponential(mtbf_s),
            (Tier(interval_s, stall_s, 30.0 * (1.0 - detection) * 0.7),),
            detection_s=30.0 * detection,
            regroup_s=30.0 * (1.0 - detection) * 0.3,
        ),
        _SEED,
        narrow=0.002,
        most=60_000,
        block=4_000,
    )
    exact_s = float(
        periodic_completion_s(
            duration_s=work_s,
            interval_s=interval_s,
            stall_s=stall_s,
            mtbf_s=mtbf_s,
            detection_s=30.0 * detection,
            recovery_s=30.0 * (1.0 - detection),
        )
    )
    assert found.is_narrow
    assert found.failures > 5.0
    sigma_s = found.half_width_s / 1.96
    assert abs(found.mean_s - exact_s) <= 3.0 * sigma_s
    assert abs(found.mean_s / exact_s - 1.0) + 3.0 * sigma_s / exact_s <= 0.01


def test_a_state_of_every_moment_is_the_other_form() -> None:
    process = Process(
        1e4, Exponential(300.0), (Tier(0.0, 0.0, 25.0),), detection_s=40.0, overhead=0.1
    )
    found = simulate(process, _SEED, narrow=5e-4)
    exact_s = float(
        continuous_completion_s(
            duration_s=1e4, overhead=0.1, mtbf_s=300.0, detection_s=40.0, recovery_s=25.0
        )
    )
    assert abs(found.mean_s - exact_s) <= 3.0 * found.half_width_s / 1.96
    assert found.spent.lost_s == 0.0


def test_announced_failures_lose_nothing() -> None:
    """All announced long before, saved for in no time: the form of a state of every moment."""
    long_before = Warnings(1.0, Constant(1e6), 0.0, 20.0)
    process = Process(
        1e4, Exponential(300.0), (), 40.0, regroup_s=5.0, overhead=0.1, warnings=long_before
    )
    found = simulate(process, _SEED, narrow=5e-4)
    exact_s = float(
        continuous_completion_s(
            duration_s=1e4, overhead=0.1, mtbf_s=300.0, detection_s=40.0, recovery_s=25.0
        )
    )
    assert abs(found.mean_s - exact_s) <= 3.0 * found.half_width_s / 1.96
    assert (found.spent.lost_s, found.from_beginning) == (0.0, 0.0)
    # With saves that take time only these are added: one for each failure that strikes training.
    slow = simulate(replace(process, warnings=replace(long_before, save_s=3.0)), _SEED, narrow=5e-4)
    assert slow.spent.lost_s == pytest.approx(0.0, abs=1e-6)
    assert slow.from_beginning == 0.0
    assert 2.0 * slow.failures < slow.spent.emergency_s < 2.7 * slow.failures


@pytest.mark.parametrize(
    "warnings",
    [
        None,
        Warnings(0.0, Constant(1e6), 3.0, 20.0),
        Warnings(1.0, Constant(2.9), 3.0, 20.0),
        Warnings(1.0, Constant(5.0), 3.0, 20.0, needs_s=5.1),
    ],
    ids=["nothing", "never-announced", "always-too-late", "too-late-for-a-slow-save"],
)
def test_without_a_warning_in_time_a_job_begins_again(warnings: Warnings | None) -> None:
    """All of its work is one stretch without a save, in the exact time's form."""
    process = Process(600.0, Exponential(300.0), (), 40.0, regroup_s=5.0, warnings=warnings)
    found = simulate(process, _SEED, narrow=0.01)
    exact_s = float(
        periodic_completion_s(
            duration_s=600.0,
            interval_s=1e9,
            stall_s=0.0,
            mtbf_s=300.0,
            detection_s=40.0,
            recovery_s=5.0,
        )
    )
    assert abs(found.mean_s - exact_s) <= 3.0 * found.half_width_s / 1.96
    assert found.spent.emergency_s == 0.0
    # Each run of training that a failure ends; others strike recoveries.
    assert 0.8 * found.failures < found.from_beginning < found.failures


def test_failures_that_only_the_rarer_tier_survives() -> None:
    """Then it is the only one that counts, and the saves of the other are part of its own."""
    tiers = (Tier(100.0, 2.0, 1.0, survives=1), Tier(400.0, 12.0, 30.0, survives=9))
    process = Process(
        4_000.0, Exponential(900.0), tiers, 25.0, regroup_s=5.0, kinds=(Kind(1.0, 2, nodes=2),)
    )
    found = simulate(process, _SEED, narrow=1e-3)
    exact_s = float(
        periodic_completion_s(
            duration_s=4_000.0,
            interval_s=400.0,
            stall_s=4 * 2.0 + 12.0,
            mtbf_s=900.0,
            detection_s=25.0,
            recovery_s=35.0,
        )
    )
    assert abs(found.mean_s - exact_s) <= 3.0 * found.half_width_s / 1.96
    # If only it were there, with the same saves: the same jobs, one by one.
    alone = replace(process, tiers=(Tier(400.0, 20.0, 30.0, survives=2),))
    assert simulate(alone, _SEED, narrow=1e-3).mean_s == pytest.approx(found.mean_s, rel=1e-9)


def test_kinds_that_a_tier_survives_are_all_one() -> None:
    plain = Process(1e4, Exponential(900.0), (Tier(300.0, 5.0, 20.0, survives=1),), 30.0)
    one = replace(plain, kinds=(Kind(1.0, 1),))
    assert simulate(one, 4, most=800, block=400) == simulate(plain, 4, most=800, block=400)
    fragile = replace(plain, kinds=(Kind(0.9, 1), Kind(0.1, 2, nodes=2)))
    found = simulate(fragile, 4, most=800, block=400)
    # Before the first save any failure begins again.
    early = simulate(plain, 4, most=800, block=400).from_beginning
    assert early + 0.05 * found.failures < found.from_beginning < 0.3 * found.failures


def test_how_many_failures_are_saved_for() -> None:
    """Announced, and early enough for the slowest save: both shares together."""
    warnings = Warnings(0.7, Lognormal(20.0, 0.8), 8.0, 6.0, needs_s=12.0)
    process = Process(1e3, Exponential(100.0), (), warnings=warnings)
    events = RandomSource(process, np.random.default_rng(3), 40_000).following()
    assert events.is_saved is not None
    share = warnings.in_time_fraction
    assert share == pytest.approx(0.7 * Lognormal(20.0, 0.8).at_least(12.0))
    assert 0.3 < share < 0.6
    assert abs(events.is_saved.mean() - share) <= 4.0 * (share * (1.0 - share) / 40_000) ** 0.5


@settings(max_examples=25, deadline=None)
@given(st.data())
def test_time_is_conserved_and_adds_up(data: st.DataObject) -> None:
    """Whatever the process: the engine's own check, the mean's parts, and order of quantiles."""
    draw = data.draw
    cost_s = st.floats(0.0, 50.0)
    fine_s = draw(st.floats(20.0, 200.0))
    tiers = (
        Tier(fine_s, draw(cost_s), draw(cost_s), survives=draw(st.integers(0, 1))),
        Tier(fine_s * draw(st.integers(1, 5)), draw(cost_s), draw(cost_s), survives=2),
    )
    warnings = Warnings(
        draw(st.floats(0.0, 1.0)),
        Lognormal(20.0, 1.0),
        draw(cost_s),
        draw(cost_s),
        draw(st.sampled_from([None, Exponential(500.0)])),
        needs_s=draw(cost_s),
        survives=draw(st.integers(0, 2)),
    )
    process = Process(
        draw(st.floats(10.0, 3000.0)),
        draw(st.sampled_from(_ARRIVALS)),
        draw(st.sampled_from([tiers, tiers[1:]])),
        detection_s=draw(cost_s),
        regroup_s=draw(cost_s),
        overhead=draw(st.floats(0.0, 0.5)),
        kinds=draw(st.sampled_from([(Kind(),), (Kind(0.6, nodes=0), Kind(0.4, 2, nodes=2))])),
        bursts=draw(st.sampled_from([None, Bursts(0.3, 2, Exponential(10.0))])),
        warnings=draw(st.sampled_from([None, warnings])),
        spares=draw(st.sampled_from([None, Spares(1, Lognormal(300.0, 0.5))])),
    )
    count = 64
    block = simulate_block(process, RandomSource(process, np.random.default_rng(7), count), count)
    assert block.conservation_error() <= 1e-9
    for part in (block.detection_s, block.waiting_s, block.recovery_s, block.emergency_s):
        assert part.min() >= 0.0
    assert block.lost_s.min() >= -1e-9 * process.work_s
    assert np.all(block.from_beginning <= block.failures)
    found = simulate(process, 3, most=count, block=count)
    assert sum(astuple(found.spent)) == pytest.approx(found.mean_s, rel=1e-9)
    assert found.p50_s <= found.p95_s <= found.p99_s


@pytest.mark.parametrize(
    ("stall_s", "mtbf_s", "detection_s", "restore_s"),
    [
        (6.0, 1800.0, 60.0, 20.0),
        (2.0, 240.0, 60.0, 20.0),
        (0.5, 3600.0, 30.0, 5.0),
        (60.0, 14400.0, 600.0, 60.0),
    ],
)
def test_the_simulated_optimum_is_where_the_formulas_say(
    stall_s: float, mtbf_s: float, detection_s: float, restore_s: float
) -> None:
    """Waste of the same failures at many intervals: none is better by a hundredth."""

    def waste(interval_s: float) -> float:
        process = Process(
            400.0 * mtbf_s,
            Exponential(mtbf_s),
            (Tier(interval_s, stall_s, restore_s),),
            detection_s,
        )
        return 1.0 - process.work_s / simulate(process, _SEED, most=500, block=500).mean_s

    exact_s = float(exact_interval_s(stall_s, mtbf_s))
    of_equation_5_s = float(equation_5_interval_s(stall_s, mtbf_s, detection_s + restore_s))
    least = min(waste(exact_s * factor) for factor in np.geomspace(0.5, 2.0, 9))
    assert waste(exact_s) <= 1.01 * least
    assert waste(of_equation_5_s) <= 1.01 * least
    assert waste(exact_s * 0.3) > 1.01 * least
    assert waste(exact_s * 3.0) > 1.01 * least


def test_replications_are_added_until_the_interval_is_narrow() -> None:
    process = Process(1e4, Exponential(900.0), (Tier(300.0, 5.0, 20.0),), detection_s=30.0)
    wide, close = simulate(process, 5, narrow=0.01, block=200), simulate(process, 5, block=200)
    assert wide.is_narrow
    assert close.is_narrow
    assert wide.replications < close.replications
    assert close.half_width_s <= 1e-3 * close.mean_s < wide.half_width_s
    capped = simulate(process, 5, narrow=1e-9, most=700, block=200)
    assert (capped.replications, capped.is_narrow) == (700, False)


def test_it_is_not_narrow_before_enough_jobs_met_a_failure() -> None:
    """A first block without any looks as if nothing could happen."""
    rare = Process(1e3, Exponential(3e7), (Tier(300.0, 5.0, 20.0),), detection_s=1e5)
    found = simulate(rare, 1, block=5_000, most=60_000)
    assert 0.0 < found.failures * found.replications < 30.0
    assert (found.replications, found.is_narrow) == (60_000, False)


def test_a_seed_is_a_simulation() -> None:
    process = Process(1e4, Weibull(900.0, 0.7), (Tier(300.0, 5.0, 20.0),))
    first, again, other = (simulate(process, seed, most=400, block=400) for seed in (1, 1, 2))
    assert first == again
    assert first.seed == 1
    assert first.mean_s != other.mean_s


def test_without_failures_in_reach_every_job_takes_the_same() -> None:
    process = Process(1e4, Constant(1e12), (Tier(300.0, 5.0, 20.0),), overhead=0.1)
    found = simulate(process, 1, block=50, most=100)
    assert not found.is_narrow  # what a failure costs was not seen
    assert found.mean_s == pytest.approx(11_000.0 + 33 * 5.0)
    assert found.half_width_s == pytest.approx(0.0, abs=1e-6)
    assert found.failures == 0.0
    assert found.p99_s == pytest.approx(found.mean_s, rel=1e-4)


def test_bursts_cost_more_than_the_same_failures_apart_where_each_is_recovered_from() -> None:
    """And a Weibull law of shape below 1 has longer tails than Poisson with the same MTBF."""
    process = Process(2e4, Exponential(2000.0), (Tier(300.0, 5.0, 40.0),), detection_s=30.0)
    calm = simulate(process, 9, most=4000, block=4000)
    weibull = simulate(replace(process, arrivals=Weibull(2000.0, 0.5)), 9, most=4000, block=4000)
    spread, calm_spread = weibull.p99_s - weibull.p50_s, calm.p99_s - calm.p50_s
    assert spread > calm_spread
    bursts = Bursts(1.0, 1, Constant(200.0))
    doubled = simulate(replace(process, bursts=bursts), 9, most=4000, block=4000)
    assert doubled.failures == pytest.approx(2.0 * calm.failures, rel=0.1)
    assert doubled.mean_s > calm.mean_s


def test_a_job_that_gets_nowhere_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_EVENTS", 200)
    process = Process(1e5, Exponential(10.0), (Tier(1000.0, 5.0, 40.0),))
    with pytest.raises(UserError, match="have not ended after 200 failures"):
        simulate(process, 1, block=10)


def test_no_jobs_are_added_once_so_many_failures_were_met() -> None:
    process = Process(1e4, Exponential(900.0), (Tier(300.0, 5.0, 20.0),), detection_s=30.0)
    every = simulate(process, 5, narrow=1e-9, most=2_000, block=200)
    few = simulate(process, 5, narrow=1e-9, most=2_000, block=200, most_events=7_000)
    assert every.replications == 2_000 > few.replications
    assert not few.is_narrow
    # The block that passes the number is the last.
    before = simulate(process, 5, narrow=1e-9, most=few.replications - 200, block=200)
    assert before.failures * before.replications < 7_000 <= few.failures * few.replications


def test_a_block_that_meets_too_many_failures_is_given_up() -> None:
    process = Process(1e5, Exponential(10.0), (Tier(1000.0, 5.0, 40.0),))
    words = "10 of 10 simulated jobs have not ended before they all met 100 failures and false"
    with pytest.raises(NoEndError, match=words):
        simulate(process, 1, block=10, most_events=100)
    # False alarms count as well: a hundred or so in each job, which meets hardly a failure.
    alarms = Warnings(1.0, Constant(60.0), 1.0, 1.0, false_alarms=Exponential(10.0))
    alarmed = Process(1e3, Exponential(1e5), (Tier(100.0, 1.0, 1.0),), warnings=alarms)
    with pytest.raises(NoEndError, match="before they all met 500 failures and false"):
        simulate(alarmed, 1, block=10, most_events=500)
    assert simulate(alarmed, 1, block=10, most=10, most_events=5_000).replications == 10


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"work_s": 0.0}, "without work"),
        ({"tiers": (Tier(0.0, 1.0, 1.0),)}, "cannot wait"),
        ({"tiers": (Tier(0.0, 0.0, 1.0), Tier(5.0, 0.0, 1.0))}, "no other one"),
        ({"tiers": (Tier(10.0, 0.0, 1.0), Tier(25.0, 0.0, 1.0))}, "whole multiple"),
        ({"tiers": (Tier(10.0, 0.0, 1.0), Tier(5.0, 0.0, 1.0))}, "whole multiple"),
        ({"kinds": (Kind(0.5), Kind(0.4))}, "add up to 1"),
        ({"kinds": (Kind(1.0, nodes=-1),)}, "number of nodes below 0"),
        ({"kinds": (Kind(1.5), Kind(-0.5))}, "a share or a number of nodes below 0"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, object], words: str) -> None:
    fine = Process(1e3, Exponential(100.0), (Tier(10.0, 1.0, 1.0),))
    with pytest.raises(UserError, match=words):
        replace(fine, **changes)  # type: ignore[arg-type]


@pytest.mark.parametrize("changes", [{"most": 1}, {"block": 1}, {"narrow": 0.0}])
def test_a_simulation_of_nothing_is_refused(changes: dict[str, float]) -> None:
    process = Process(1e3, Exponential(100.0), (Tier(10.0, 1.0, 1.0),))
    with pytest.raises(UserError, match="needs two jobs"):
        simulate(process, 1, **changes)  # type: ignore[arg-type]


def test_the_interval_of_the_mean_holds_what_it_says() -> None:
    """95 % of 300 simulations, 3 sigma of that count either way, contain the exact time."""
    process = Process(2e3, Exponential(400.0), (Tier(100.0, 5.0, 20.0),), detection_s=30.0)
    exact_s = float(
        periodic_completion_s(
            duration_s=2e3,
            interval_s=100.0,
            stall_s=5.0,
            mtbf_s=400.0,
            detection_s=30.0,
            recovery_s=20.0,
        )
    )
    found = [simulate(process, seed, most=400, block=400) for seed in range(300)]
    inside = sum(abs(each.mean_s - exact_s) <= each.half_width_s for each in found)
    assert abs(inside - 285) <= 3 * (300 * 0.95 * 0.05) ** 0.5
