"""Clusters side by side: every cell that one has is there, equal ones are found equal, changed ones
changed, and what is missing is missing, never 0."""

from dataclasses import replace

import pytest

from advisor.comparison.clusters import ComparedRow, Comparison, compare
from advisor.comparison.matching import Compared, Key, numbers_of
from advisor.errors import UserError
from advisor.reports.comparison_document import comparison_document
from advisor.reports.comparison_words import (
    MISSING,
    count_lines,
    machine_rows,
    row_cells,
    row_header,
)
from db.records import (
    CalibrationFit,
    CalibrationPath,
    ClusterEvidence,
    Evidence,
    FitModel,
    FittedNumber,
    MissingReason,
    OperatingPoint,
    Quantity,
)
from tests.advisor.comparison.twins import measured, twin, with_value, without


def cells(found: Comparison, compared: Compared, mechanism: str) -> list[ComparedRow]:
    """Those of A2."""
    return [
        row
        for row in found.rows
        if (row.key.compared, row.key.mechanism) == (compared, mechanism)
        and row.key.architecture == "a2"
    ]


def test_a_twin_is_equal_in_every_cell(ours: ClusterEvidence) -> None:
    found = compare([ours, twin(ours)])
    assert len(found.rows) > 100
    (counts,) = found.counts
    assert (counts.only_first, counts.only_this, counts.unlike) == (0, 0, 0)
    assert counts.more_than_chance == 0
    assert counts.maybe_chance > 100
    for row in found.rows:
        (difference,) = row.differences
        first, other = row.numbers
        assert first is not None
        assert other is not None
        assert first.found == other.found
        if difference is not None and difference.ratio is not None:
            assert difference.ratio == 1.0
    always = {*Compared} - {Compared.EFFECTIVE_RESTORE}  # of announced faults only
    assert always <= {row.key.compared for row in found.rows}


def test_every_number_is_that_of_its_point(matilda: ClusterEvidence, ours: ClusterEvidence) -> None:
    """And every number of the evidence that is compared has its cell."""
    quantities = {
        Compared.OVERHEAD: Quantity.OVERHEAD,
        Compared.EMERGENCY_SAVE: Quantity.SAVE,
        Compared.RESTORE: Quantity.RESTORE,
        Compared.EFFECTIVE_RESTORE: Quantity.EFFECTIVE_RESTORE,
        Compared.RECOVERY: Quantity.RECOVERY,
        Compared.DETECTION: Quantity.DETECTION,
    }
    found = compare([matilda, ours])
    for row in found.rows:
        for number, evidence in zip(row.numbers, (matilda, ours), strict=True):
            if number is None:
                continue
            assert number.point in evidence.points
            assert (number.point.architecture, number.point.mechanism) == (
                row.key.architecture,
                row.key.mechanism,
            )
            if row.key.compared is not Compared.STALL:  # test_matching.py has those
                assert number.quantity is quantities[row.key.compared]
                assert number.found is number.point.values[quantities[row.key.compared]]
            if row.key.trace is not None:
                assert (number.point.trace or "F1") == row.key.trace
            if row.key.compared is Compared.OVERHEAD:
                assert number.point.interval_steps == row.key.interval_steps
    for place, evidence in enumerate((matilda, ours)):
        has = {row.key for row in found.rows if row.numbers[place] is not None}
        assert has == numbers_of(evidence).keys()
    counts = found.counts[0]
    with_a_number = [
        tuple(n is not None and n.found.value is not None for n in row.numbers)
        for row in found.rows
    ]
    assert counts.both == with_a_number.count((True, True))
    assert counts.only_first == with_a_number.count((True, False))
    assert counts.only_this == with_a_number.count((False, True))
    assert counts.both > 0
    assert counts.only_first > 0
    assert counts.only_this > 0


def test_what_was_changed_is_found_changed(matilda: ClusterEvidence) -> None:
    def certain(point: OperatingPoint) -> OperatingPoint:
        known = measured(0.1, 0.004) | {"evidence": Evidence.MEASURED}
        return with_value(point, Quantity.RESTORE, **known)

    def twice(point: OperatingPoint) -> OperatingPoint:
        if (point.architecture, point.mechanism) != ("a2", "ft1"):
            return point
        return with_value(point, Quantity.RESTORE, **measured(0.2, 0.004))

    first = twin(matilda, certain)
    found = compare([first, twin(first, twice, "slower")])
    changed = cells(found, Compared.RESTORE, "ft1")
    assert changed
    for row in changed:
        (difference,) = row.differences
        assert difference is not None
        assert difference.ratio == pytest.approx(2.0)
        assert difference.is_more_than_chance
        assert difference.low is not None
        assert difference.high is not None
        assert 1.8 < difference.low < 2.0 < difference.high < 2.2
    for row in cells(found, Compared.RESTORE, "ft2"):
        assert row.differences[0] is not None
        assert row.differences[0].is_more_than_chance is False


def test_names_have_to_differ(matilda: ClusterEvidence) -> None:
    with pytest.raises(UserError, match="at least two"):
        compare([matilda])
    with pytest.raises(UserError, match="twice"):
        compare([matilda, matilda])


def test_what_one_lacks_is_counted_and_missing_never_zero(matilda: ClusterEvidence) -> None:
    other = twin(matilda, without(lambda p: p.architecture == "a4"))
    for found, place in ((compare([matilda, other]), 1), (compare([other, matilda]), 0)):
        lacking = [row for row in found.rows if row.numbers[place] is None]
        assert {row.key.architecture for row in lacking} == {"a4"}
        (counts,) = found.counts
        with_value_there = sum(
            n is not None and n.found.value is not None for row in lacking for n in row.numbers
        )
        only = (counts.only_first, counts.only_this)
        assert only == ((with_value_there, 0) if place else (0, with_value_there))
        assert all(row.differences == (None,) and row.unlike == ((),) for row in lacking)
        for row in lacking:
            shown = dict(zip(row_header(found), row_cells(row), strict=True))
            assert shown[found.names[place]] == MISSING
            assert shown[f"{found.names[1]} / {found.names[0]}"] == "–"
        document = comparison_document(found)
        numbers = [
            cell["numbers"][found.names[place]]
            for cell in document["cells"]
            if cell["architecture"] == "a4"
        ]
        assert numbers
        assert {number["value"] for number in numbers} == {None}
        assert {number["missing"] for number in numbers} == {"not_measured"}
        assert f"has {with_value_there}" in " ".join(count_lines(found))


def test_a_number_that_does_not_exist_says_why(matilda: ClusterEvidence) -> None:
    def failed(point: OperatingPoint) -> OperatingPoint:
        if (point.architecture, point.mechanism) != ("a2", "ft2"):
            return point
        reason = MissingReason.FAILED
        return with_value(point, Quantity.RESTORE, value=None, missing_reason=reason)

    found = compare([matilda, twin(matilda, failed)])
    rows = cells(found, Compared.RESTORE, "ft2")
    assert rows
    assert all(row.differences == (None,) for row in rows)
    assert {row_cells(row)[7] for row in rows} == {"failed"}
    lost = [row for row in rows if row.numbers[0] is not None]
    assert found.counts[0].only_first == len(lost) == 1


def test_state_sizes_that_both_measured_stand_side_by_side(matilda: ClusterEvidence) -> None:
    """The paper measured A2 with two sizes; the other cluster has one of them only."""
    other = twin(matilda, without(lambda p: p.workload == "linear-m2"))
    found = compare([matilda, other])
    small, large = cells(found, Compared.RESTORE, "ft1")
    assert [n and n.point.state_bytes for n in small.numbers] == [204_700_000] * 2
    assert [n and n.point.state_bytes for n in large.numbers] == [2_600_000_000, None]


def test_other_sizes_share_a_row_that_says_so(matilda: ClusterEvidence) -> None:
    larger = twin(matilda, lambda p: replace(p, state_bytes=5 * p.state_bytes))
    small = twin(matilda, without(lambda p: p.state_bytes > 10**9), "small")
    found = compare([small, larger])
    rows = cells(found, Compared.RESTORE, "ft1")
    assert [row.unlike for row in rows] == [(("state",),), ((),)]
    sizes = [tuple(n and n.point.state_bytes for n in row.numbers) for row in rows]
    assert sizes == [(204_700_000, 1_023_500_000), (None, 13_000_000_000)]


def test_an_overhead_goes_with_its_interval_and_a_stall_does_not(
    matilda: ClusterEvidence,
) -> None:
    other = twin(
        matilda,
        lambda p: replace(p, interval_steps=50) if p.interval_steps == 100 else p,
    )
    found = compare([matilda, other])
    overheads = cells(found, Compared.OVERHEAD, "ft3")
    assert [(row.key.interval_steps, *map(bool, row.numbers)) for row in overheads] == [
        (50, False, True),
        (100, True, False),
    ]
    (stall,) = cells(found, Compared.STALL, "ft3")
    assert stall.is_common
    # The same share of half the steps.
    assert stall.differences[0] is not None
    assert stall.differences[0].ratio == pytest.approx(0.5)


def test_a_trace_that_is_not_stated_counts_as_one_failure(matilda: ClusterEvidence) -> None:
    named = twin(matilda, lambda p: replace(p, trace=p.trace or "F1"))
    found = compare([matilda, named])
    assert all(row.numbers[0] is not None for row in found.rows)
    assert all(row.numbers[1] is not None for row in found.rows)


def test_several_clusters_are_compared_with_the_first(matilda: ClusterEvidence) -> None:
    third = twin(matilda, without(lambda p: p.mechanism == "ft3"), "third")
    found = compare([matilda, twin(matilda), third], ["a2"], ["ft2", "ft3"])
    assert found.names == ("matilda-8xv100", "twin", "third")
    assert {row.key.mechanism for row in found.rows} == {"ft2", "ft3"}
    assert {row.key.architecture for row in found.rows} == {"a2"}
    second, last = found.counts
    assert (second.only_first, last.only_this) == (0, 0)
    assert last.only_first == second.both - last.both > 0
    assert len(row_header(found)) == len(row_cells(found.rows[0])) == 6 + 1 + 2 * 4
    titles = [title for title, *_ in machine_rows(found)]
    assert "software" in titles
    assert all(len(row) == 4 for row in machine_rows(found))


def fit(session: str, latency_s: float, half: float, processes: int = 1) -> CalibrationFit:
    return CalibrationFit(
        session=session,
        started_at=f"2026-01-0{session}T00:00:00Z",
        path=CalibrationPath.STORAGE_WRITE,
        processes=processes,
        model=FitModel.BYTES,
        n=20,
        outliers=0,
        spread_fraction=0.1,
        latency_s=FittedNumber(latency_s, latency_s - half, latency_s + half),
        s_per_byte=FittedNumber(1e-9, 0.9e-9, 1.1e-9),
        s_per_rank=None,
        smallest_bytes=1,
        largest_bytes=1_000_000,
        conditions="",
        source_id=None,
    )


def test_calibrations_side_by_side_by_the_newest_fit(matilda: ClusterEvidence) -> None:
    first = replace(twin(matilda), fits=(fit("1", 9.0, 0.1), fit("2", 1.0, 0.1)))
    other = replace(matilda, fits=(fit("1", 1.5, 0.1), fit("1", 1.5, 0.1, processes=8)))
    found = compare([first, other])
    assert found.uncalibrated == ()
    latency, rate = found.fits
    assert (latency.coefficient, latency.processes) == ("latency_s", 1)
    assert [f and f.session for f in latency.fits] == ["2", "1"]
    assert latency.differences[0] is not None
    assert latency.differences[0].ratio == pytest.approx(1.5)
    assert latency.differences[0].is_more_than_chance
    assert rate.coefficient == "s_per_byte"
    assert rate.differences[0] is not None
    assert rate.differences[0].is_more_than_chance is False
    # Half of its interval is cut off at 0: by the other half it may be equal.
    cut = replace(fit("3", 0.1, 0.1), latency_s=FittedNumber(0.1, 0.0, 0.9))
    near = replace(matilda, fits=(fit("1", 0.75, 0.1),))
    latency, _ = compare([replace(first, fits=(cut,)), near]).fits
    assert latency.differences[0] is not None
    assert latency.differences[0].is_more_than_chance is False
    alone = compare([first, replace(matilda, fits=())])
    assert alone.fits == ()
    assert alone.uncalibrated == ("matilda-8xv100",)


def test_superseded_points_are_marked(matilda: ClusterEvidence) -> None:
    other = twin(matilda, lambda p: replace(p, superseded_by="twin/torch-9"))
    found = compare([matilda, other], ["a2"], ["ft2"])
    key = Key("a2", "ft2", Compared.OVERHEAD, None, 100)
    row = next(row for row in found.rows if row.key == key)
    assert row_cells(row)[7].endswith("†")
    assert not row_cells(row)[6].endswith("†")
    cell = next(
        c for c in comparison_document(found)["cells"] if c["quantity"] == "overhead_fraction"
    )
    assert cell["numbers"]["twin"]["superseded_by"] == "twin/torch-9"
    assert cell["numbers"]["matilda-8xv100"]["superseded_by"] is None
