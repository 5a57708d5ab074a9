"""The arithmetic of pooling: means with Student's t, and what is not averaged."""

import dataclasses
from math import sqrt
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from db.pooling import Mean, PointKey, PooledPoint, PooledRun, mean_of, pool, t_quantile_95
from db.records import DispersionKind, Evidence, MissingReason, PointOutcome, Quantity, RunOutcome
from db.records import RunQuantity as Q

KEY = PointKey(
    cluster="mybox",
    software_stack="mybox/torch-2.13.0",
    architecture="a2",
    mechanism="ft9",
    workload="resnet50-cpu",
    profile="cpu",
    device="cpu",
    backend="gloo",
    world_size=8,
    trace="F1",
    interval_steps=None,
    replicas=None,
    way=None,
    lead_s=None,
    group_timeout_s=10.0,
    round_limit_s=5.0,
    detector="group-timeout",
)
HALT: dict[Q, float | None] = {
    Q.THROUGHPUT: 40.0,
    Q.POST_FAILURE_THROUGHPUT: 0.0,
    Q.AGGREGATE_SLOWDOWN: 1.0,
    Q.FIRST_DETECTION: 0.25,
    Q.DETECTION: 10.0,
}


def run(name: str, outcome: RunOutcome = RunOutcome.HALTED, **changes: Any) -> PooledRun:
    made = PooledRun(name, KEY, outcome, 1000, HALT)
    return dataclasses.replace(made, **changes)


def only(*runs: PooledRun) -> PooledPoint:
    (point,) = pool(runs)
    return point


def test_one_run_has_the_interval_of_its_own_blocks() -> None:
    alone = run("r1", values={**HALT, Q.OVERHEAD: 0.02}, overhead_half_width=0.01)
    found = only(alone).values[Quantity.OVERHEAD]
    assert (found.value, found.n, found.dispersion) == (0.02, 1, 0.01)
    assert found.dispersion_kind is DispersionKind.CI95_HALF_WIDTH
    other = run("r2", values={**HALT, Q.OVERHEAD: 0.04}, overhead_half_width=0.01)
    both = only(alone, other).values[Quantity.OVERHEAD]
    assert both.n == 2
    assert both.dispersion == pytest.approx(12.706 * 0.01)


def test_means_and_their_intervals() -> None:
    assert mean_of([]) is None
    assert mean_of([3.0]) == Mean(3.0, 1, None)
    found = mean_of([1.0, 2.0, 3.0])
    assert found is not None
    assert (found.value, found.n) == (2.0, 3)
    assert found.half_width == pytest.approx(4.303 / sqrt(3))


@pytest.mark.parametrize(
    ("degrees", "t"), [(1, 12.706), (2, 4.303), (30, 2.042), (39, 2.042), (40, 2.021), (9999, 1.98)]
)
def test_students_t(degrees: int, t: float) -> None:
    assert t_quantile_95(degrees) == t


def test_t_only_falls() -> None:
    found = [t_quantile_95(degrees) for degrees in range(1, 200)]
    assert found == sorted(found, reverse=True)


@given(st.lists(st.floats(0.1, 1e6), min_size=2, max_size=40))
def test_the_interval_holds_the_mean_whatever_the_order(values: list[float]) -> None:
    found, reversed_ = mean_of(values), mean_of(values[::-1])
    assert found is not None
    assert reversed_ is not None
    assert min(values) * 0.999999 <= found.value <= max(values) * 1.000001
    assert found.value == pytest.approx(reversed_.value)
    assert found.half_width is not None
    assert found.half_width >= 0.0


def test_runs_that_halted() -> None:
    point = only(*(run(str(n), values={**HALT, Q.THROUGHPUT: 39.0 + n}) for n in range(3)))
    assert (point.outcome, point.state_bytes, point.run_ids) == (
        PointOutcome.COMPLETE,
        1000,
        ("0", "1", "2"),
    )
    before, after = (
        point.values[Quantity.THROUGHPUT],
        point.values[Quantity.POST_FAILURE_THROUGHPUT],
    )
    assert (before.value, before.n) == (40.0, 3)
    assert before.dispersion == pytest.approx(4.303 / sqrt(3))
    assert before.dispersion_kind is DispersionKind.CI95_HALF_WIDTH
    assert (after.value, after.n, after.dispersion, after.conditions) == (0.0, 3, None, "halted")
    assert point.values[Quantity.AGGREGATE_SLOWDOWN].value == 1.0
    assert point.values[Quantity.RESUMED].value == 0.0
    detection = point.values[Quantity.DETECTION]
    assert (detection.value, detection.n, detection.dispersion) == (10.0, 3, 0.0)
    assert detection.conditions == "until the last rank knew; the first after 0.25 s"
    assert point.note == "Measured: 3 halted"


def test_one_run_has_no_interval() -> None:
    before = only(run("0")).values[Quantity.THROUGHPUT]
    assert (before.n, before.dispersion, before.dispersion_kind) == (1, None, None)


def test_some_halted_and_some_went_on() -> None:
    went_on = {**HALT, Q.POST_FAILURE_THROUGHPUT: 30.0, Q.AGGREGATE_SLOWDOWN: 0.5}
    point = only(run("0"), run("1", RunOutcome.GRACEFUL, values=went_on))
    after = point.values[Quantity.POST_FAILURE_THROUGHPUT]
    assert (after.value, after.n) == (15.0, 2)
    assert after.conditions == "1 of 2 runs halted, and count as standing still"
    assert point.values[Quantity.RESUMED].value == 0.5
    assert point.note == "Measured: 1 graceful, 1 halted"


def test_a_deadline_is_left_out_of_the_mean_and_said() -> None:
    late = run("1", values={**HALT, Q.DETECTION: None}, deadline_s=120.0)
    detection = only(run("0"), late).values[Quantity.DETECTION]
    assert (detection.value, detection.n) == (10.0, 1)
    assert "not detected within 120 s in 1 of 2 runs" in detection.conditions
    detection = only(late).values[Quantity.DETECTION]
    assert (detection.value, detection.missing_reason) == (None, MissingReason.FAILED)
    assert (detection.n, "within 120 s in 1 of 1 runs" in detection.conditions) == (1, True)


def test_runs_without_a_fault_have_a_throughput_only() -> None:
    key = dataclasses.replace(KEY, trace=None)
    calm = run("0", RunOutcome.COMPLETED, key=key, values={Q.THROUGHPUT: 40.0})
    assert set(only(calm).values) == {Quantity.THROUGHPUT}


@pytest.mark.parametrize(
    ("outcome", "expected", "reason"),
    [
        (RunOutcome.INFEASIBLE, PointOutcome.INFEASIBLE, MissingReason.INFEASIBLE),
        (RunOutcome.HANG, PointOutcome.DEADLOCK, MissingReason.FAILED),
        (RunOutcome.HALTED, PointOutcome.FAILED, MissingReason.FAILED),
    ],
)
def test_runs_that_never_trained(
    outcome: RunOutcome, expected: PointOutcome, reason: MissingReason
) -> None:
    point = only(run("0", outcome, values={Q.THROUGHPUT: None}))
    assert point.outcome is expected
    assert point.values[Quantity.THROUGHPUT].missing_reason is reason


CALM = dataclasses.replace(KEY, trace=None)
RECOVERED: dict[Q, float | None] = {
    **HALT,
    Q.POST_FAILURE_THROUGHPUT: 40.0,
    Q.RESTORE: 0.25,
    Q.RECOVERY: 1.25,
    Q.RECOVERY_TOTAL: 1.75,
    Q.LOST_STEPS: 10.0,
    Q.SAVE_FOREGROUND: 0.125,
}


def with_mechanism(**changes: Any) -> PointKey:
    made = dataclasses.replace(KEY, mechanism="ft1", interval_steps=10, replicas=0)
    return dataclasses.replace(made, **changes)


def test_what_a_mechanism_gave_is_pooled_from_the_runs_that_recovered() -> None:
    key = with_mechanism(way="spare")
    longer = {**RECOVERED, Q.RESTORE: 0.75}
    halted = {**HALT, Q.SAVE_FOREGROUND: 0.125}
    point = only(
        run("0", RunOutcome.RECOVERED, key=key, values=RECOVERED),
        run("1", RunOutcome.RECOVERED, key=key, values=longer),
        run("2", key=key, values=halted),
    )
    restore = point.values[Quantity.RESTORE]
    assert (restore.value, restore.n) == (0.5, 2)
    assert restore.conditions == "the phase restore of a recovery; in 2 of 3 runs"
    assert point.values[Quantity.RECOVERY].value == 1.25
    assert point.values[Quantity.LOST_STEPS].value == 10.0
    assert (point.values[Quantity.SAVE].value, point.values[Quantity.SAVE].n) == (0.125, 3)
    assert point.values[Quantity.RESUMED].value == pytest.approx(2 / 3)
    assert Quantity.OVERHEAD not in point.values
    assert "recovery with spares in place" in point.key.conditions
    assert point.outcome is PointOutcome.COMPLETE


def test_an_overhead_goes_to_the_points_of_the_same_mechanism() -> None:
    """Whatever trace, way, detector or timeout they have; not to another interval."""
    calm = with_mechanism(trace=None)
    values = {Q.THROUGHPUT: 40.0, Q.OVERHEAD: 0.02, Q.SAVE_FOREGROUND: 0.0625}
    struck = with_mechanism(way="spare", detector="supervisor", group_timeout_s=30.0)
    rare = with_mechanism(way="spare", interval_steps=20)
    found = pool(
        [
            run("0", RunOutcome.COMPLETED, key=calm, values=values),
            run("1", RunOutcome.COMPLETED, key=calm, values={**values, Q.OVERHEAD: 0.04}),
            run("2", RunOutcome.RECOVERED, key=struck, values=RECOVERED),
            run("3", RunOutcome.RECOVERED, key=rare, values=RECOVERED),
        ]
    )
    overheads = {point.key: point.values.get(Quantity.OVERHEAD) for point in found}
    saves = {point.key: point.values.get(Quantity.SAVE) for point in found}
    for key in (calm, struck):
        overhead = overheads[key]
        assert overhead is not None
        assert overhead.value == pytest.approx(0.03)
        assert overhead.n == 2
        assert "from 2 runs without a fault" in overhead.conditions
        save = saves[key]
        assert save is not None
        assert (save.value, save.n) == (0.0625, 2)  # the struck run's own were longer
    assert overheads[rare] is None


def test_the_save_of_a_mechanism_that_works_on_warning_is_its_emergency_save() -> None:
    key = with_mechanism(mechanism="ft4", interval_steps=None, lead_s=2.0, way="spare")
    warned = {**RECOVERED, Q.EMERGENCY: 0.75, Q.EMERGENCY_SAVE: 0.5}
    point = only(run("0", RunOutcome.RECOVERED, key=key, values=warned))
    save = point.values[Quantity.SAVE]
    assert (save.value, save.conditions) == (0.5, "emergency save, done 0.75 s after the warning")
    assert point.values[Quantity.EFFECTIVE_RESTORE].value == 0.75
    overhead = point.values[Quantity.OVERHEAD]
    assert (overhead.value, overhead.evidence, overhead.n) == (0.0, Evidence.DESIGN_VALUE, None)


def test_a_state_that_nobody_saw_makes_no_point() -> None:
    assert pool([run("0", state_bytes=None)]) == []
    assert only(run("0", state_bytes=None), run("1")).state_bytes == 1000


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(PointKey)])
def test_every_part_of_a_key_keeps_points_apart(field: str) -> None:
    """Two keys that differ in anything are two points, with two ids."""
    value = getattr(KEY, field)
    other: Any = 7 if value is None or isinstance(value, int | float) else f"{value}x"
    key = dataclasses.replace(KEY, **{field: other})
    points = pool([run("0"), run("1", key=key)])
    assert len({point.key.point_id for point in points}) == 2


def test_ids_are_names_without_spaces_and_not_too_long() -> None:
    assert KEY.point_id == (
        "mybox/a2/ft9/resnet50-cpu/cpu/f1/w8/t10/round5/group-timeout/cpu-gloo/torch-2.13.0"
    )
    spaced = dataclasses.replace(KEY, trace="my schedule/1").point_id
    assert "/my%20schedule%2f1/" in spaced.lower()
    longs = [dataclasses.replace(KEY, workload="w" * 150, cluster=c * 100).point_id for c in "ab"]
    assert {len(name) for name in longs} == {200}
    assert longs[0] != longs[1]


def test_what_was_lost_at_once_tells_points_apart() -> None:
    on_nodes = dataclasses.replace(KEY, nodes=3)
    keys = [KEY, on_nodes, *(dataclasses.replace(on_nodes, failure_domain=d) for d in "rn")]
    assert len({key.point_id for key in keys}) == 4
    assert KEY.point_id == dataclasses.replace(KEY, nodes=None).point_id
    lost = dataclasses.replace(on_nodes, failure_domain="node")
    assert lost.point_id.replace("/n3/lost-node", "") == KEY.point_id
    assert lost.conditions == f"{KEY.conditions}, 3 nodes, a node lost at once"
    assert lost.undisturbed == dataclasses.replace(KEY.undisturbed, nodes=3)
