"""The joint search against recommend, brute force and the simulation."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from advisor.candidates import consider
from advisor.errors import UserError
from advisor.exact_time import FLAT_WASTE
from advisor.recommendation import EvidenceCode
from advisor.scenario import IntervalPolicy
from advisor.simulation.kinds import parse_kinds
from advisor.tuning.circumstances import (
    BEYOND_TIMEOUT_S,
    Circumstances,
    Objective,
)
from advisor.tuning.hiccups import ExponentialHiccups, ObservedHiccups
from advisor.tuning.load import load_of, shares_of
from advisor.tuning.price import whole_s
from advisor.tuning.search import Choice, Tuned, tune
from advisor.tuning.simulated import process_of, simulated
from advisor.tuning.spares import waiting_shares
from db.records import ClusterEvidence
from tests.advisor.tuning.test_tiers import scenario

_SEVERAL = parse_kinds("1:90%,2:8%,all:2%", all_too=True)
_ONE = parse_kinds("1:100%")
_HICCUPS = ExponentialHiccups(1800.0, 5.0)


def tuned(evidence: ClusterEvidence, told: Circumstances | None = None, **more: Any) -> Tuned:
    return tune(evidence, scenario(evidence, **more), told or Circumstances(16))


def by_names(found: Tuned) -> dict[tuple[str, ...], Choice]:
    return {choice.names: choice for choice in found.choices}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"max_overhead": 0.01},
        {"architecture": "a5", "state_bytes": 2_616_900_000, "mtbf_s": 3600.0},
        {"warning_lead_s": 5.0},
        {"init_s": 3.0, "regroup_s": 8.0, "duration_s": 3600.0, "mtbf_s": 600.0},
    ],
)
def test_a_single_mechanism_is_as_recommended(matilda: ClusterEvidence, more: Any) -> None:
    found = by_names(tuned(matilda, **more))
    asked = replace(scenario(matilda, **more), interval=IntervalPolicy.AUTO)
    candidates = [c for c in consider(matilda, asked).candidates if c.model is not None]
    assert candidates
    for candidate in candidates:
        choice = found[(candidate.mechanism,)]
        assert choice.expected_completion_s == pytest.approx(candidate.expected_completion_s)
        assert choice.overhead == pytest.approx(candidate.overhead)
        if candidate.interval_steps is not None:
            assert choice.settings[0].interval_steps == candidate.interval_steps


def test_nothing_stated_makes_the_answer_of_recommend(matilda: ClusterEvidence) -> None:
    found = tuned(matilda)
    assert found.best is not None
    assert found.best.names == (consider(matilda, scenario(matilda)).candidates[0].mechanism,)
    assert (found.best.timeout_s, found.best.spares) == (None, None)


def test_failures_of_several_sizes_call_for_several_tiers(matilda: ClusterEvidence) -> None:
    found = tuned(matilda, Circumstances(16, _SEVERAL), mtbf_s=1800.0, duration_s=172800.0)
    assert found.best is not None
    assert found.best.restarts_per_day == 0.0
    only_peers = by_names(found)[("ft2",)]
    assert only_peers.restarts_per_day == pytest.approx(0.1 * 48.0)
    assert only_peers.evidence is EvidenceCode.EXTRAPOLATED
    assert only_peers.expected_completion_s > found.best.expected_completion_s
    for choice in found.choices:
        shares = shares_of(found.circumstances, choice.combination)
        assert shares.saved + shares.missed + sum(shares.tiers) + shares.unsurvived == (
            pytest.approx(1.0)
        )


def test_more_tiers_and_settings_never_cost_time(matilda: ClusterEvidence) -> None:
    times = [
        min(
            choice.expected_completion_s
            for choice in tuned(
                matilda, Circumstances(16, _SEVERAL, most_tiers=most), mtbf_s=1800.0
            ).choices
        )
        for most in (1, 2, 3)
    ]
    assert times == sorted(times, reverse=True)


def test_the_timeout_is_the_best_of_all(matilda: ClusterEvidence) -> None:
    """Against a plain loop over timeouts and intervals."""
    asked = scenario(matilda, mtbf_s=3600.0, mechanisms=("ft1",))
    found = tune(matilda, asked, Circumstances(16, hiccups=_HICCUPS))
    best = found.best
    assert best is not None
    assert best.timeout_s is not None
    part = best.combination.tiers[0].part

    def time_s(timeout_s: float, steps: float) -> float:
        alarms = math.exp(-timeout_s / 5.0) / 1800.0
        failures = 1.0 / asked.mtbf_s
        length_s = steps * asked.step_time_s
        recovery_s = part.restore_s + asked.regroup_s + length_s / 2.0
        per_s = failures * (timeout_s + BEYOND_TIMEOUT_S + recovery_s) + alarms * recovery_s
        return asked.duration_s * (1.0 + part.stall_s / length_s) * (1.0 + per_s)

    tried = min(
        time_s(t, float(n))
        for t in np.linspace(1.0, 120.0, 600)
        for n in np.unique(np.geomspace(part.least_steps, 20_000, 150).astype(int))
    )
    assert best.expected_completion_s <= tried * (1.0 + FLAT_WASTE + 1e-4)
    least_s = min(each.expected_completion_s for each in best.timeouts)
    assert least_s <= tried * (1.0 + 1e-4)
    steps = best.settings[0].interval_steps
    assert steps is not None
    assert best.expected_completion_s == pytest.approx(time_s(best.timeout_s, steps), rel=1e-9)
    low, high = best.flat_timeouts_s or (0.0, 0.0)
    assert low < best.timeout_s == high


def test_fewer_hiccups_allow_a_shorter_timeout(matilda: ClusterEvidence) -> None:
    def timeout_s(hiccups: Any) -> float:
        best = tuned(matilda, Circumstances(16, hiccups=hiccups), mechanisms=("ft1",)).best
        assert best is not None
        assert best.timeout_s is not None
        return best.timeout_s

    rising = [timeout_s(ExponentialHiccups(every, 5.0)) for every in (60.0, 3600.0, 1e6)]
    assert rising == sorted(rising, reverse=True)
    rare = ExponentialHiccups(1e12, 1e-3)
    free = tuned(matilda, Circumstances(16, hiccups=rare), mechanisms=("ft1",)).best
    assert free is not None
    shortest = free.timeouts[0]
    assert shortest.expected_completion_s == min(e.expected_completion_s for e in free.timeouts)
    stall_s = free.combination.tiers[0].part.stall_s
    assert shortest.timeout_s >= 2.0 * scenario(matilda).step_time_s + stall_s
    seen = timeout_s(ObservedHiccups((1.0, 4.0, 9.0) * 20, 86400.0))
    assert seen >= 9.0


def test_loud_failures_are_found_no_later_than_silent_ones(matilda: ClusterEvidence) -> None:
    def best_s(silent: float, detection_s: float) -> float:
        told = Circumstances(16, hiccups=_HICCUPS, silent=silent)
        asked = {"mechanisms": ("ft1",), "detection_s": detection_s}
        best = tuned(matilda, told, **asked).best
        assert best is not None
        return best.expected_completion_s

    assert best_s(0.5, 600.0) == best_s(1.0, 600.0)
    assert best_s(0.0, 0.5) < best_s(0.5, 0.5) < best_s(1.0, 0.5)
    without = tuned(matilda, mechanisms=("ft1",), detection_s=0.5).best
    assert without is not None
    assert best_s(0.0, 0.5) == pytest.approx(without.expected_completion_s, rel=FLAT_WASTE)


def test_a_limit_on_the_pause_bounds_the_timeout(matilda: ClusterEvidence) -> None:
    told = Circumstances(16, hiccups=ExponentialHiccups(60.0, 20.0))
    free = tuned(matilda, told, mechanisms=("ft1",)).best
    held = tuned(matilda, told, mechanisms=("ft1",), max_pause_s=20.0).best
    assert free is not None
    assert held is not None
    assert free.timeout_s is not None
    assert held.timeout_s is not None
    restore_s = held.combination.tiers[0].part.restore_s
    pause_s = held.timeout_s + BEYOND_TIMEOUT_S + restore_s + 5.0
    assert pause_s <= 20.0 < free.timeout_s
    none = tuned(matilda, told, mechanisms=("ft1",), max_pause_s=5.1)
    assert none.choices == ()
    assert "no timeout keeps the limit on a pause" in none.left_out[0].reason


def test_spares_are_as_few_as_do(matilda: ClusterEvidence) -> None:
    told = Circumstances(16, _ONE, repair_s=4 * 3600.0, most_spares=12)
    best = tuned(matilda, told, mtbf_s=7200.0, mechanisms=("ft1",)).best
    assert best is not None
    assert best.spares is not None
    assert best.evidence is EvidenceCode.EXTRAPOLATED
    least_s = min(each.expected_completion_s for each in best.by_spares)
    enough = [
        e.spares for e in best.by_spares if e.expected_completion_s <= least_s * (1.0 + FLAT_WASTE)
    ]
    assert best.spares == min(enough)
    beside = {each.spares: each.expected_completion_s for each in best.by_spares}
    assert best.expected_completion_s == beside[best.spares]
    shares = waiting_shares(told, 7200.0)
    assert best.waiting_fraction == shares[best.spares]
    alone = tuned(matilda, mtbf_s=7200.0, mechanisms=("ft1",)).best
    assert alone is not None
    assert best.expected_completion_s == pytest.approx(
        alone.expected_completion_s / (1.0 - shares[best.spares])
    )


def test_node_hours_call_for_fewer_spares(matilda: ClusterEvidence) -> None:
    told = Circumstances(4, _ONE, repair_s=4 * 3600.0, most_spares=12)
    soonest = tuned(matilda, told, mtbf_s=7200.0).best
    cheapest = tuned(matilda, replace(told, objective=Objective.NODE_HOURS), mtbf_s=7200.0).best
    assert soonest is not None
    assert cheapest is not None
    assert cheapest.spares is not None
    assert soonest.spares is not None
    assert cheapest.spares < soonest.spares
    assert cheapest.node_hours is not None
    assert soonest.node_hours is not None
    assert cheapest.node_hours < soonest.node_hours
    assert cheapest.expected_completion_s > soonest.expected_completion_s


def test_memory_adds_up(matilda: ClusterEvidence) -> None:
    size = 204_700_000
    told = Circumstances(16, _SEVERAL, most_tiers=3)
    ranks = matilda.cluster.ranks_per_node
    found = tuned(matilda, told, host_memory_bytes=2 * size * ranks)
    assert ("ft6",) in by_names(found)
    assert ("ft2", "ft6", "ft1") not in by_names(found)
    reasons = {each.mechanism: each.reason for each in found.left_out}
    assert "of host memory a node" in reasons["FT2 + FT6 (k = 2) + FT1"]
    for choice in found.choices:
        assert choice.host_bytes_per_rank <= 2 * size


def test_no_setting_beside_the_best_is_better(matilda: ClusterEvidence) -> None:
    """Whatever single number of the answer is changed."""
    told = Circumstances(8, _SEVERAL, hiccups=_HICCUPS, repair_s=3600.0, most_spares=3)
    asked = scenario(matilda, mtbf_s=1800.0)
    best = by_names(tune(matilda, asked, told))[("ft2", "ft1")]
    assert best.timeout_s is not None
    assert best.spares is not None
    share = waiting_shares(told, 1800.0)[best.spares]
    finer, coarser = (each.interval_steps or 0 for each in best.settings)

    def time_s(timeout_s: float, n: int, m: int) -> float:
        load = load_of(asked, told, best.combination, np.array([timeout_s]))
        training, lost = load.base, float(load.taken[0])
        for saves, steps in zip(load.saves, (n, m), strict=True):
            training += saves.stall_s / (steps * asked.step_time_s)
            lost += float(saves.rate_per_s[0]) * steps * asked.step_time_s / 2.0
        whole = np.array([asked.duration_s * training * lost])
        return float(whole_s(whole, load, float(share))[0])

    here_s = time_s(best.timeout_s, finer, coarser)
    assert here_s == pytest.approx(best.expected_completion_s, rel=1e-12)
    times = coarser // finer
    for timeout_s in np.geomspace(best.timeout_s / 10.0, best.timeout_s * 10.0, 50):
        assert time_s(timeout_s, finer, coarser) > here_s * (1.0 - FLAT_WASTE - 1e-6)
    for n in (finer - 1, finer + 1):
        assert time_s(best.timeout_s, n, n * times) >= here_s
    for m in (times - 1, times + 1):
        if m:
            shift = max(round(finer * math.sqrt(times / m)), 1)
            assert time_s(best.timeout_s, shift, shift * m) >= here_s * (1.0 - 1e-6)


@pytest.mark.parametrize(
    ("told", "more"),
    [
        (Circumstances(16), {}),
        (Circumstances(16, _SEVERAL), {}),
        (Circumstances(16, _SEVERAL, hiccups=_HICCUPS), {}),
        (Circumstances(64, _ONE, repair_s=20_000.0, most_spares=2), {}),
        (
            Circumstances(16, _SEVERAL, hiccups=_HICCUPS),
            {"warning_lead_s": 5.0, "warning_coverage": 0.5},
        ),
    ],
)
def test_the_simulation_agrees(
    matilda: ClusterEvidence, told: Circumstances, more: dict[str, Any]
) -> None:
    """Within 1 % and three standard errors, where failures are rare beside recoveries."""
    asked = scenario(matilda, mtbf_s=20_000.0, duration_s=40 * 86400.0, **more)
    for choice in tune(matilda, asked, told).choices[:6]:
        if choice.restarts_per_day > 0.0:
            continue
        found = simulated(asked, told, choice, 3, narrow=2e-3, most=2_048)
        assert found is not None
        off_s = abs(found.mean_s - choice.expected_completion_s)
        assert off_s <= 0.01 * found.mean_s + 1.5 * found.half_width_s, choice


def test_false_alarms_take_no_node(matilda: ClusterEvidence) -> None:
    told = Circumstances(8, _ONE, hiccups=_HICCUPS, repair_s=3600.0, most_spares=2)
    asked = scenario(matilda)
    best = tune(matilda, asked, told).best
    assert best is not None
    process = process_of(asked, told, best)
    assert [kind.nodes for kind in process.kinds] == [1, 0]
    real = process.kinds[0].share / process.arrivals.mean_s
    assert real == pytest.approx(1.0 / asked.mtbf_s)


def test_missed_warnings_go_back_to_the_last_emergency_save(matilda: ClusterEvidence) -> None:
    more: dict[str, Any] = {"warning_lead_s": 5.0, "warning_coverage": 0.9, "duration_s": 604800.0}
    asked = scenario(matilda, mechanisms=("ft4",), **more)
    (choice,) = tune(matilda, asked, Circumstances(16)).choices
    assert choice.restarts_per_day == 0.0
    found = simulated(asked, Circumstances(16), choice, 3, narrow=5e-3, most=2_048)
    assert found is not None
    assert choice.expected_completion_s == pytest.approx(found.mean_s, rel=0.15)


def test_jobs_that_do_not_end_are_not_simulated(matilda: ClusterEvidence) -> None:
    more: dict[str, Any] = {"mtbf_s": 10.0, "regroup_s": 70.0, "duration_s": 600.0}
    asked = scenario(matilda, mechanisms=("ft1",), **more)
    for choice in tune(matilda, asked, Circumstances(16)).choices:
        assert simulated(asked, Circumstances(16), choice, 0, narrow=0.01, most=512) is None


def test_a_measured_mechanism_alone_stays_measured(matilda: ClusterEvidence) -> None:
    plain = tuned(matilda, mechanisms=("ft5",)).best
    modelled = tuned(matilda, Circumstances(16, hiccups=_HICCUPS), mechanisms=("ft5",)).best
    assert plain is not None
    assert modelled is not None
    candidate = consider(matilda, scenario(matilda, mechanisms=("ft5",))).candidates[0]
    assert plain.evidence is candidate.evidence
    assert modelled.evidence is EvidenceCode.EXTRAPOLATED


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(UserError, match="silent"):
        Circumstances(8, silent=1.5)
    with pytest.raises(UserError, match="node-hours"):
        Circumstances(8, objective=Objective.NODE_HOURS)
    with pytest.raises(UserError, match="no failure takes a node"):
        Circumstances(8, repair_s=60.0)
