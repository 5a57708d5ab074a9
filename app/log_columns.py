"""Which column of an uploaded table holds what; part of the page Failure logs."""

from collections.abc import Sequence

import streamlit as st

from advisor.errors import UserError
from advisor.failure_logs.columns import MEANINGS, Meaning, RowKind, meanings_of, require
from app import address
from app.markdown import message

_ROW, _COLUMN = "log-row", "log-column-"
FIELDS = (_ROW, *(f"{_COLUMN}{each.name}" for each in MEANINGS))
"""Their names in the address."""
_ROWS = {
    RowKind.EVENT.value: "a failure, with its time",
    RowKind.COUNT.value: "a cause, with how often it came",
    RowKind.JOB.value: "a job, whatever ended it",
}
_MOST_COLUMNS = 500
"""To choose from; no browser shows a longer list in time."""


def choose(columns: Sequence[str]) -> dict[str, str] | None:
    """Which of the columns holds what: nothing where their own names are to say it, None where
    what was told is not enough, which is said. Nothing is drawn where there are no columns."""
    if not columns:
        return {}
    if len(columns) > _MOST_COLUMNS:
        st.caption(f"A table of {len(columns):,} columns is read by their own names only.")
        return {}
    row = address.choice(
        st,
        "A row is",
        _ROW,
        list(_ROWS),
        "",
        nothing="what the columns' own names say",
        format_func=_ROWS.__getitem__,
        help="For a table whose columns are called otherwise than time or count: say what a row "
        "is, then which column holds what.",
    )
    if not row:
        return {}
    kind = RowKind(row)
    with st.container(horizontal=True):
        chosen = {each.name: _column(each, columns) for each in meanings_of(kind)}
    told = {name: column for name, column in chosen.items() if column}
    try:
        require(kind, told)
    except UserError as error:
        st.error(message(error))
        return None
    return told


def _column(meaning: Meaning, columns: Sequence[str]) -> str:
    return address.choice(
        st,
        meaning.label,
        f"{_COLUMN}{meaning.name}",
        columns,
        "",
        nothing="none",
        help=meaning.holds,
        width=220,
    )
