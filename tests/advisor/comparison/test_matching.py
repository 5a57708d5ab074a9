"""Numbers of several clusters in one row: each is that of its point, sizes that are equal stand
together, and whatever is unlike is said."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from advisor.characterization import step_time_of
from advisor.comparison.clusters import ComparedRow, compare
from advisor.comparison.matching import CLOCK, Compared, Key, Number, numbers_of, rows
from db.records import ClusterEvidence, Evidence, OperatingPoint, Quantity
from tests.advisor.comparison.twins import measured, twin, with_value, without

_MB = 1_000_000
_SMALL, _LARGE = 204_700_000, 2_600_000_000
_A2_FT1_RESTORE = Key("a2", "ft1", Compared.RESTORE, "F1")
_NOTE = "Measured: 3 recovered; gloo, detector supervisor, group timeout 10 s, round limit 5 s, "
_NOTE += "profile cpu, recovery with spares in place"


def of_sizes(evidence: ClusterEvidence, name: str, *sizes: int) -> ClusterEvidence:
    """A cluster that restored FT1 on A2 at these sizes only, 1 ms for each MB."""
    first = next(p for p in evidence.points_of("a2", "ft1") if Quantity.RESTORE in p.values)

    def sized(size: int) -> OperatingPoint:
        number = measured(size / _MB / 1e3, 1e-4)
        only = {Quantity.RESTORE: first.values[Quantity.RESTORE]}
        point = replace(first, trace="F1", state_bytes=size, point_id=f"{name}/{size}", values=only)
        return with_value(point, Quantity.RESTORE, evidence=Evidence.MEASURED, **number)

    return replace(twin(evidence, name=name), points=tuple(map(sized, sizes)))


def restores(*evidences: ClusterEvidence) -> list[tuple[int | None, ...]]:
    """The state sizes of each row, by cluster (MB)."""
    return [
        tuple(None if n is None else n.point.state_bytes // _MB for n in row.numbers)
        for row in rows(evidences)
        if row.key == _A2_FT1_RESTORE
    ]


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        # Each of the others shares one of the two sizes with the first.
        (((100, 900), (100,), (900,)), [(100, 100, None), (900, None, 900)]),
        (((100, 900), (900,), (100,)), [(100, None, 100), (900, 900, None)]),
        (((100,), (100, 900), (900,)), [(100, 100, 900), (None, 900, None)]),
        # Two of them have a size in common that the first has not.
        (((100,), (100, 900), (100, 900)), [(100, 100, 100), (None, 900, 900)]),
        # The last shares no size with the first, and stands beside its nearest.
        (((100, 900), (100,), (700,)), [(100, 100, None), (900, None, 700)]),
        (((100,), (100,), (700,)), [(100, 100, 700)]),
        (((100,), (300, 700), (700,)), [(100, 300, 700), (None, 700, None)]),
        # The first has nothing: every size has its row.
        (((), (100,), (900,)), [(None, 100, None), (None, None, 900)]),
        (
            ((100, 900), (100, 900), (100, 900), (500,)),
            [(100, 100, 100, None), (900,) * 3 + (500,)],
        ),
    ],
)
def test_clusters_with_partly_shared_sizes(
    matilda: ClusterEvidence, sizes: tuple[tuple[int, ...], ...], expected: list[object]
) -> None:
    made = [
        of_sizes(matilda, f"c{place}", *(size * _MB for size in each))
        for place, each in enumerate(sizes)
    ]
    assert restores(*made) == expected


def test_what_both_measured_is_compared_at_its_own_size(matilda: ClusterEvidence) -> None:
    first = of_sizes(matilda, "first", _SMALL, _LARGE)
    small, large = of_sizes(matilda, "small", _SMALL), of_sizes(matilda, "large", _LARGE)
    found = compare([first, small, large])
    assert [row.unlike for row in found.rows] == [((), ())] * 2
    ratios = [[d and d.ratio for d in row.differences] for row in found.rows]
    assert ratios == [[1.0, None], [None, 1.0]]
    assert [(c.both, c.only_first, c.only_this) for c in found.counts] == [(1, 1, 0)] * 2


def stalls(evidence: ClusterEvidence) -> list[Number]:
    return [
        number
        for key, numbers in numbers_of(evidence).items()
        if key.compared is Compared.STALL
        for number in numbers
    ]


def test_a_stall_is_that_of_the_point_it_names(ours: ClusterEvidence) -> None:
    """By the saves' own clocks, or overhead x interval x step."""
    found = stalls(ours)
    assert {number.quantity for number in found} == {Quantity.SAVE, Quantity.OVERHEAD}
    for number in found:
        own = number.point.values[number.quantity]
        assert (number.found.n, number.found.evidence) == (own.n, own.evidence)
        assert own.value is not None
        if number.quantity is Quantity.SAVE:
            assert number.found == own
        else:
            step_s = step_time_of(ours, number.point)
            assert step_s is not None
            share = max(own.value, 0.0)
            interval = number.point.interval_steps
            assert interval is not None
            assert number.found.value == pytest.approx(share * interval * step_s)


def test_of_two_intervals_the_stall_names_the_one_that_shows_it(matilda: ClusterEvidence) -> None:
    """A save each 10 steps shows it more closely than one each 100, also where that one asks."""
    first = next(
        p for p in matilda.points_of("a2", "ft2") if p.interval_steps == 100 and p.trace is None
    )
    rare = with_value(first, Quantity.OVERHEAD, **measured(0.02, 0.01, n=3))
    often = replace(rare, interval_steps=10, point_id="often")
    often = with_value(often, Quantity.OVERHEAD, **measured(0.1, 0.01, n=7))
    baselines = matilda.points_of("a2", "ft9")
    found = stalls(replace(matilda, points=(*baselines, rare, often)))
    step_s = step_time_of(matilda, first)
    assert step_s is not None
    assert [(n.point.point_id, n.point.interval_steps, n.found.n) for n in found] == [
        ("often", 10, 7)
    ] * 2
    assert [n.found.value for n in found] == [pytest.approx(0.1 * 10 * step_s)] * 2


def test_clocks_of_saves_beside_an_overhead_are_unlike(ours: ClusterEvidence) -> None:
    def unclocked(point: OperatingPoint) -> OperatingPoint:
        return replace(
            point, values={q: v for q, v in point.values.items() if q is not Quantity.SAVE}
        )

    found = compare([ours, twin(ours, unclocked)])
    clocked = 0
    for row in found.rows:
        first, other = row.numbers
        assert first is not None
        differ = other is not None and first.quantity is not other.quantity
        assert row.unlike == ((CLOCK,) if differ else (),)
        clocked += differ
        assert not differ or row.key.compared is Compared.STALL
    assert clocked > 0


@pytest.mark.parametrize(
    ("change", "names"),
    [
        (
            lambda p: replace(p, note=p.note.replace("with spares in place", "as a smaller group")),
            {"way": {Compared.RESTORE, Compared.EFFECTIVE_RESTORE, Compared.RECOVERY}},
        ),
        (
            lambda p: replace(p, note=p.note.replace("supervisor", "group-timeout")),
            {"detector": {Compared.RECOVERY, Compared.DETECTION}},
        ),
        (lambda p: replace(p, note=p.note.replace("gloo", "nccl")), {"backend": {*Compared}}),
        (lambda p: replace(p, nodes=3), {"nodes": {*Compared}}),
        (lambda p: replace(p, world_size=4), {"ranks": {*Compared}}),
        (
            lambda p: replace(p, failure_domain="node"),
            {
                "failure domain": {
                    *(Compared.RESTORE, Compared.EFFECTIVE_RESTORE),
                    *(Compared.RECOVERY, Compared.DETECTION),
                }
            },
        ),
    ],
    ids=["way", "detector", "backend", "nodes", "ranks", "failure domain"],
)
def test_every_condition_that_differs_is_named_where_the_number_goes_with_it(
    matilda: ClusterEvidence,
    change: Callable[[OperatingPoint], OperatingPoint],
    names: dict[str, set[Compared]],
) -> None:
    told = twin(matilda, lambda p: replace(p, note=_NOTE))
    found = compare([told, twin(told, change, "other")])
    ((name, compared),) = names.items()
    assert {row.key.compared for row in found.rows} >= compared - {Compared.RECOVERY}
    for row in found.rows:
        assert row.unlike == ((name,) if row.key.compared in compared else (),)
    (counts,) = found.counts
    assert counts.unlike == sum(
        row.key.compared in compared and row.is_common for row in found.rows
    )


def test_of_points_that_differ_in_these_alone_the_like_ones_are_compared(
    matilda: ClusterEvidence,
) -> None:
    """By name the first of them would be another one."""
    first = of_sizes(matilda, "first", _SMALL)
    (spare,) = (replace(p, note=_NOTE) for p in first.points)
    smaller = replace(spare, note=_NOTE.replace("with spares in place", "as a smaller group"))
    others = (
        replace(spare, failure_domain="node"),
        replace(spare, nodes=3),
        replace(spare, note=_NOTE.replace("supervisor", "group-timeout")),
        replace(spare, note=_NOTE.replace("gloo", "nccl")),
        replace(spare, world_size=4),
    )
    for sought in (smaller, *others):
        several = (replace(spare, point_id="a"), *(replace(p, point_id="b") for p in others))
        several = (*several, replace(smaller, point_id="b"))
        many = replace(first, points=several)
        one = replace(first, points=(replace(sought, point_id="c"),))
        for pair in ((many, one), (one, many)):
            (row,) = rows(pair)
            a, b = row.numbers
            assert a is not None
            assert b is not None
            assert replace(a.point, point_id="") == replace(b.point, point_id="")


def test_rows_of_two_clusters_are_as_before(matilda: ClusterEvidence) -> None:
    """A size that one of them has alone keeps its row, whichever comes first."""
    other = twin(matilda, without(lambda p: p.workload == "linear-m2"))

    def of_ft1(found: tuple[ComparedRow, ...]) -> list[tuple[bool, ...]]:
        return [tuple(map(bool, row.numbers)) for row in found if row.key == _A2_FT1_RESTORE]

    assert of_ft1(compare([matilda, other]).rows) == [(True, True), (True, False)]
    assert of_ft1(compare([other, matilda]).rows) == [(True, True), (False, True)]


def test_of_two_stalls_the_one_by_the_same_means_is_compared(matilda: ClusterEvidence) -> None:
    first = next(
        p for p in matilda.points_of("a2", "ft1") if p.interval_steps and step_time_of(matilda, p)
    )
    step_s = step_time_of(matilda, first)
    assert step_s is not None
    save_s = 0.02 * (first.interval_steps or 0) * step_s
    own = first.values[Quantity.OVERHEAD]
    by_overhead = replace(
        first, point_id="b", values={Quantity.OVERHEAD: replace(own, value=0.02, dispersion=None)}
    )
    clocked = {
        Quantity.OVERHEAD: replace(own, **measured(0.02, 0.01)),
        Quantity.SAVE: replace(own, **measured(save_s, 0.1 * save_s)),
    }
    by_clock = replace(first, point_id="a", values=clocked)
    baselines = matilda.points_of("a2", "ft9")
    both = replace(matilda, points=(*baselines, by_clock, by_overhead))
    assert {n.quantity for n in stalls(both)} == {Quantity.SAVE, Quantity.OVERHEAD}
    for point in (by_clock, by_overhead):
        one = replace(matilda, points=(*baselines, point))
        (row,) = (row for row in rows([one, both]) if row.key.compared is Compared.STALL)
        assert [n and n.point.point_id for n in row.numbers] == [point.point_id] * 2
