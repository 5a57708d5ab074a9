"""Tiers and combinations, from the shipped clusters."""

from dataclasses import replace
from math import inf
from typing import Any

import pytest

from advisor.defaults import resolve
from advisor.recommendation import EvidenceCode
from advisor.scenario import IntervalPolicy, Scenario, ScenarioInput
from advisor.tuning.tiers import Tiers, combinations_of, tiers_of
from db.records import ClusterEvidence


def scenario(evidence: ClusterEvidence, **more: Any) -> Scenario:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)


def tiers(evidence: ClusterEvidence, most_replicas: int = 1, **more: Any) -> Tiers:
    return tiers_of(evidence, scenario(evidence, **more), most_replicas)


def test_tiers_are_the_candidates(matilda: ClusterEvidence) -> None:
    found = tiers(matilda)
    assert {tier.mechanism for tier in found.tiers} == {"ft1", "ft2", "ft3", "ft5", "ft6"}
    assert found.emergencies == ()
    assert "ft4" in {each.mechanism for each in found.excluded}


def test_a_fixed_interval_does_not_bind(matilda: ClusterEvidence) -> None:
    assert tiers(matilda, interval=100) == tiers(matilda, interval=IntervalPolicy.AUTO)


def test_a_warning_for_a_share_of_the_failures_is_enough(matilda: ClusterEvidence) -> None:
    found = tiers(matilda, warning_lead_s=5.0, warning_coverage=0.4)
    (emergency,) = found.emergencies
    assert (emergency.mechanism, emergency.coverage) == ("ft4", 0.4)
    whole = tiers(matilda, warning_lead_s=5.0).emergencies[0]
    assert replace(emergency, coverage=1.0) == whole
    assert tiers(matilda, warning_lead_s=0.001, warning_coverage=0.4).emergencies == ()


def test_more_peers_cost_in_proportion(matilda: ClusterEvidence) -> None:
    found = {tier.replicas: tier for tier in tiers(matilda, 4).tiers if tier.replicas > 1}
    assert sorted(found) == [2, 3, 4]
    assert found[4].model.stall_s == pytest.approx(2.0 * found[2].model.stall_s)
    assert found[4].host_bytes_per_rank == 2 * found[2].host_bytes_per_rank
    assert found[4].survives == 4.0
    assert found[4].evidence is EvidenceCode.EXTRAPOLATED


def test_combinations_survive_more_with_each_tier(matilda: ClusterEvidence) -> None:
    combinations = list(
        combinations_of(tiers(matilda, warning_lead_s=5.0, warning_coverage=0.4), 3)
    )
    assert len({(s.names, bool(s.emergency)) for s in combinations}) == len(combinations)
    names = {combination.names for combination in combinations}
    assert {("ft2",), ("ft2", "ft1"), ("ft4", "ft2", "ft1"), ("ft4", "ft2", "ft6", "ft1")} <= names
    assert ("ft1", "ft3") not in names
    assert ("ft2", "ft5") not in names
    for combination in combinations:
        survived = [tier.survives for tier in combination.tiers]
        assert survived == sorted(set(survived))
    two = next(s for s in combinations if s.names == ("ft2", "ft1"))
    assert [two.tier_for(n) for n in (1.0, 2.0, inf)] == [0, 1, 1]
    assert next(s for s in combinations if s.names == ("ft2",)).tier_for(2.0) is None


def test_who_goes_on_by_itself_is_told(matilda: ClusterEvidence) -> None:
    assert tiers(matilda, architecture="a6").goes_on == ("ft9",)
