"""Clusters side by side in words: what is not measured never looks as if it were."""

from dataclasses import replace

import pytest

from advisor.comparison.clusters import compare
from advisor.comparison.matching import Compared, Key, Number
from advisor.reports.comparison_document import comparison_document
from advisor.reports.comparison_words import (
    SPREAD_NOTE,
    count_lines,
    number_words,
    pair_words,
    row_cells,
    row_header,
)
from db.records import (
    ClusterEvidence,
    DispersionKind,
    Evidence,
    EvidencedValue,
    OperatingPoint,
    Quantity,
)
from tests.advisor.comparison.twins import measured, twin, with_value

_CI95, _RANGE = DispersionKind.CI95_HALF_WIDTH, DispersionKind.HALF_RANGE


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            EvidencedValue(1.2, Evidence.MEASURED, n=3, dispersion=0.1, dispersion_kind=_CI95),
            "1.2 s ± 100 ms, n = 3",
        ),
        (
            EvidencedValue(1.2, Evidence.MEASURED, n=3, dispersion=0.1, dispersion_kind=_RANGE),
            "1.2 s ± 100 ms (half range), n = 3",
        ),
        (
            EvidencedValue(1.2, Evidence.MEASURED, n=3, low=1.0, high=1.5),
            "1.2 s (1 s to 1.5 s), n = 3",
        ),
        (EvidencedValue(0.017, Evidence.ANALYTICAL), "17 ms, analytical"),
        (EvidencedValue(0.017, Evidence.LOWER_BOUND, n=2), "17 ms, n = 2, lower bound"),
        (EvidencedValue(0.0, Evidence.DESIGN_VALUE), "0 s, design value"),
        (EvidencedValue(1.2, Evidence.MEASURED_ANALYTICAL), "1.2 s"),
    ],
)
def test_a_number_says_what_it_is(
    matilda: ClusterEvidence, found: EvidencedValue, said: str
) -> None:
    point = matilda.points[0]
    words = number_words(Compared.RESTORE, Number(point, Quantity.RESTORE, found))
    assert words == said
    old = replace(point, superseded_by="newer")
    marked = number_words(Compared.RESTORE, Number(old, Quantity.RESTORE, found))
    assert marked == f"{said}†"


def _measured_restores(point: OperatingPoint) -> OperatingPoint:
    changes = measured(0.1, 0.004) | {"evidence": Evidence.MEASURED}
    return with_value(point, Quantity.RESTORE, **changes)


def test_a_bound_has_no_ratio_no_verdict_and_a_count_of_its_own(matilda: ClusterEvidence) -> None:
    """FT2's restore is the paper's arithmetic."""
    key = Key("a1-sync", "ft2", Compared.RESTORE, "F1")
    found = compare([matilda, twin(matilda, _measured_restores)], [key.architecture])
    (row,) = (row for row in found.rows if row.key == key)
    cells = dict(zip(row_header(found), row_cells(row), strict=True))
    assert cells["matilda-8xv100"] == "17 ms, analytical"
    assert cells["twin"] == "100 ms ± 4 ms, n = 3"
    assert cells["twin / matilda-8xv100"] == "–"
    assert cells["more than chance"] == "not told: a number is analytical, not measured"
    (counts,) = found.counts
    both = [row for row in found.rows if row.is_common]
    unmeasured = [
        row
        for row in both
        if {n.found.evidence for n in row.numbers if n}
        - {Evidence.MEASURED, Evidence.MEASURED_ANALYTICAL}
    ]
    assert row in unmeasured
    assert counts.not_measured == len(unmeasured) < counts.both == len(both)
    assert counts.both == (
        counts.more_than_chance + counts.maybe_chance + counts.not_told + counts.not_measured
    )
    line, *others = count_lines(found)
    assert f"{counts.not_measured} are not measured on both sides" in line
    assert SPREAD_NOTE in others
    (told,) = comparison_document(found)["counts"]
    assert told["not_measured"] == counts.not_measured


def test_a_pair_says_both_sizes_and_what_is_unlike(matilda: ClusterEvidence) -> None:
    key = Key("a3", "ft2", Compared.RESTORE, "F1")
    larger = twin(matilda, lambda p: replace(p, state_bytes=10 * p.state_bytes, world_size=4))
    found = compare([matilda, twin(matilda, name="same"), larger], ["a3"])
    row = next(row for row in found.rows if row.key == key and None not in row.numbers)
    assert pair_words(row, 0) == "(204.7 MB)"
    assert pair_words(row, 1) == "(204.7 MB | 2.047 GB, unlike in: state, ranks)"
