"""Points predicted without themselves: known errors come out, and nothing checks itself."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pytest

from advisor import leave_one_out as module
from advisor.characterization import step_time_s
from advisor.leave_one_out import Comparison, LeaveOneOut, leave_one_out
from advisor.prediction.predict import predict, predict_restore
from advisor.recommendation import Candidate, RuleError
from advisor.rules import NEEDS, PARTS, TITLES, Part, Rule
from advisor.scenario import (
    FailureRegime,
    FewerRanks,
    IntervalPolicy,
    RestoreBasis,
    Scenario,
    ScenarioInput,
)
from db.records import (
    Cadence,
    CalibrationPath,
    ClusterEvidence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
)
from tests.advisor.calibrations import fit
from tests.advisor.conftest import recommend

_MB = 1_000_000
_STEP_S, _BATCH = 0.1, 32


def measured(value: float, half_width: float | None = None) -> EvidencedValue:
    kind = None if half_width is None else DispersionKind.CI95_HALF_WIDTH
    return EvidencedValue(
        value, Evidence.MEASURED, n=3, dispersion=half_width, dispersion_kind=kind
    )


def point(
    architecture: str,
    mechanism: str,
    *,
    size: int = 100 * _MB,
    interval: int | None = 100,
    workload: str = "w",
    name: str = "",
    **values: float | EvidencedValue,
) -> OperatingPoint:
    """A point of the cluster; values by name of the quantity, plain numbers as measured."""
    size_name = f"{size / _MB:g}"
    return OperatingPoint(
        point_id="/".join((architecture, mechanism, workload, size_name, str(interval), name)),
        cluster="made-up",
        architecture=architecture,
        mechanism=mechanism,
        workload=workload,
        state_bytes=size,
        batch_per_rank=_BATCH,
        interval_steps=interval,
        replicas=0 if mechanism == "ft1" else 1,
        trace="F1",
        values={
            Quantity[key.upper()]: v if isinstance(v, EvidencedValue) else measured(v)
            for key, v in values.items()
        },
    )


def baseline(architecture: str, step_s: float = _STEP_S, workload: str = "w") -> OperatingPoint:
    return point(architecture, "ft9", interval=None, workload=workload, throughput=_BATCH / step_s)


@pytest.fixture
def cluster(matilda: ClusterEvidence) -> Callable[..., ClusterEvidence]:
    """A cluster with these points only: baselines of A2 and A3 at steps of 0.1 s are there."""

    def made(*points: OperatingPoint, **changes: Any) -> ClusterEvidence:
        everything = (baseline("a2"), baseline("a3"), *points)
        return replace(matilda, points=everything, **({"calibrations": ()} | changes))

    return made


def errors(found: LeaveOneOut, rule: Rule, part: Part) -> RuleError:
    (check,) = [c for c in found.checks if c.rule is rule]
    (error,) = [e for e in check.errors if e.part is part]
    return error


def names(comparisons: Iterable[Comparison]) -> list[set[Rule]]:
    return [{applied.rule for applied in each.rules} for each in comparisons]


def test_every_rule_is_named_and_says_what_it_would_need() -> None:
    assert set(PARTS) == set(TITLES) == set(NEEDS) == set(Rule)


def test_a_rule_that_holds_has_no_error(cluster: Callable[..., ClusterEvidence]) -> None:
    found = leave_one_out(
        cluster(
            point("a2", "ft1", overhead=0.02, restore=0.3),
            point("a3", "ft1", overhead=0.02, restore=0.3),
        )
    )
    for part in Part:
        error = errors(found, Rule.LIKE_ARCHITECTURE, part)
        assert (error.n, error.n_apart) == (2, 0)
        assert error.median_fraction == error.largest_fraction == pytest.approx(0.0, abs=1e-12)
    assert names(found.comparisons) == [{Rule.LIKE_ARCHITECTURE}] * 4
    assert found.not_predicted == ()


def test_a_known_error_comes_out(cluster: Callable[..., ClusterEvidence]) -> None:
    found = leave_one_out(
        cluster(
            point("a2", "ft1", overhead=0.02, restore=0.3),
            point("a3", "ft1", overhead=0.04, restore=0.3),
        )
    )
    # A2 from A3: twice as much, +100 %; A3 from A2: half as much, -50 %.
    error = errors(found, Rule.LIKE_ARCHITECTURE, Part.STALL)
    assert error.n == 2
    assert error.median_fraction == pytest.approx(0.75)
    assert error.largest_fraction == pytest.approx(1.0)
    assert error.signed_median_fraction == pytest.approx(0.25)
    (a2,) = [c for c in found.comparisons if c.architecture == "a2" and c.part is Part.STALL]
    assert (a2.predicted_s, a2.measured_s) == pytest.approx((0.4, 0.2))
    assert a2.difference_fraction == pytest.approx(0.02)


def test_what_only_repeats_a_point_goes_out_with_it(
    cluster: Callable[..., ClusterEvidence],
) -> None:
    alone = leave_one_out(
        cluster(*(point("a2", "ft1", name=n, overhead=0.02, restore=0.3) for n in ("f1", "f2")))
    )
    assert alone.comparisons == ()
    assert [(m.point_id, m.part) for m in alone.not_predicted] == [
        (f"a2/ft1/w/100/100/{name}", part) for part in Part for name in ("f1", "f2")
    ]
    nearly = point("a2", "ft1", size=101 * _MB, name="f2", overhead=0.5, restore=9.0)
    other = leave_one_out(
        cluster(
            point("a2", "ft1", overhead=0.02, restore=0.3),
            nearly,
            point("a3", "ft1", overhead=0.02, restore=0.3),
        )
    )
    assert {c.point_id for c in other.comparisons} >= {nearly.point_id}
    assert all(Rule.STATE_SIZE not in rules for rules in names(other.comparisons))


def test_the_rest_predicts_as_if_the_point_had_never_been_measured(
    matilda: ClusterEvidence,
) -> None:
    out = "matilda-8xv100/a1-sync/ft2/resnet50/i100"
    rest = replace(matilda, points=tuple(p for p in matilda.points if p.point_id != out))
    step_s = 32 / 174.9
    scenario = Scenario(
        cluster="matilda-8xv100",
        architecture="a1-sync",
        state_bytes=204_700_000,
        mtbf_s=3600.0,
        step_time_s=step_s,
        duration_s=86400.0,
        detection_s=1.0,
        regroup_s=5.0,
        init_s=0.0,
        interval=100,
        failure_regime=FailureRegime.SINGLE,
        fewer_ranks=FewerRanks.REFUSE,
        restore_basis=RestoreBasis.PUBLISHED,
    )
    mechanism = matilda.mechanisms["ft2"]
    (found,) = [c for c in leave_one_out(matilda).comparisons if c.point_id == out]
    asked = predict(rest, scenario, mechanism)
    assert found.predicted_s == pytest.approx(asked.model.stall_s, rel=1e-12)
    assert found.measured_s == pytest.approx(0.0391 * 100 * step_s)
    # Table V and VIII: 3.91 % on A1, from 3.78 % on A2 by the ratio of FT4's saves.
    assert found.error_fraction == pytest.approx(-0.0075, abs=5e-4)
    restore_s, rules = predict_restore(rest, scenario, mechanism)
    assert restore_s == asked.model.restore_s == 0.017
    assert [applied.rule for applied in rules] == [Rule.LIKE_ARCHITECTURE]


def test_another_state_size(cluster: Callable[..., ClusterEvidence]) -> None:
    small = point("a2", "ft1", overhead=0.02, save=0.2, restore=0.3)
    large = point("a2", "ft1", size=300 * _MB, overhead=0.06, save=0.6, restore=0.6)
    found = leave_one_out(cluster(small, large))
    # The saves are in proportion to the size, the restores are not.
    error = errors(found, Rule.STATE_SIZE, Part.STALL)
    assert error.n == 2
    assert error.largest_fraction == pytest.approx(0.0, abs=1e-9)
    restores = errors(found, Rule.RESTORE_SIZE, Part.RESTORE)
    assert restores.n == 2
    assert restores.largest_fraction == pytest.approx(0.5)  # 0.9 s instead of 0.6 s
    far = point("a2", "ft1", size=900 * _MB, overhead=0.06, save=0.6, restore=0.6)
    too_far = leave_one_out(cluster(small, far))
    assert too_far.comparisons == ()
    assert all("no data near enough" in missing.reason for missing in too_far.not_predicted)
    assert len(too_far.not_predicted) == 4


def test_a_size_left_out_is_not_in_the_fit_that_predicts_it(
    cluster: Callable[..., ClusterEvidence],
) -> None:
    points = [
        point("a2", "ft1", size=size * _MB, overhead=0.02, save=save, restore=0.3)
        for size, save in ((100, 0.2), (200, 0.3), (300, 5.0))
    ]
    found = leave_one_out(cluster(*points))
    (largest,) = [
        c for c in found.comparisons if c.point_id == points[2].point_id and c.part is Part.STALL
    ]
    (words,) = [a.words for a in largest.rules if a.rule is Rule.STATE_SIZE]
    assert "fitted over 2 measurements (100 MB to 200 MB)" in words


def test_another_interval_and_another_step_time(cluster: Callable[..., ClusterEvidence]) -> None:
    by_interval = leave_one_out(
        cluster(
            point("a2", "ft1", interval=100, overhead=0.02, restore=0.3),
            point("a2", "ft1", interval=50, overhead=0.05, restore=0.3),
        )
    )
    # 0.02 at 100 steps says 0.04 at 50, 20 % below; 0.05 at 50 says 0.025 at 100, 25 % above.
    error = errors(by_interval, Rule.INTERVAL, Part.STALL)
    assert error.signed_median_fraction == pytest.approx(0.025)
    assert error.largest_fraction == pytest.approx(0.25)
    by_step = leave_one_out(
        cluster(
            baseline("a2", 0.2, workload="slow"),
            point("a2", "ft1", overhead=0.02, restore=0.3),
            point("a2", "ft1", workload="slow", overhead=0.01, restore=0.3),
        )
    )
    error = errors(by_step, Rule.STEP_TIME, Part.STALL)
    assert error.n == 2
    assert error.largest_fraction == pytest.approx(0.0, abs=1e-12)


def test_both_its_own_sizes_and_its_likes_predict_a_point(
    cluster: Callable[..., ClusterEvidence],
) -> None:
    found = leave_one_out(
        cluster(
            point("a2", "ft1", overhead=0.02, save=0.2, restore=0.3),
            point("a2", "ft1", size=300 * _MB, overhead=0.06, save=0.6, restore=0.6),
            point("a3", "ft1", overhead=0.03, save=0.3, restore=0.3),
        )
    )
    of_small = [
        c for c in found.comparisons if c.point_id == "a2/ft1/w/100/100/" and c.part is Part.STALL
    ]
    assert names(of_small) == [{Rule.STATE_SIZE}, {Rule.LIKE_ARCHITECTURE}]


def test_restores_by_calibration(cluster: Callable[..., ClusterEvidence]) -> None:
    fits = (
        fit(CalibrationPath.STORAGE_READ, 1e-3, 1e-9),
        fit(CalibrationPath.DESERIALISE, 0.0, 1e-9),
    )
    took = point("a2", "ft1", overhead=0.02, restore=0.4)
    found = leave_one_out(cluster(took, fits=fits))
    error = errors(found, Rule.CALIBRATED_RESTORE, Part.RESTORE)
    assert error.n == 1
    assert error.median_fraction == pytest.approx(1.0 - 0.201 / 0.4)
    # What was measured has no say in it.
    slower = replace(took, values={**took.values, Quantity.RESTORE: measured(0.8)})
    (comparison,) = leave_one_out(cluster(slower, fits=fits)).comparisons
    assert comparison.predicted_s == pytest.approx(0.201)
    assert comparison.measured_s == 0.8
    # Two sizes: the calibration scales the one to the other as well.
    large = point("a2", "ft1", size=300 * _MB, overhead=0.06, restore=0.601)
    both = leave_one_out(cluster(took, large, fits=fits))
    assert errors(both, Rule.CALIBRATED_RESTORE_SIZE, Part.RESTORE).n == 2
    assert errors(both, Rule.CALIBRATED_RESTORE, Part.RESTORE).n == 2


def test_what_cannot_be_told_from_zero_is_kept_apart(
    cluster: Callable[..., ClusterEvidence],
) -> None:
    noisy = point("a2", "ft1", overhead=measured(0.004, 0.005), restore=0.3)
    clear = point("a3", "ft1", overhead=measured(0.02, 0.005), restore=0.3)
    error = errors(leave_one_out(cluster(noisy, clear)), Rule.LIKE_ARCHITECTURE, Part.STALL)
    assert (error.n, error.n_apart) == (1, 1)
    assert error.largest_fraction == pytest.approx(0.8)  # 0.004 instead of 0.02
    assert error.largest_apart_fraction == pytest.approx(0.016)
    # Nobody repeated it: it may be off by as much as the others, in the median.
    once = point("a2", "ft1", overhead=0.004, restore=0.3)
    error = errors(leave_one_out(cluster(once, clear)), Rule.LIKE_ARCHITECTURE, Part.STALL)
    assert (error.n, error.n_apart) == (1, 1)
    # Below zero it is noise whatever its interval.
    below = point("a2", "ft1", overhead=-0.01, restore=0.3)
    plain = point("a3", "ft1", overhead=0.02, restore=0.3)
    error = errors(leave_one_out(cluster(below, plain)), Rule.LIKE_ARCHITECTURE, Part.STALL)
    assert (error.n, error.n_apart) == (1, 1)


def test_a_stall_that_the_saves_time_themselves_is_not_near_zero(
    cluster: Callable[..., ClusterEvidence],
) -> None:
    """Within a wide interval of the overhead, the saves' own clocks count."""
    wide = [
        point(name, "ft1", overhead=measured(0.004, 0.05), save=save, restore=0.3)
        for name, save in (("a2", 0.1), ("a3", 0.2))
    ]
    found = leave_one_out(cluster(*wide))
    error = errors(found, Rule.LIKE_ARCHITECTURE, Part.STALL)
    assert (error.n, error.n_apart) == (2, 0)
    assert sorted(c.measured_s for c in found.comparisons if c.part is Part.STALL) == [0.1, 0.2]


def test_a_point_without_a_step_time_is_named(cluster: Callable[..., ClusterEvidence]) -> None:
    unknown = point("a2", "ft1", workload="unpublished", overhead=0.02, restore=0.3)
    found = leave_one_out(cluster(unknown, point("a3", "ft1", overhead=0.02, restore=0.3)))
    named = {(m.part, m.reason) for m in found.not_predicted if m.point_id == unknown.point_id}
    reason = "no step time is known of unpublished without a mechanism"
    assert named == {(part, reason) for part in Part}


def test_only_measured_values_are_compared(cluster: Callable[..., ClusterEvidence]) -> None:
    bound = EvidencedValue(0.3, Evidence.ANALYTICAL)
    design = EvidencedValue(0.0, Evidence.DESIGN_VALUE)
    found = leave_one_out(
        cluster(
            *(point(name, "ft1", overhead=design, restore=bound) for name in ("a2", "a3")),
            *(point(name, "ft2", overhead=0.02, restore=bound) for name in ("a2", "a3")),
        )
    )
    assert {(c.mechanism, c.part) for c in found.comparisons} == {("ft2", Part.STALL)}


def test_what_was_never_needed_is_not_checked(cluster: Callable[..., ClusterEvidence]) -> None:
    found = leave_one_out(cluster(point("a2", "ft1", overhead=0.02, restore=0.3)))
    assert [c.rule for c in found.checks] == [*Rule]
    assert all(c.not_checked == NEEDS[c.rule] and not c.errors for c in found.checks)


def test_a_candidate_has_the_check_of_each_of_its_rules(matilda: ClusterEvidence) -> None:
    answer = recommend(
        matilda,
        ScenarioInput(architecture="a3", state_bytes=400_000_000, mtbf_s=14400.0),
    )
    known = {check.rule: check for check in leave_one_out(matilda).checks}
    ft1 = next(c for c in answer.candidates if c.mechanism == "ft1")
    assert [check.rule for check in ft1.checks] == [
        Rule.LIKE_ARCHITECTURE,
        Rule.STEP_TIME,
        Rule.STATE_SIZE,
        Rule.RESTORE_SIZE,
        Rule.INTERVAL,
    ]
    for candidate in answer.candidates:
        assert len(candidate.checks) == len(candidate.rules) > 0
        assert all(check == known[check.rule] for check in candidate.checks)


def test_it_is_computed_once_and_only_for_an_extrapolation(
    matilda: ClusterEvidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Rule] = []
    check = module._check

    def noted(rule: Rule, comparisons: Any) -> Any:
        asked.append(rule)
        return check(rule, comparisons)

    monkeypatch.setattr(module, "_check", noted)
    evidence = replace(matilda)

    def answered(**more: Any) -> tuple[Candidate, ...]:
        stated: dict[str, Any] = {"architecture": "a2", "state_bytes": 204_700_000, "mtbf_s": 1e4}
        return recommend(evidence, ScenarioInput(**(stated | more))).candidates

    assert all(not c.rules for c in answered(interval=IntervalPolicy.MEASURED))
    assert asked == []
    answered()
    answered(mtbf_s=2e4)
    assert asked == [*Rule]


def test_what_is_left_is_as_if_it_had_been_read_so(matilda: ClusterEvidence) -> None:
    leave_one_out(matilda)  # the step times that it found are carried over
    checked = 0
    for (_, mechanism), points in matilda.points_by_pair.items():
        if matilda.mechanisms[mechanism].cadence is Cadence.NEVER:
            continue
        for out in (points[:1], points):
            rest = module._without(matilda, out)
            anew = replace(matilda, points=tuple(p for p in matilda.points if p not in out))
            assert rest.points == anew.points
            assert rest.points_by_pair == anew.points_by_pair
            for architecture in matilda.architectures:
                for workload in {p.workload for p in matilda.points}:
                    kept = step_time_s(rest, architecture, workload)
                    assert kept == step_time_s(anew, architecture, workload)
                    checked += kept is not None
    assert checked
