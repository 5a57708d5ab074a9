"""docs/sql.md stays true: its queries run on both databases, its tables and views are all there."""

import re
from pathlib import Path
from typing import Any

import pytest

from db.models import Base
from db.read_only import run_read_only
from db.views import VIEWS

DOCUMENT = (Path(__file__).parents[2] / "docs" / "sql.md").read_text()
QUESTIONS = re.findall(r"^### (\d+)\. .*?```sql\n(.*?)```", DOCUMENT, re.DOTALL | re.MULTILINE)

FT1 = "matilda-8xv100/a2/ft1/resnet50/i100"
CITATION = (
    "K. Aljbab and A. Barrak, FailBench: Evaluating Fault Tolerance Across Distributed Training "
    "Architectures, arXiv 2610.07688"
)
# Question: number of rows, and the first of them.
ANSWERS: dict[str, tuple[int, tuple[Any, ...]]] = {
    "1": (3, ("ft4", None, 0.0, 0.902)),
    "2": (3, ("ft3", 0.0119, 0.3, FT1)),
    "3": (6, ("a5", 2_616_900_000, 1.7649, "measured", 5.6477, "complete")),
    "4": (
        6,
        (
            "infeasible",
            "a6",
            "ft2",
            "FT2 needs a long-lived group of all ranks, over which each rank's state is "
            "replicated to a peer; A6 has no full_rank_group",
        ),
    ),
    "5": (8, ("ft3", 7)),
    "6": (3, (30.0, 30.01, 30.01 / 30, 3, 0.01)),
    "7": (6, ("a6", "ft1", "F2", 1.0, 2.537, None, None, 5)),
    "8": (4, ("storage_read", 204_700_000, 0.155, 0.3402, 0.3402 / 0.155 - 1)),
    "9": (5, ("ft1", 100, 0.0048, 0.0048 / (0.2833 / (100 * 32 / 284.9)))),
    "10": (
        1,
        (
            *(0.0048, "measured", 3, 0.0003, "half_range", "Table VII"),
            *(CITATION, "https://arxiv.org/abs/2610.07688"),
        ),
    ),
    "11": (8, ("a1-async", 3, 32.4, 5.26, "goes on", 32.6, 0.1365)),
}


def test_there_are_eleven_questions() -> None:
    assert [number for number, _ in QUESTIONS] == [str(number) for number in range(1, 12)]


@pytest.mark.parametrize(("number", "query"), QUESTIONS)
def test_each_question_has_its_answer(reading_url: str, number: str, query: str) -> None:
    result = run_read_only(reading_url, query)
    count, first = ANSWERS[number]
    assert len(result.rows) == count
    assert len(result.rows[0]) == len(first)
    for found, expected in zip(result.rows[0], first, strict=True):
        assert found == (pytest.approx(expected) if isinstance(expected, float) else expected)


def test_every_table_and_view_is_described() -> None:
    for name in (*Base.metadata.tables, *VIEWS):
        assert f"| `{name}` |" in DOCUMENT
