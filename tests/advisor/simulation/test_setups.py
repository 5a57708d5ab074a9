"""Candidates and tiers as processes: warnings, kinds of failures, and what states survive."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advisor.arrivals import Law
from advisor.errors import UserError
from advisor.recommendation import Recommendation
from advisor.scenario import FewerRanks, ScenarioInput
from advisor.simulation import engine
from advisor.simulation.composed import AskedTier, composed, parse_tiers
from advisor.simulation.engine import simulate_block
from advisor.simulation.fallbacks import fallbacks_of
from advisor.simulation.laws import LognormalLaw
from advisor.simulation.limits import BLOCK
from advisor.simulation.parts import part_of, survives
from advisor.simulation.process import SURVIVES_ALL, Kind, Process, Tier, Warnings
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.setups import (
    Beyond,
    Failures,
    Setup,
    Setups,
    setups_of,
    simulate_setups,
)
from advisor.simulation.times import Constant, Exponential, Lognormal
from db.records import Arrivals, ClusterEvidence, Quantity
from tests.advisor.conftest import recommend
from tests.advisor.simulation.event_loop import Job
from tests.advisor.simulation.test_against_event_loop import Recorded, same
from tests.advisor.test_evidence_edges import changed, measured

_POISSON = Failures(Law(Arrivals.POISSON))
_NOTHING_MORE = Beyond()
_ONE_NODE = Beyond((Kind(1.0, 1, 1),))
_TWO_AT_ONCE = Beyond((Kind(0.7, 0, 0), Kind(0.27, 1, 1), Kind(0.03, 2, 2)))


def answer(evidence: ClusterEvidence, **more: Any) -> Recommendation:
    told: dict[str, Any] = {"mtbf_s": 7200.0, "detection_s": 30.0, "duration_s": 2 * 86_400.0}
    return recommend(evidence, ScenarioInput("a2", 204_700_000, **(told | more)))


def setups(
    evidence: ClusterEvidence, beyond: Beyond = _NOTHING_MORE, tiers: str = "", **more: Any
) -> Setups:
    stacks = parse_tiers(tiers) if tiers else ()
    return setups_of(evidence, answer(evidence, **more), _POISSON, beyond, stacks)


def named(found: Setups, name: str) -> Setup:
    (setup,) = [each for each in found.found if each.name == name]
    return setup


def simulated(found: Setups) -> dict[str, Simulated]:
    tried = simulate_setups(found, 7, narrow=1e-3, most=2_048)
    return {setup.name: each for setup, each in tried.found}


def test_what_states_survive_follows_from_their_paths(matilda: ClusterEvidence) -> None:
    found = setups(matilda, warning_lead_s=2.0)
    assert {each.name: each.parts[0].survives for each in found.found} == {
        "ft1": SURVIVES_ALL,
        "ft2": 1,
        "ft3": SURVIVES_ALL,
        "ft4": 1,
        "ft5": 1,
        "ft6": 2,
    }
    # Without a state of its own anywhere, only what the survivors have: one was seen to be lost.
    assert survives(matilda.mechanisms["ft8"], 0) == 1


def test_replicas_are_those_that_were_measured(matilda: ClusterEvidence) -> None:
    """By what the catalogue and the points say, whatever the mechanism is called."""
    more = replace(
        matilda,
        points=tuple(
            replace(each, replicas=3) if each.mechanism == "ft2" else each
            for each in matilda.points
        ),
    )
    assert named(setups(more), "ft2").parts[0].survives == 3
    on_storage = replace(matilda.mechanisms["ft1"], mechanism_id="ft2")
    renamed = replace(matilda, mechanisms={**matilda.mechanisms, "ft2": on_storage})
    assert named(setups(renamed), "ft2").parts[0].survives == SURVIVES_ALL


@pytest.mark.parametrize("beyond", [_NOTHING_MORE, _ONE_NODE])
def test_one_node_at_a_time_is_what_equation_5_counts(
    matilda: ClusterEvidence, beyond: Beyond
) -> None:
    """A tier that survives every failure, at the answer's prices: the same simulated jobs."""
    found = answer(matilda, init_s=1.0)
    together = simulate_setups(
        setups_of(matilda, found, _POISSON, beyond), 7, narrow=1e-3, most=2_048
    )
    assert [setup.candidate for setup, _ in together.found] == [*found.candidates]
    assert together.left_out == ()
    for (_, each), candidate in zip(together.found, found.candidates, strict=True):
        assert candidate.model is not None
        tier = Tier(
            candidate.interval_s or 0.0, candidate.model.stall_s, candidate.restore_s or 0.0
        )
        process = Process(
            work_s=2 * 86_400.0,
            arrivals=Exponential(7200.0),
            tiers=(tier,),
            detection_s=30.0,
            regroup_s=found.scenario.regroup_s + 1.0,
        )
        assert simulate(process, 7, narrow=1e-3, most=2_048, block=BLOCK) == each


def test_one_tier_is_the_candidate(matilda: ClusterEvidence) -> None:
    found = answer(matilda, warning_lead_s=2.0)
    every = setups_of(matilda, found, _POISSON, _TWO_AT_ONCE)
    for setup in every.found:
        (part,) = setup.parts
        again = composed([AskedTier(setup.name)], {setup.name: part}, 10**9)
        assert again == setup.parts


def test_all_warned_in_time_nothing_is_lost(matilda: ClusterEvidence) -> None:
    """Eq. (5) has the emergency save in its restore; here it is made before the failure."""
    found = setups(matilda, warning_lead_s=2.0, mechanisms=("ft4",))
    setup = named(found, "ft4")
    assert setup.process.tiers == ()
    assert setup.process.warnings == Warnings(
        coverage=1.0,
        lead=Constant(2.0),
        save_s=pytest.approx(0.8847),  # type: ignore[arg-type]
        restore_s=pytest.approx(0.01706),  # type: ignore[arg-type]
        needs_s=pytest.approx(0.9745),  # type: ignore[arg-type]
        survives=1,
    )
    each = simulated(found)["ft4"]
    assert each.spent.lost_s == pytest.approx(0.0, abs=1e-6)
    assert each.from_beginning == 0.0
    assert 0.8 * each.failures < each.spent.emergency_s < 0.8848 * each.failures
    assert setup.exact_completion_s is not None
    sigma_s = each.half_width_s / 1.96
    assert abs(each.mean_s - setup.exact_completion_s) <= 3.5 * sigma_s + 1e-4 * each.mean_s


def test_a_share_of_the_failures_is_announced(matilda: ClusterEvidence) -> None:
    found = setups(matilda, warning_lead_s=2.0, warning_coverage=0.9, mechanisms=("ft1", "ft4"))
    setup = named(found, "ft4")
    assert (setup.candidate, setup.expected_completion_s, setup.exact_completion_s) == (None,) * 3
    assert named(found, "ft1").candidate is not None
    assert fallbacks_of(setup.process).saved == pytest.approx(0.9)
    assert fallbacks_of(setup.process).missed == pytest.approx(0.1)
    times = simulated(found)
    # A tenth of the failures undoes what was done since the last that was announced.
    assert times["ft4"].spent.lost_s > 0.05 * times["ft4"].failures * 7200.0
    assert times["ft4"].mean_s > times["ft1"].mean_s
    assert 0.0 < times["ft4"].from_beginning < 1.0


@pytest.mark.parametrize("more", [{}, {"warning_lead_s": 2.0, "warning_coverage": 0.0}])
def test_without_warnings_nothing_saves_on_one(
    matilda: ClusterEvidence, more: dict[str, Any]
) -> None:
    names = {each.name for each in setups(matilda, **more).found}
    assert names == {"ft1", "ft2", "ft3", "ft5", "ft6"}


def test_limits_hold_for_what_saves_on_a_warning(matilda: ClusterEvidence) -> None:
    warned: dict[str, Any] = {"warning_lead_s": 2.0, "warning_coverage": 0.9}
    assert "ft4" in {each.name for each in setups(matilda, **warned).found}
    limits: tuple[dict[str, Any], ...] = (
        {"max_restore_s": 0.5},
        {"host_memory_bytes": 10**8},
        {"mechanisms": ("ft1",)},
    )
    for limit in limits:
        found = setups(matilda, **warned, **limit)
        assert "ft4" not in {each.name for each in found.found}


def test_leads_that_scatter_are_too_short_at_times(matilda: ClusterEvidence) -> None:
    warned: dict[str, Any] = {"warning_lead_s": 1.2, "mechanisms": ("ft4",)}
    for spread, share in ((0.0, 1.0), (0.5, 0.581), (1.0, 0.434)):
        process = named(setups(matilda, Beyond(lead_spread=spread), **warned), "ft4").process
        assert process.warnings is not None
        assert process.warnings.lead.mean_s == 1.2
        assert process.warnings.in_time_fraction == pytest.approx(share, abs=0.002)
    assert process.warnings is not None
    assert isinstance(process.warnings.lead, Lognormal)
    drawn = process.warnings.lead.draw(np.random.default_rng(1), 200_000)
    assert drawn.std() == pytest.approx(1.2, rel=0.05)


def test_a_lead_that_a_slow_save_outlasts_is_too_short(matilda: ClusterEvidence) -> None:
    """Longer than the mean of the save, shorter than its mean and dispersion: as in the answer."""
    found = simulate_setups(
        setups(matilda, warning_lead_s=0.95, mechanisms=("ft4",)), 7, narrow=1e-3, most=2_048
    )
    assert found.found == ()
    (reason,) = [each.reason for each in found.left_out]
    assert "100 % of the failures are not announced in time" in reason


def test_false_alarms_cost_what_saves_on_a_warning(matilda: ClusterEvidence) -> None:
    warned: dict[str, Any] = {"warning_lead_s": 2.0, "mechanisms": ("ft1", "ft4")}
    calm = simulated(setups(matilda, **warned))
    alarmed = simulated(setups(matilda, Beyond(false_alarms_s=60.0), **warned))
    assert alarmed["ft1"] == calm["ft1"]
    # A save of 0.885 s for each minute of training.
    longer_s = alarmed["ft4"].spent.emergency_s - calm["ft4"].spent.emergency_s
    assert longer_s == pytest.approx(2 * 86_400.0 / 60.0 * 0.8847, rel=0.02)


def test_what_two_nodes_at_once_take_with_them(matilda: ClusterEvidence) -> None:
    times = simulated(setups(matilda, _TWO_AT_ONCE))
    calm = simulated(setups(matilda))
    # About 24 failures, 3 % of them of two nodes.
    assert times["ft2"].from_beginning > 0.4
    assert times["ft2"].mean_s > 1.1 * calm["ft2"].mean_s
    for name in ("ft1", "ft3", "ft6"):
        assert times[name].from_beginning < 0.1
        assert times[name].mean_s == pytest.approx(calm[name].mean_s, rel=0.01)


def test_a_tier_on_storage_holds_what_peers_lose(matilda: ClusterEvidence) -> None:
    found = setups(matilda, _TWO_AT_ONCE, "ft2+ft1", mechanisms=("ft1", "ft2"))
    assert [each.name for each in found.found] == ["ft1", "ft2", "ft2+ft1"]
    both = named(found, "ft2+ft1")
    peer, disk = (named(found, name).parts[0] for name in ("ft2", "ft1"))
    # Each at its own interval as far as that is a whole multiple of the one before; prices stay.
    assert both.parts == (peer, replace(disk, interval_steps=peer.interval_steps))
    step_s = answer(matilda).scenario.step_time_s
    interval_s = (peer.interval_steps or 0) * step_s
    assert both.process.tiers == (
        Tier(interval_s, peer.stall_s, peer.restore_s, 1),
        Tier(interval_s, disk.stall_s, disk.restore_s, SURVIVES_ALL),
    )
    times = simulated(found)
    assert times["ft2+ft1"].mean_s < 0.95 * times["ft2"].mean_s
    assert times["ft2+ft1"].from_beginning < 0.1
    assert times["ft2+ft1"].spent.saves_s == pytest.approx(
        times["ft2"].spent.saves_s * (peer.stall_s + disk.stall_s) / peer.stall_s, rel=1e-3
    )


def test_a_tier_takes_what_warnings_miss(matilda: ClusterEvidence) -> None:
    found = setups(
        matilda, Beyond(), "ft4+ft1", warning_lead_s=2.0, warning_coverage=0.5,
        mechanisms=("ft1", "ft4"),
    )  # fmt: skip
    both = named(found, "ft4+ft1")
    assert both.process.warnings == named(found, "ft4").process.warnings
    assert both.process.tiers == named(found, "ft1").process.tiers
    assert fallbacks_of(both.process).tiers == pytest.approx((0.5,))
    times = simulated(found)
    assert times["ft4+ft1"].from_beginning < 0.1
    assert times["ft4+ft1"].spent.lost_s < 0.7 * times["ft1"].spent.lost_s


def test_memory_of_tiers_adds_up(matilda: ClusterEvidence) -> None:
    """Each fits, both do not: 4 ranks a node with a copy each for FT3's buffer and FT2's peer."""
    one = 4 * 204_700_000
    enough = setups(matilda, tiers="ft2+ft3", host_memory_bytes=2 * one)
    assert "ft2+ft3" in {each.name for each in enough.found}
    tight = setups(matilda, tiers="ft2+ft3,ft2+ft1", host_memory_bytes=2 * one - 1)
    assert [each.name for each in tight.found] == ["ft1", "ft3", "ft2", "ft5", "ft2+ft1"]
    (reason,) = [each.reason for each in tight.left_out]
    assert "of host memory a node (4 ranks), and there are" in reason


@pytest.mark.parametrize(
    ("tiers", "more", "words"),
    [
        ("ft2+ft99", {}, "there is no mechanism 'ft99'"),
        ("ft2+ft1", {"mechanisms": ("ft1",)}, "FT2 is no candidate, so it is no tier: not among"),
        ("ft4+ft1", {}, "FT4 is no candidate, so it is no tier: without a warning"),
        ("ft7+ft1", {}, "FT7 is no candidate, so it is no tier: its recovery was not observed"),
    ],
)
def test_tiers_are_candidates(
    matilda: ClusterEvidence, tiers: str, more: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError, match=words):
        setups(matilda, tiers=tiers, **more)


def test_what_is_outside_equation_5(matilda: ClusterEvidence) -> None:
    found = recommend(matilda, ScenarioInput("a6", 204_700_000, 7200.0))
    every = setups_of(matilda, found, _POISSON, Beyond())
    assert [(each.mechanism, each.reason) for each in every.left_out] == [
        ("ft9", "it is outside Eq. (5)")
    ]
    stacks = parse_tiers("ft9+ft1")
    with pytest.raises(UserError, match="FT9 is no candidate, so it is no tier: it is outside Eq"):
        setups_of(matilda, found, _POISSON, Beyond(), stacks)


def test_survivors_states(matilda: ClusterEvidence) -> None:
    """A mechanism that keeps no checkpoint is a tier of every moment, and survives one loss."""
    observed = changed(
        matilda,
        "ft7",
        {
            Quantity.RESUMED: measured(1.0),
            Quantity.RECOVERY: measured(10.0),
            Quantity.LOST_STEPS: measured(2.0),
            Quantity.AGGREGATE_SLOWDOWN: measured(0.0),
        },
    )
    accepted: dict[str, Any] = {"fewer_ranks": FewerRanks.ACCEPT, "duration_s": 14_400.0}
    found = setups(observed, _TWO_AT_ONCE, mechanisms=("ft7",), **accepted)
    (setup,) = found.found
    (tier,) = setup.process.tiers
    assert (tier.interval_s, tier.stall_s, tier.survives) == (0.0, 0.0, 1)
    assert setup.candidate is not None
    assert setup.candidate.restore_s is not None
    # Doing its two lost steps again is part of each recovery.
    assert tier.restore_s == pytest.approx(setup.candidate.restore_s + 2 * 0.1123, abs=1e-3)
    assert fallbacks_of(setup.process).unsurvived == pytest.approx(0.03)
    with pytest.raises(UserError, match="FT7 saves neither at intervals nor on a warning"):
        setups(observed, tiers="ft7+ft1", mechanisms=("ft1", "ft7"), **accepted)


def test_jobs_that_do_not_get_on_leave_the_others(
    matilda: ClusterEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MOST_EVENTS", 100)
    warned: dict[str, Any] = {"warning_lead_s": 2.0, "mechanisms": ("ft1", "ft4")}
    many = setups(matilda, Beyond(false_alarms_s=600.0), **warned)
    found = simulate_setups(many, 7, narrow=1e-3, most=64)
    assert [setup.name for setup, _ in found.found] == ["ft1"]
    (reason,) = [each.reason for each in found.left_out]
    assert "have not ended after 100 failures" in reason


def test_jobs_that_meet_too_many_failures_together_leave_the_others(
    matilda: ClusterEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever was expected of them."""
    monkeypatch.setattr("advisor.simulation.setups.MOST_IN_ALL", 3_000)
    warned: dict[str, Any] = {"warning_lead_s": 2.0, "mechanisms": ("ft1", "ft4")}
    many = setups(matilda, Beyond(false_alarms_s=600.0), **warned)
    found = simulate_setups(many, 7, narrow=1e-3, most=64)
    # About 24 failures in each job, and 288 false alarms where they matter.
    assert [setup.name for setup, _ in found.found] == ["ft1"]
    (reason,) = [each.reason for each in found.left_out]
    assert reason.startswith("64 of 64 simulated jobs have not ended before they all met 3,000 f")


def test_a_stack_of_three_job_by_job(matilda: ClusterEvidence) -> None:
    """Warnings, peers and storage under all that can happen, against the plain loop."""
    found = answer(
        matilda, mtbf_s=900.0, duration_s=10_800.0, warning_lead_s=1.2, warning_coverage=0.6
    )
    failures = replace(_POISSON, law=LognormalLaw(1.1))
    beyond = replace(_TWO_AT_ONCE, lead_spread=0.5, false_alarms_s=600.0)
    stacks = parse_tiers("ft4+ft2:100+ft1:400")
    setup = named(setups_of(matilda, found, failures, beyond, stacks), "ft4+ft2+ft1")
    process: Process = setup.process
    assert isinstance(process.warnings and process.warnings.false_alarms, Exponential)
    source = Recorded(process, 5, 20)
    block = simulate_block(process, source, 20)
    jobs = [Job(process) for _ in range(20)]
    same(block.total_s, [job.run(e) for job, e in zip(jobs, source.events, strict=True)])
    same(block.from_beginning, [job.from_beginning for job in jobs])
    same(block.emergency_s, [job.spent_s["emergency"] for job in jobs])
    assert block.lost_s.mean() > 0.0
    assert block.emergency_s.max() > 0.0


def test_a_part_is_priced_by_the_prediction(matilda: ClusterEvidence) -> None:
    found = answer(matilda, warning_lead_s=2.0)
    for candidate in found.candidates:
        part = part_of(matilda, found.scenario, candidate)
        assert part is not None
        assert part.host_bytes_per_rank == candidate.host_memory_bytes_per_rank
        assert part.overhead_fraction(found.scenario.step_time_s) == pytest.approx(
            candidate.overhead
        )
        if part.emergency is None:
            assert part.restore_s == candidate.restore_s
        else:
            together_s = part.emergency.save_s + part.emergency.restore_s
            assert together_s == pytest.approx(candidate.restore_s)
