"""The numbers that tools are set to: from the answer, each with its origin."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import poisson

from advisor.emit.needs import Need
from advisor.emit.plan import OUT_OF_RESTARTS, WAITS, Plan, enough_restarts, make_plan
from advisor.errors import UserError
from advisor.recommendation import Recommendation
from advisor.scenario import FewerRanks, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend

_RANKS = 8


@pytest.fixture(scope="module")
def answer(matilda: ClusterEvidence) -> Recommendation:
    return recommend(matilda, _inputs())


def _inputs() -> ScenarioInput:
    return ScenarioInput(
        architecture="a2",
        state_bytes=204_700_000,
        mtbf_s=4 * 3600.0,
        detection_s=30.0,
        warning_lead_s=60.0,
        warning_coverage=0.8,
    )


def _plan(answer: Recommendation, evidence: ClusterEvidence, *chosen: str) -> Plan:
    return make_plan(answer, evidence.mechanisms, _RANKS, chosen)


def test_the_selected_candidate_is_the_default(
    answer: Recommendation, matilda: ClusterEvidence
) -> None:
    found = _plan(answer, matilda)
    assert answer.selected is not None
    (act,) = found.acts
    assert (act.mechanism, act.need, found.mechanisms) == ("ft1", Need.STORAGE, "FT1")
    assert act.interval is not None
    assert act.interval.value == answer.selected.interval_steps
    assert act.interval.path == "candidate.interval_steps"
    assert act.interval.evidence.startswith("E, extrapolated by a stated rule; interval: overhead")
    assert (found.timeout.value, found.timeout.evidence) == (30.0, "given")
    assert found.lead is None
    assert found.ranks_per_node.value == _RANKS


def test_another_candidate_can_be_chosen(answer: Recommendation, matilda: ClusterEvidence) -> None:
    found = _plan(answer, matilda, "ft2")
    (ft2,) = [c for c in answer.candidates if c.mechanism == "ft2"]
    assert found.acts[0].interval is not None
    assert found.acts[0].interval.value == ft2.interval_steps
    assert (found.acts[0].need, found.acts[0].replicas) == (Need.PEER, 1)


def test_a_save_on_a_warning_helps_beside_others(
    answer: Recommendation, matilda: ClusterEvidence
) -> None:
    """Alone it leaves a fifth of the failures unannounced, and is no candidate."""
    found = _plan(answer, matilda, "ft4", "ft1")
    assert [act.need for act in found.acts] == [Need.WARNING, Need.STORAGE]
    assert found.lead is not None
    assert found.lead.value == 60.0
    with pytest.raises(UserError, match="FT4 is no candidate of the answer: a coverage of 80 %"):
        _plan(answer, matilda, "ft4")


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        (("ft0",), "'ft0' is no candidate of the answer: its candidates are ft1, ft3"),
        (("ft1", "ft1"), "names a mechanism twice"),
        (("ft7",), "FT7 is no candidate of the answer"),
        (("ft7", "ft1"), "FT7 is no candidate of the answer: it cannot be composed"),
        (("ft4", "ft7"), "none of them is a candidate"),
    ],
)
def test_what_the_answer_does_not_offer_is_refused(
    answer: Recommendation, matilda: ClusterEvidence, chosen: tuple[str, ...], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        _plan(answer, matilda, *chosen)


def test_a_warning_needs_a_lead(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, replace(_inputs(), warning_lead_s=None, warning_coverage=None))
    with pytest.raises(UserError, match="needs a warning lead in the scenario, such as 2min"):
        _plan(answer, matilda, "ft4", "ft1")


def test_without_a_selected_candidate_there_is_nothing(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, replace(_inputs(), max_pause_s=0.001))
    assert answer.selected is None
    with pytest.raises(UserError, match="there is nothing to emit"):
        _plan(answer, matilda)


def test_an_architecture_that_goes_on_by_itself_needs_nothing(matilda: ClusterEvidence) -> None:
    inputs = ScenarioInput(architecture="a6", state_bytes=204_700_000, mtbf_s=14400.0)
    with pytest.raises(UserError, match="A6 goes on by itself after a loss"):
        _plan(recommend(matilda, inputs), matilda)


def test_a_mechanism_that_the_database_forgot_is_named(
    answer: Recommendation, matilda: ClusterEvidence
) -> None:
    fewer = {name: found for name, found in matilda.mechanisms.items() if name != "ft1"}
    with pytest.raises(UserError, match="does not describe 'ft1'"):
        make_plan(answer, fewer, _RANKS)


def test_a_timeout_never_ends_a_healthy_group(matilda: ClusterEvidence) -> None:
    """A detection of 1 ms would: a step of 0.1 s with a save in it takes longer."""
    answer = recommend(matilda, replace(_inputs(), detection_s=0.001, step_time_s=0.1))
    selected = answer.selected
    assert selected is not None
    assert selected.interval_steps is not None
    stall_s = selected.overhead * selected.interval_steps * 0.1
    timeout = _plan(answer, matilda).timeout
    assert timeout.value == pytest.approx(WAITS * (0.1 + stall_s))
    assert "would end healthy groups" in timeout.words
    assert "step time (given)" in timeout.evidence


def test_a_defaulted_detection_says_where_it_is_from(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, replace(_inputs(), detection_s=None))
    found = _plan(answer, matilda).timeout
    assert found.value == answer.scenario.detection_s
    assert found.evidence == answer.scenario.assumed["detection_s"]


def test_going_on_with_fewer_ranks_saves_nothing(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, replace(_inputs(), fewer_ranks=FewerRanks.ACCEPT))
    names = [c.mechanism for c in answer.candidates]
    assert "ft8" not in names
    (ft8,) = [e for e in answer.excluded if e.mechanism == "ft8"]
    with pytest.raises(UserError) as refused:
        _plan(answer, matilda, "ft8")
    assert ft8.reason in str(refused.value)


@given(expected=st.floats(1e-6, 1e7))
def test_restarts_suffice_in_all_but_the_stated_share(expected: float) -> None:
    """Against the exact Poisson tail; and no more than the bound asks for."""
    restarts = enough_restarts(expected)
    assert poisson.sf(restarts, expected) <= OUT_OF_RESTARTS
    assert poisson.sf(restarts - max(1.0, 2.0 * expected**0.5), expected) > OUT_OF_RESTARTS / 100


def test_no_failures_need_no_restarts() -> None:
    assert enough_restarts(0.0) == 0
