"""The matrix of a campaign filling up: cells done of each pair, and how the others stand."""

from collections.abc import Sequence

import plotly.graph_objects as go

from advisor.campaign_progress import PARTLY, PairProgress
from advisor.figures.matrix import Square, SquareState, matrix
from db.records import CellStatus

_ROW_PX, _EDGES_PX = 44, 150
_MARKS = {CellStatus.RUNNING: "»", CellStatus.FAILED: "×", CellStatus.STALE: "!"}
"""Beside the numbers, so that what is not in order is seen without colours."""
_STATES = (
    SquareState(str(CellStatus.COMPLETE), "#009E73", "complete"),
    SquareState(PARTLY, "#8FD3BF", "some complete"),
    SquareState(str(CellStatus.RUNNING), "#56B4E9", f"{_MARKS[CellStatus.RUNNING]} one is running"),
    SquareState(str(CellStatus.FAILED), "#D55E00", f"{_MARKS[CellStatus.FAILED]} some failed"),
    SquareState(str(CellStatus.STALE), "#E69F00", f"{_MARKS[CellStatus.STALE]} stale: interrupted"),
    SquareState(str(CellStatus.PENDING), "#D9D9D9", "pending"),
)


def campaign_matrix(pairs: Sequence[PairProgress]) -> go.Figure:
    """A square a pair: cells done of those planned, marks for what is running, failed or stale."""
    rows = len({pair.architecture for pair in pairs})
    return matrix([_square(pair) for pair in pairs], _STATES, height=_EDGES_PX + _ROW_PX * rows)


def _square(pair: PairProgress) -> Square:
    marks = "".join(
        f"{mark}{pair.counts[status]}"
        for status, mark in _MARKS.items()
        if pair.counts.get(status, 0)
    )
    label = f"{pair.done}/{pair.planned}"
    return Square(
        pair.architecture,
        pair.mechanism,
        pair.state,
        f"{label}<br>{marks}" if marks else label,
        pair.words,
    )
