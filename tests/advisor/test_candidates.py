"""Who is a candidate: every rule at its edge, with the numbers in its reason."""

from dataclasses import replace
from typing import Any

import pytest

from advisor.errors import NoDataError, UserError
from advisor.recommendation import Recommendation
from advisor.scenario import FailureRegime, IntervalPolicy, RestoreBasis, ScenarioInput
from db.records import ClusterEvidence
from tests.advisor.conftest import recommend


def answer(
    evidence: ClusterEvidence, architecture: str = "a2", megabytes: float = 204.7, **rest: Any
) -> Recommendation:
    rest.setdefault("mtbf_s", 14400.0)
    return recommend(
        evidence,
        ScenarioInput(architecture=architecture, state_bytes=round(megabytes * 1e6), **rest),
    )


def reason(found: Recommendation, mechanism: str) -> str:
    return next(e.reason for e in found.excluded if e.mechanism == mechanism)


def names(found: Recommendation) -> set[str]:
    return {c.mechanism for c in found.candidates}


def test_every_mechanism_ends_in_exactly_one_place(matilda: ClusterEvidence) -> None:
    for architecture in matilda.architectures:
        found = answer(matilda, architecture, warning_lead_s=20.0)
        listed = [c.mechanism for c in found.candidates] + [e.mechanism for e in found.excluded]
        assert sorted(listed) == sorted(matilda.mechanisms)
        assert all(e.reason for e in found.excluded)


def test_lead_against_the_measured_emergency_save(matilda: ClusterEvidence) -> None:
    # 884.7 ms measured, half range 89.8 ms (Table IX): the bound is 974.5 ms.
    assert "ft4" in names(answer(matilda, warning_lead_s=0.975))
    short = answer(matilda, warning_lead_s=0.974)
    assert "884.7 ms" in reason(short, "ft4")
    assert "974.5 ms" in reason(short, "ft4")


def test_coverage_below_one_excludes_and_counts(matilda: ClusterEvidence) -> None:
    # 30 d at 4 h: 180 failures, a tenth of them unannounced.
    found = answer(matilda, warning_lead_s=2.0, warning_coverage=0.9)
    assert "18 unannounced failures" in reason(found, "ft4")
    assert "without a warning" in reason(answer(matilda), "ft4")
    never = answer(matilda, warning_lead_s=2.0, warning_coverage=0.0)
    assert "without a warning" in reason(never, "ft4")


def test_restore_limit_is_inclusive(matilda: ClusterEvidence) -> None:
    assert "ft1" in names(answer(matilda, max_restore_s=0.155))
    assert "155 ms, over the limit of 154 ms" in reason(answer(matilda, max_restore_s=0.154), "ft1")


def test_pause_limit_counts_detection_and_regrouping(matilda: ClusterEvidence) -> None:
    limits: dict[str, Any] = {"detection_s": 1.0, "regroup_s": 2.0}
    assert "ft1" in names(answer(matilda, max_pause_s=3.155, **limits))
    assert "3.15 s" in reason(answer(matilda, max_pause_s=3.15, **limits), "ft1")
    assert "10 min" in reason(answer(matilda, max_pause_s=10.0), "ft1")


def test_pause_limit_holds_for_native_degradation_too(matilda: ClusterEvidence) -> None:
    assert names(answer(matilda, "a1-async", max_pause_s=5.26)) == {"ft9"}
    assert "5.26 s" in reason(answer(matilda, "a1-async", max_pause_s=5.0), "ft9")


def test_host_memory_counts_every_rank_of_a_node(matilda: ClusterEvidence) -> None:
    # FT2 holds one copy a rank, FT6 two; four ranks a node.
    one_each = 4 * 204_700_000
    assert "ft2" in names(answer(matilda, host_memory_bytes=one_each))
    assert "ft6" not in names(answer(matilda, host_memory_bytes=one_each))
    assert "818800000 B of" in reason(answer(matilda, host_memory_bytes=one_each - 1), "ft2")
    assert "818.8 MB of" in reason(answer(matilda, host_memory_bytes=800_000_000), "ft2")
    assert "1.638 GB" in reason(answer(matilda, host_memory_bytes=one_each), "ft6")
    assert "ft1" in names(answer(matilda, host_memory_bytes=0))


def test_overhead_limit_with_a_free_interval_lengthens_it(matilda: ClusterEvidence) -> None:
    free = answer(matilda, mechanisms=("ft2",), mtbf_s=60.0, detection_s=0.0)
    capped = answer(matilda, mechanisms=("ft2",), mtbf_s=60.0, detection_s=0.0, max_overhead=0.01)
    assert free.selected is not None
    assert capped.selected is not None
    assert free.selected.overhead > 0.01 >= capped.selected.overhead
    # 3.78 % at 100 steps: 378 steps are 1 %.
    assert capped.selected.interval_steps == 378


def test_asking_for_some_mechanisms_only(matilda: ClusterEvidence) -> None:
    found = answer(matilda, mechanisms=("ft1", "ft2"))
    assert names(found) == {"ft1", "ft2"}
    assert "not among the mechanisms asked for" in reason(found, "ft3")


def test_a_fixed_interval_far_below_the_measured_one_is_no_data(matilda: ClusterEvidence) -> None:
    assert "ft1" in names(answer(matilda, interval=10))
    assert "shorter than 10 steps" in reason(answer(matilda, interval=9), "ft1")
    assert "ft5" in names(answer(matilda, interval=9))


@pytest.mark.parametrize(
    ("megabytes", "offered"), [(204.7, True), (800.0, True), (820.0, False), (52.0, True)]
)
def test_state_size_within_four_times_of_a_single_measurement(
    matilda: ClusterEvidence, megabytes: float, offered: bool
) -> None:
    found = answer(matilda, megabytes=megabytes)
    assert ("ft3" in names(found)) == offered
    if not offered:
        assert "the limit is 4" in reason(found, "ft3")
        assert "no data" in reason(found, "ft3")


def test_a_size_between_measured_ones_is_interpolated(matilda: ClusterEvidence) -> None:
    # On A3, FT2 was measured at 204.7 MB only; the cluster measured it up to 2.7 GB.
    found = answer(matilda, "a3", megabytes=650.0)
    ft2 = next(c for c in found.candidates if c.mechanism == "ft2")
    assert ft2.evidence.value == "E"
    assert any("3.18 times from the nearest measurement" in rule for rule in ft2.rules)
    assert any("fitted over 6 measurements" in rule for rule in ft2.rules)


def test_the_nearest_size_that_was_tried_decides(matilda: ClusterEvidence) -> None:
    # FT2 worked on A2 at 204.7 MB and deadlocked at 2.6 GB; the middle in ratio is 729.5 MB.
    assert "ft2" in names(answer(matilda, megabytes=700.0))
    for architecture in ("a2", "a3", "a1-sync"):
        assert "deadlock on A2" in reason(answer(matilda, architecture, megabytes=2600.0), "ft2")
        assert "deadlock on A2" in reason(answer(matilda, architecture, megabytes=760.0), "ft2")


def test_what_was_measured_is_returned_unscaled(matilda: ClusterEvidence) -> None:
    found = answer(matilda, interval=IntervalPolicy.MEASURED, warning_lead_s=2.0)
    measured = {"ft1": 0.0048, "ft2": 0.0378, "ft3": 0.0119, "ft5": 3.723, "ft6": 0.0675}
    for candidate in found.candidates:
        assert candidate.evidence.value == "M"
        assert candidate.rules == ()
        assert candidate.overhead == pytest.approx(measured.get(candidate.mechanism, 0.0))


def test_step_time_rule_and_limit(matilda: ClusterEvidence) -> None:
    double = answer(matilda, interval=100, mechanisms=("ft2",), step_time_s=0.2246).selected
    assert double is not None
    assert double.evidence.value == "E"
    assert double.overhead == pytest.approx(0.0378 / 2, rel=1e-3)
    assert "no data" in reason(answer(matilda, step_time_s=1.2), "ft2")
    assert "the limit is 10" in reason(answer(matilda, step_time_s=0.011), "ft2")


def test_storage_rate_rule_touches_disk_saves_only(matilda: ClusterEvidence) -> None:
    found = answer(matilda, interval=100, storage_write_bytes_per_s=1.37e9 / 4)
    by_name = {c.mechanism: c for c in found.candidates}
    assert by_name["ft1"].overhead == pytest.approx(4 * 0.0048)
    assert by_name["ft1"].evidence.value == "E"
    assert by_name["ft2"].overhead == pytest.approx(0.0378)
    assert by_name["ft3"].overhead == pytest.approx(0.0119)
    slow = answer(matilda, storage_write_bytes_per_s=1.37e9 / 21)
    assert "the limit is 20" in reason(slow, "ft1")


def test_a_storage_rate_that_cannot_be_compared_is_no_data(matilda: ClusterEvidence) -> None:
    """The cluster's own saves may have been made at any rate."""
    bare = replace(matilda, calibrations=())
    asked = ScenarioInput(architecture="a2", state_bytes=204_700_000, mtbf_s=14_400.0)
    own = {c.mechanism for c in recommend(bare, asked).candidates}
    found = recommend(bare, replace(asked, storage_write_bytes_per_s=1e3))
    assert {"ft1", "ft3"} <= own
    assert own - {c.mechanism for c in found.candidates} == {"ft1"}
    assert "no measured one to compare it with" in reason(found, "ft1")


def test_an_asynchronous_save_is_not_offered_more_often_than_it_persists(
    matilda: ClusterEvidence,
) -> None:
    # 204.7 MB at 20 MB/s take 10.2 s, which is 92 steps of 112.3 ms.
    found = answer(matilda, interval=91, storage_write_bytes_per_s=20e6)
    assert "shorter than 92 steps" in reason(found, "ft3")


def test_calibrated_restores_are_table_iii(matilda: ClusterEvidence) -> None:
    found = answer(matilda, interval=100, restore_basis=RestoreBasis.CALIBRATED)
    restores = {c.mechanism: c.restore_s for c in found.candidates}
    assert restores["ft1"] == pytest.approx(0.3402)
    assert restores["ft2"] == pytest.approx(0.0205)


def test_unpublished_step_time_is_said_and_the_overhead_kept(matilda: ClusterEvidence) -> None:
    found = answer(matilda, megabytes=2600.0, interval=20, step_time_s=0.5)
    assert found.selected is not None
    assert found.selected.overhead == pytest.approx(0.0314)
    assert any("its own step time was not published" in w for w in found.warnings)


def test_unknown_names_list_the_known_ones(matilda: ClusterEvidence) -> None:
    with pytest.raises(UserError, match=r"no architecture 'a9': write one of a1-async, a1-sync"):
        answer(matilda, "a9")
    with pytest.raises(UserError, match=r"no mechanism 'ft0': write one of ft1, ft2"):
        answer(matilda, mechanisms=("ft0",))


def test_an_architecture_without_data_says_what_has_some(matilda: ClusterEvidence) -> None:
    from dataclasses import replace

    emptied = replace(matilda, points=tuple(p for p in matilda.points if p.architecture != "a7"))
    with pytest.raises(NoDataError, match=r"no measurement of a7: it has a1-async, a1-sync, a2"):
        answer(emptied, "a7")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("mtbf_s", 0.0),
        ("mtbf_s", -1.0),
        ("mtbf_s", float("nan")),
        ("mtbf_s", float("inf")),
        ("state_bytes", 0),
        ("duration_s", 0.0),
        ("max_overhead", -0.1),
        ("detection_s", -1.0),
        ("warning_coverage", 1.01),
        ("interval", 0),
        ("step_time_s", 0.0),
    ],
)
def test_impossible_inputs_are_refused(field: str, value: float) -> None:
    inputs: dict[str, Any] = {"architecture": "a2", "state_bytes": 1, "mtbf_s": 1.0}
    if field == "warning_coverage":
        inputs["warning_lead_s"] = 1.0
    with pytest.raises(UserError):
        ScenarioInput(**(inputs | {field: value}))


def test_an_interval_longer_than_the_job_is_refused(matilda: ClusterEvidence) -> None:
    # 1 h of 112.3 ms steps is 32,051 steps.
    found = answer(matilda, interval=40_000, duration_s=3600.0)
    assert "longer than the whole job of 32,0" in reason(found, "ft1")
    assert "ft1" in names(answer(matilda, interval=32_000, duration_s=3600.0))


def test_calibrated_restores_show_their_own_evidence(matilda: ClusterEvidence) -> None:
    found = answer(matilda, interval=100, restore_basis=RestoreBasis.CALIBRATED)
    ft1 = next(c for c in found.candidates if c.mechanism == "ft1")
    (restore,) = [u for u in ft1.used if u.quantity == "restore_s"]
    assert (restore.value, restore.n, restore.evidence) == (0.3402, 10, "measured")
    between = answer(matilda, megabytes=400.0, restore_basis=RestoreBasis.CALIBRATED)
    ft1 = next(c for c in between.candidates if c.mechanism == "ft1")
    assert len([u for u in ft1.used if u.quantity == "restore_s"]) == 2
    assert "restore: interpolated between the calibrated sizes" in ft1.rules
    share = (400.0 - 204.7) / (2600.0 - 204.7)
    assert ft1.restore_s == pytest.approx(0.3402 + share * (3.2705 - 0.3402))


def test_a_calibrated_restore_is_bounded_too(matilda: ClusterEvidence) -> None:
    near = answer(matilda, "a7", megabytes=2734.7, restore_basis=RestoreBasis.CALIBRATED)
    assert "restore: in proportion from" in " ".join(near.candidates[0].rules)
    far = answer(matilda, "a7", megabytes=10_900.0, restore_basis=RestoreBasis.CALIBRATED)
    assert "the limit is 4" in reason(far, "ft2")


def test_an_overhead_without_a_step_time_holds_at_its_own_size_only(
    matilda: ClusterEvidence,
) -> None:
    # M2 is FT1's only large measurement, and its step time was not published.
    at = answer(matilda, megabytes=2600.0, interval=20)
    assert at.selected is not None
    assert at.selected.evidence.value == "M"
    assert "no data" in reason(answer(matilda, megabytes=1300.0), "ft1")
    for step_time_s in (1e-6, 1000.0):
        refused = answer(matilda, megabytes=2600.0, interval=20, step_time_s=step_time_s)
        assert "the limit is 10" in reason(refused, "ft1")


def test_a_carried_over_save_is_scaled_by_its_path(matilda: ClusterEvidence) -> None:
    # FT2 saves over the same path in 714.9 ms on A1 and in 423.4 ms on A2 (Table VIII).
    found = answer(matilda, "a1-sync", interval=100)
    ft6 = next(c for c in found.candidates if c.mechanism == "ft6")
    stall_s = 0.0675 * 100 * 32 / 284.9
    expected = stall_s * 714.9 / 423.4 / (100 * 32 / 174.9)
    assert ft6.overhead == pytest.approx(expected)
    assert any("1.69 times as long on A1-SYNC as on A2 (FT2)" in rule for rule in ft6.rules)
    ft1 = next(c for c in found.candidates if c.mechanism == "ft1")
    assert not any("over the same path" in rule for rule in ft1.rules)


def test_a_job_shorter_than_the_shortest_interval(matilda: ClusterEvidence) -> None:
    assert "shorter than 10 steps" in reason(answer(matilda, duration_s=1.0), "ft1")
    assert "ft1" in names(answer(matilda, duration_s=1.2))


def test_advice_on_the_interval_can_be_followed(matilda: ClusterEvidence) -> None:
    found = answer(matilda, max_overhead=1e-9, duration_s=3600.0)
    assert "would keep it" not in reason(found, "ft1")


def test_native_survivors_are_not_said_to_wait_for_detection(matilda: ClusterEvidence) -> None:
    found = answer(
        matilda, "a6", failure_regime=FailureRegime.MULTI, max_pause_s=3.0, detection_s=30.0
    )
    assert "survivors go on 3.9 s after a loss" in reason(found, "ft9")


def test_rounding_does_not_hide_a_reason(matilda: ClusterEvidence) -> None:
    assert "is 4.00048852 times from" in reason(answer(matilda, megabytes=818.9), "ft3")


def test_the_bound_warning_says_how_low_the_bounds_were(matilda: ClusterEvidence) -> None:
    # Table III: disk +66.2 % and +119.5 %, host to device +19.9 % and +33.7 % by the printed times.
    assert any("66.2 % to 119.5 % more" in w for w in answer(matilda).warnings)
    fast = answer(matilda, max_restore_s=0.1)
    assert any("19.9 % to 33.7 % more" in w for w in fast.warnings)
