"""What measuring the other cells could do, however many of them there are."""

from collections.abc import Sequence

import pytest

from advisor.reports.next_words import BASIS, head, helpful, rest_line
from advisor.reports.words import BY_SCATTER
from advisor.uncertainty.cells import CellValue, NextCells
from advisor.uncertainty.measuring import NO_FAULT, Cell


def found(*worth_s: float, mechanism: str | None = "ft1") -> NextCells:
    """An answer behind which there are cells of these worths."""
    cell = Cell("a2", "ft1", "resnet50", NO_FAULT, 100, None)
    cells = tuple(CellValue(cell, ("save_s",), 1, 0.0, each, "advisor measure") for each in worth_s)
    reason = "nothing is priced" if mechanism is None else None
    return NextCells("a cluster", mechanism, 0.9, 1.0, 1.0, 0, 1024, cells, (), reason)


@pytest.mark.parametrize(
    ("worth_s", "line"),
    [
        ([], "No cell can be weighed: none of them has a number of which one knows how it"),
        ([0.0], f"{BY_SCATTER}, measuring any one cell again cannot change the pick."),
        ([0.0, 0.0], f"{BY_SCATTER}, measuring any one cell again cannot change the pick."),
        ([5.0, 0.0], "The other cell, measured again by itself, cannot change the pick."),
        ([5.0, 0.0, 0.0], "Each of the 2 other cells, measured again by itself, cannot change"),
    ],
)
def test_what_the_rest_could_do(worth_s: Sequence[float], line: str) -> None:
    said = rest_line(found(*worth_s))
    assert said is not None
    assert said.startswith(line)
    assert len(helpful(found(*worth_s))) == sum(each > 0.0 for each in worth_s)


def test_where_all_cells_can_and_where_nothing_is_weighed() -> None:
    assert rest_line(found(5.0, 1.0)) is None
    assert rest_line(found(mechanism=None)) is None
    assert head(found(mechanism=None)) == "Nothing to weigh: nothing is priced."


def test_all_of_it_says_by_what() -> None:
    assert head(found(5.0)).startswith(f"{BY_SCATTER}, FT1 is the best with a probability of 90 %")
    assert BASIS.startswith(BY_SCATTER)
