"""The paper's own decisions, from scenarios: Table XII row by row, and RQ2's frontier."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.decide import decide, frontier_of
from advisor.defaults import resolve
from advisor.recommendation import EvidenceCode, Recommendation
from advisor.scenario import FailureRegime, IntervalPolicy, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import VERSIONS, recommend

_SMALL = 204_700_000
_STATE_BYTES = {"a4": 2_567_000_000, "a5": 2_616_900_000, "a7": 2_734_700_000}
_MTBF_S = 4 * 3600.0


def scenario(architecture: str, **limits: Any) -> ScenarioInput:
    size = limits.pop("state_bytes", _STATE_BYTES.get(architecture, _SMALL))
    return ScenarioInput(architecture=architecture, state_bytes=size, mtbf_s=_MTBF_S, **limits)


# (row of Table XII, scenario, mechanism, interval, overhead, latency in seconds, evidence code)
_TABLE_XII = [
    *[
        (1, scenario(a, warning_lead_s=2.0), "ft4", None, 0.0, latency, "M")
        for a, latency in (("a1-sync", 1.497), ("a2", 0.902), ("a3", 0.889))
    ],
    *[(2, scenario(a, interval=100), "ft1", 100, None, 0.155, "E") for a in ("a1-sync", "a3")],
    *[
        (3, scenario(a, interval=100, max_restore_s=0.149), "ft2", 100, overhead, 0.017, "M")
        for a, overhead in (("a1-sync", 0.0391), ("a2", 0.0378), ("a3", 0.0369))
    ],
    (
        4,
        scenario("a2", state_bytes=2_600_000_000, interval=20, max_overhead=0.05),
        "ft1",
        20,
        0.0314,
        1.968,
        "M",
    ),
    (5, scenario("a4", interval=500, max_overhead=0.35), "ft2", 500, 0.334_66, 0.214, "E"),
    (6, scenario("a4", warning_lead_s=15.0), "ft4", None, 0.0, 9.911, "M"),
    (6, scenario("a5", warning_lead_s=15.0), "ft4", None, 0.0, 10.777, "M"),
    (7, scenario("a7", interval=100, max_overhead=0.15), "ft2", 100, 0.1439, 0.228, "M"),
]


@pytest.mark.parametrize(
    ("row", "inputs", "mechanism", "interval", "overhead", "latency_s", "code"), _TABLE_XII
)
def test_table_xii_rows_that_minimise_equation_5(
    matilda: ClusterEvidence,
    row: int,
    inputs: ScenarioInput,
    mechanism: str,
    interval: int | None,
    overhead: float | None,
    latency_s: float,
    code: str,
) -> None:
    selected = recommend(matilda, inputs).selected
    assert selected is not None
    assert selected.mechanism == mechanism, row
    assert selected.interval_steps == interval
    assert selected.restore_s == pytest.approx(latency_s, abs=6e-4)
    assert selected.evidence.value == code
    if overhead is not None:
        assert selected.overhead == pytest.approx(overhead, rel=1e-3)


def test_row_2_on_a2_itself_is_a_measurement(matilda: ClusterEvidence) -> None:
    # The paper codes the row E because FT1 was measured on A2 only; on A2 it is M.
    selected = recommend(matilda, scenario("a2", interval=100)).selected
    assert selected is not None
    assert (selected.mechanism, selected.evidence) == ("ft1", EvidenceCode.MEASURED)
    assert selected.overhead == pytest.approx(0.0048, rel=1e-9)


def test_row_3_a_slow_tier_lifts_ft1_over_the_limit(matilda: ClusterEvidence) -> None:
    slow = scenario("a2", interval=100, max_overhead=0.05, storage_write_bytes_per_s=100e6)
    answer = recommend(matilda, slow)
    reasons = {e.mechanism: e.reason for e in answer.excluded}
    assert "exceeds the limit of 5 %" in reasons["ft1"]
    # By Eq. (5) the asynchronous save wins here: its stall is a copy, whatever the tier. The
    # paper names FT2; docs/decisions/0004-table-xii.md has the argument.
    assert answer.selected is not None
    assert answer.selected.mechanism == "ft3"
    without = recommend(matilda, replace(slow, mechanisms=("ft1", "ft2", "ft4"))).selected
    assert without is not None
    assert (without.mechanism, without.evidence.value) == ("ft2", "M")


def test_row_5_on_a5_keeps_the_limit_that_the_paper_breaks(matilda: ClusterEvidence) -> None:
    at_500 = recommend(matilda, scenario("a5", interval=500, max_overhead=0.35))
    assert at_500.selected is None
    reason = next(e.reason for e in at_500.excluded if e.mechanism == "ft2")
    assert "35.3 %" in reason
    assert "505 steps or more would keep it" in reason
    at_505 = recommend(matilda, scenario("a5", interval=505, max_overhead=0.35)).selected
    assert at_505 is not None
    assert (at_505.mechanism, at_505.evidence.value) == ("ft2", "E")
    assert at_505.overhead <= 0.35
    assert recommend(matilda, scenario("a5", interval=504, max_overhead=0.35)).selected is None


@pytest.mark.parametrize(
    ("row", "architecture", "regime", "low_s", "high_s", "code"),
    [
        (8, "a6", FailureRegime.SINGLE, 0.5, 0.5, "D"),
        (9, "a1-async", FailureRegime.SINGLE, 5.26, 5.26, "D"),
        (10, "a6", FailureRegime.MULTI, 2.537, 3.905, "E"),
    ],
)
def test_table_xii_rows_of_native_degradation(
    matilda: ClusterEvidence,
    row: int,
    architecture: str,
    regime: FailureRegime,
    low_s: float,
    high_s: float,
    code: str,
) -> None:
    answer = recommend(matilda, scenario(architecture, failure_regime=regime))
    selected = answer.selected
    assert selected is not None
    assert selected.native is not None
    assert selected.mechanism == "ft9", row
    assert selected.overhead == 0.0
    assert selected.native.latency_low_s == pytest.approx(low_s)
    assert selected.native.latency_high_s == pytest.approx(high_s)
    assert selected.evidence.value == code
    # Outside the additive model: nothing is claimed by Eq. (5), and the answer says so.
    assert selected.expected_completion_s is None
    assert selected.terms is None
    assert any("outside Eq. (5)" in warning for warning in answer.warnings)


@pytest.mark.parametrize("architecture", ["a1-sync", "a2", "a3", "a4", "a5", "a7", "a1-async"])
def test_row_11_several_failures_select_nothing_but_on_a6(
    matilda: ClusterEvidence, architecture: str
) -> None:
    answer = recommend(
        matilda, scenario(architecture, failure_regime=FailureRegime.MULTI, warning_lead_s=60.0)
    )
    assert answer.selected is None
    assert not answer.candidates
    viable = [e for e in answer.excluded if "degenerate" not in e.reason and e.mechanism != "ft9"]
    assert viable
    assert all("external election" in e.reason for e in viable)


def test_row_11_counts_the_runs(matilda: ClusterEvidence) -> None:
    answer = recommend(
        matilda, scenario("a5", failure_regime=FailureRegime.MULTI, warning_lead_s=15.0)
    )
    assert "2 of 5 runs" in next(e.reason for e in answer.excluded if e.mechanism == "ft4")


def rq2(matilda: ClusterEvidence) -> Recommendation:
    inputs = scenario("a2", warning_lead_s=2.0, interval=IntervalPolicy.MEASURED)
    return decide(matilda, resolve(inputs, matilda), VERSIONS)


def test_rq2_frontier_on_a2(matilda: ClusterEvidence) -> None:
    frontier = rq2(matilda).frontier
    assert set(frontier.members) == {"ft1", "ft2", "ft4"}
    assert {d.mechanism: d.dominated_by for d in frontier.dominated} == {
        "ft3": "ft1",
        "ft5": "ft2",
        "ft6": "ft2",
    }


def test_lost_work_as_a_third_axis_lets_every_step_replication_in(
    matilda: ClusterEvidence,
) -> None:
    # FT5 loses half a step where FT2 loses fifty; FT4 loses none and restores slower.
    three = frontier_of(rq2(matilda).candidates, ("overhead", "restore", "lost-work"))
    assert "ft5" in three.members
    assert "ft3" not in three.members


def test_ft7_and_ft8_are_shown_and_never_selected(matilda: ClusterEvidence) -> None:
    answer = recommend(matilda, scenario("a2", mechanisms=("ft7", "ft8")))
    assert answer.selected is None
    shown = {e.mechanism: e for e in answer.excluded}
    assert shown["ft7"].shown == {"overhead": 0.0, "restore_s": 0.05}
    assert shown["ft8"].shown == {"overhead": 0.0, "restore_s": 0.71}
    assert "lower bound" in shown["ft8"].reason


def test_ft4_minimises_equation_5_on_a2_at_every_mtbf_under_a_covered_warning(
    matilda: ClusterEvidence,
) -> None:
    for mtbf_s in (60.0, 3600.0, 1e5, 1e7):
        inputs = replace(scenario("a2", warning_lead_s=2.0), mtbf_s=mtbf_s)
        selected = recommend(matilda, inputs).selected
        assert selected is not None
        assert selected.mechanism == "ft4"
