"""Tiers and combinations, from the shipped clusters."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.defaults import resolve
from advisor.recommendation import EvidenceCode
from advisor.scenario import IntervalPolicy, Scenario, ScenarioInput
from advisor.simulation.kinds import parse_kinds
from advisor.simulation.process import SURVIVES_ALL
from advisor.tuning.circumstances import Circumstances
from advisor.tuning.tiers import Tiers, combinations_of, tiers_of
from db.records import ClusterEvidence

SEVERAL = parse_kinds("0:50%,1:40%,2:5%,4:3%,all:2%", all_too=True)


def scenario(evidence: ClusterEvidence, **more: Any) -> Scenario:
    stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 14400.0}
    return resolve(ScenarioInput(**(stated | {"detection_s": 30.0} | more)), evidence)


def tiers(evidence: ClusterEvidence, told: Circumstances | None = None, **more: Any) -> Tiers:
    return tiers_of(evidence, scenario(evidence, **more), told or Circumstances(16, SEVERAL))


def test_tiers_are_the_candidates(matilda: ClusterEvidence) -> None:
    found = tiers(matilda, Circumstances(16))
    assert {tier.part.mechanism for tier in found.tiers} == {"ft1", "ft2", "ft3", "ft5", "ft6"}
    assert found.emergencies == ()
    assert "ft4" in {each.mechanism for each in found.excluded}
    assert found.cautions == ()


def test_a_fixed_interval_does_not_bind(matilda: ClusterEvidence) -> None:
    assert tiers(matilda, interval=100) == tiers(matilda, interval=IntervalPolicy.AUTO)


def test_peers_are_on_other_nodes(matilda: ClusterEvidence) -> None:
    def survived(nodes: int) -> dict[str, int]:
        found = tiers(matilda, Circumstances(nodes)).tiers
        return {tier.label: tier.part.survives for tier in found}

    storage = {"FT1": SURVIVES_ALL, "FT3": SURVIVES_ALL}
    assert survived(16) == storage | {"FT2": 1, "FT5": 1, "FT6 (k = 2)": 2}
    assert survived(2) == storage | {"FT2": 1, "FT5": 1, "FT6 (k = 2)": 1}
    assert survived(1) == storage | {"FT2": 0, "FT5": 0, "FT6 (k = 2)": 0}


def test_a_warning_for_a_share_of_the_failures_is_enough(matilda: ClusterEvidence) -> None:
    found = tiers(matilda, warning_lead_s=5.0, warning_coverage=0.4)
    (emergency,) = found.emergencies
    assert (emergency.part.mechanism, emergency.coverage) == ("ft4", 0.4)
    whole = tiers(matilda, warning_lead_s=5.0).emergencies[0]
    assert replace(emergency, coverage=1.0) == whole
    assert tiers(matilda, warning_lead_s=0.001, warning_coverage=0.4).emergencies == ()


def test_as_many_peers_as_a_failure_calls_for_cost_in_proportion(matilda: ClusterEvidence) -> None:
    found = {t.part.replicas: t for t in tiers(matilda).tiers if t.part.replicas > 1}
    assert sorted(found) == [2, 4]
    assert found[4].part.stall_s == pytest.approx(2.0 * found[2].part.stall_s)
    assert found[4].part.host_bytes_per_rank == 2 * found[2].part.host_bytes_per_rank
    assert found[4].part.survives == 4
    assert found[4].evidence is EvidenceCode.EXTRAPOLATED
    few = tiers(matilda, Circumstances(16, SEVERAL, most_replicas=1))
    assert {tier.part.replicas for tier in few.tiers} == {0, 1}
    assert {t.part.replicas for t in tiers(matilda, Circumstances(4, SEVERAL)).tiers} == {0, 1, 2}


def test_combinations_survive_more_with_each_tier(matilda: ClusterEvidence) -> None:
    found = tiers(matilda, warning_lead_s=5.0, warning_coverage=0.4)
    combinations = list(combinations_of(found, 3))
    labels = [each.label for each in combinations]
    assert len(set(labels)) == len(labels)
    assert {
        "FT2",
        "FT2 + FT1",
        "FT4 + FT2 + FT1",
        "FT4 + FT2 + FT6 (k = 4) + FT1",
        "FT4",
    } <= set(labels)
    assert "FT6 (k = 2) + FT6 (k = 4)" not in labels
    assert "FT1 + FT3" not in labels
    assert "FT2 + FT5" not in labels
    for each in combinations:
        survived = [tier.part.survives for tier in each.tiers]
        assert survived == sorted(set(survived))
        assert len(set(each.names)) == len(each.names)
        if len(each.names) > 1:
            assert each.evidence is EvidenceCode.EXTRAPOLATED


def test_what_was_not_seen_to_resume_after_several_losses_is_told(matilda: ClusterEvidence) -> None:
    found = tiers(matilda)
    assert {each.mechanism for each in found.cautions} >= {"ft1", "ft2"}
    assert "resum" in found.cautions[0].reason
    assert tiers(matilda, Circumstances(2, parse_kinds("0:50%,1:50%"))).cautions == ()


def test_who_goes_on_by_itself_is_told(matilda: ClusterEvidence) -> None:
    assert tiers(matilda, architecture="a6").goes_on == ("ft9",)
