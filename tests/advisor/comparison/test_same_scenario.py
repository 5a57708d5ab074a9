"""One scenario on several clusters: each answer is the one that the cluster gives by itself."""

from dataclasses import replace
from pathlib import Path

import pytest

from advisor.comparison.same_scenario import answers
from advisor.decide import decide
from advisor.errors import UserError
from advisor.evidence import load_evidence, opened
from advisor.recommendation import Recommendation
from advisor.reports.comparison_words import ANSWER_HEADER, answer_cells, answer_lines
from advisor.scenario import Scenario, ScenarioInput
from advisor.uncertainty.answer import with_uncertainty
from db.records import ClusterEvidence
from tests.advisor.comparison.twins import twin, without
from tests.advisor.conftest import VERSIONS, recommend

OURS = "2-cores-8-ranks"
_INPUTS = ScenarioInput("a2", None, 4 * 3600.0, duration_s=86_400.0)


@pytest.fixture(scope="module")
def ours(shipped_database: Path) -> ClusterEvidence:
    """A cluster that this program measured."""
    with opened(str(shipped_database)) as engine:
        return load_evidence(engine, OURS)


def plain(evidence: ClusterEvidence, scenario: Scenario) -> Recommendation:
    return decide(evidence, scenario, VERSIONS)


def test_each_answers_from_its_own_evidence(
    matilda: ClusterEvidence, ours: ClusterEvidence
) -> None:
    stated = replace(_INPUTS, cluster="matilda-8xv100", state_bytes=204_700_000)
    other = twin(matilda, None, "twin")
    found = answers([matilda, ours, other], stated, plain)
    assert [each.cluster for each in found] == ["matilda-8xv100", OURS, "twin"]
    for each, evidence in zip(found, (matilda, ours, other), strict=True):
        name = evidence.cluster.cluster
        assert each.recommendation == recommend(evidence, replace(stated, cluster=name))
    first, _, last = (each.recommendation for each in found)
    assert first is not None
    assert last is not None
    assert first.selected == last.selected


def test_what_is_not_stated_comes_from_each_cluster(
    matilda: ClusterEvidence, ours: ClusterEvidence
) -> None:
    small = twin(matilda, without(lambda p: p.workload == "linear-m2"))
    found = answers([small, ours], _INPUTS, plain)
    scenarios = [each.recommendation.scenario for each in found if each.recommendation]
    assert len(scenarios) == 2
    for name in ("state_bytes", "step_time_s", "detection_s"):
        values = {getattr(scenario, name) for scenario in scenarios}
        assert len(values) == 2, name
        assert all(name in scenario.assumed for scenario in scenarios)
    assert {scenario.duration_s for scenario in scenarios} == {86_400.0}
    said = " ".join(answer_lines(found))
    assert "state sizes are those that each cluster measured" in said
    assert "compare goodputs" in said


def test_a_cluster_that_cannot_answer_says_why(
    matilda: ClusterEvidence, ours: ClusterEvidence
) -> None:
    nothing = twin(ours, without(lambda p: p.architecture == "a2"))
    found = answers([ours, nothing, matilda], _INPUTS, plain)
    assert found[0].reason is None
    assert found[1].recommendation is None
    assert "twin has no measurement of a2" in str(found[1].reason)
    # The paper measured A2 with two sizes, and none is stated.
    assert "state-size is missing" in str(found[2].reason)
    assert [answer_cells(each)[:2] for each in found[1:]] == [
        ("twin", "no data"),
        ("matilda-8xv100", "no data"),
    ]
    assert all(len(answer_cells(each)) == len(ANSWER_HEADER) for each in found)
    assert sum(line.startswith(("twin:", "matilda-8xv100:")) for line in answer_lines(found)) == 2


def test_no_pick_is_an_answer_with_its_reason(matilda: ClusterEvidence) -> None:
    impossible = replace(_INPUTS, state_bytes=204_700_000, max_pause_s=1.0)
    (found,) = answers([matilda], impossible, plain)
    assert found.recommendation is not None
    assert found.recommendation.selected is None
    assert found.reason
    cells = dict(zip(ANSWER_HEADER, answer_cells(found), strict=True))
    assert (cells["mechanism"], cells["expected"]) == ("none", "–")
    assert cells["state"] == "204.7 MB"


def test_a_mistake_is_no_row(matilda: ClusterEvidence, ours: ClusterEvidence) -> None:
    with pytest.raises(UserError, match="there is no architecture 'a9'"):
        answers([matilda, ours], replace(_INPUTS, architecture="a9"), plain)
    with pytest.raises(UserError, match="state-size is missing"):
        answers([matilda], _INPUTS, plain)


def test_how_sure(ours: ClusterEvidence) -> None:
    def surely(evidence: ClusterEvidence, scenario: Scenario) -> Recommendation:
        return with_uncertainty(evidence, plain(evidence, scenario))

    (found,) = answers([ours], replace(_INPUTS, mtbf_s=600.0), surely)
    assert found.recommendation is not None
    assert found.recommendation.selected is not None
    assert found.how_sure is not None
    assert found.how_sure.mechanism == found.recommendation.selected.mechanism
    cells = dict(zip(ANSWER_HEADER, answer_cells(found), strict=True))
    assert cells["best with"].endswith("%")
    (unasked,) = answers([ours], replace(_INPUTS, mtbf_s=600.0), plain)
    assert unasked.how_sure is None
    assert dict(zip(ANSWER_HEADER, answer_cells(unasked), strict=True))["best with"] == "–"
