"""SQL: read-only questions, with the cookbook's as examples."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from app import address, data
from app.markdown import message
from app.shown import Shown
from db.errors import QueryRefusedError, TooSlowError
from db.read_only import LARGEST_RESULT_BYTES, Cut, QueryResult, run_read_only, unique
from db.resources import resource_dir

_ROWS, _TIME_LIMIT_S = 5_000, 10.0
_QUESTION = re.compile(r"^### (\d+\. .+?)\n(.*?)```sql\n(.*?)```", re.DOTALL | re.MULTILINE)
_OWN = "my own"
_MORE = {
    None: "",
    Cut.ROWS: ": the first ones, there are more",
    Cut.BYTES: f": the first ones, about {LARGEST_RESULT_BYTES // 10**6} MB, there are more",
}


@dataclass(frozen=True, slots=True)
class Question:
    title: str
    statement: str


def page(shown: Shown) -> None:
    """A statement, and what it returned."""
    st.header("SQL", anchor=False)
    st.caption(
        "One SELECT at a time, read-only by construction. The views to start from: "
        "operating_point_view, frontier_view, coverage_view, detection_view, recovery_view, "
        "evidence_view."
    )
    asked = {q.title: q.statement for q in questions()}
    st.selectbox(
        "Example",
        (_OWN, *asked),
        key="example",
        on_change=lambda: _fill(asked),
        help="Fills in the statement, to run as it is or to change.",
    )
    statement = address.area(
        st, "Statement", "q", next(iter(asked.values())), height=180, max_chars=20_000
    )
    if not statement.strip():
        st.info("Write a statement, or choose an example.")
    else:
        _show(statement)


def questions() -> list[Question]:
    """The cookbook's questions (docs/sql.md)."""
    text = (resource_dir("docs") / "sql.md").read_text(encoding="utf-8")
    return [Question(title, sql.strip()) for title, _, sql in _QUESTION.findall(text)]


def _fill(asked: dict[str, str]) -> None:
    chosen = st.session_state.get("example", _OWN)
    if chosen in asked:
        st.session_state["q"] = asked[chosen]


def _show(statement: str) -> None:
    try:
        result = data.or_explain(lambda: _run(statement))
    except TooSlowError as error:
        st.error(message(f"{error}. This page gives a statement {_TIME_LIMIT_S:g} s."))
        return
    except QueryRefusedError as error:
        st.error(message(error))
        return
    if result is None:
        return
    table = pd.DataFrame(
        {
            name: column([row[index] for row in result.rows])
            for index, name in enumerate(unique(result.columns))
        }
    )
    st.caption(f"{len(table):,} rows{_MORE[result.cut_by]}.")
    st.dataframe(table, hide_index=True, alt="What the statement returned")
    st.download_button(
        "CSV", lambda: table.to_csv(index=False), "query.csv", "text/csv", on_click="ignore"
    )


def column(cells: Sequence[object]) -> list[object]:
    """Cells of one type, as tables need them: bytes as hexadecimal digits, mixtures as text."""
    plain = [cell.hex() if isinstance(cell, bytes) else cell for cell in cells]
    kinds = {type(cell) for cell in plain if cell is not None}
    if len(kinds) <= 1 or kinds <= {int, float, bool}:
        return plain
    return [None if cell is None else str(cell) for cell in plain]


def _run(statement: str) -> QueryResult:
    with data.database():
        return run_read_only(data.url(), statement, row_limit=_ROWS, time_limit_s=_TIME_LIMIT_S)
