"""The matrix of architectures and mechanisms: what is possible, and which traces were observed."""

from collections.abc import Sequence

import plotly.graph_objects as go

from advisor.coverage import Coverage, CoveredPair, CoveredTuple, TupleState
from advisor.figures.matrix import Square, SquareState, matrix

STATE_WORDS = {
    "observed": "observed under every trace",
    "partly": "observed under some traces",
    "analytical": "analytical: published numbers, no run",
    "missing": "missing: no run, no published number",
    "degenerate": "degenerate",
    "infeasible": "structurally infeasible",
}
_COLORS = {
    "observed": "#009E73",
    "partly": "#8FD3BF",
    "analytical": "#56B4E9",
    "missing": "#D9D9D9",
    "degenerate": "#E69F00",
    "infeasible": "#D55E00",
}
_LETTERS = {
    "observed": "",
    "partly": "",
    "analytical": "an.",
    "missing": "–",
    "degenerate": "D",
    "infeasible": "S",
}


def cells(found: Coverage) -> list[Square]:
    """Every pair, architectures first."""
    return [_cell(pair, found.of_pair(pair.architecture, pair.mechanism)) for pair in found.pairs]


def _cell(pair: CoveredPair, tuples: Sequence[CoveredTuple]) -> Square:
    state = _state(pair, tuples)
    label = _LETTERS[state] or f"{pair.observed}/{len(tuples)}"
    words = "; ".join(f"{each.trace} {tuple_words(each)}" for each in tuples)
    return Square(pair.architecture, pair.mechanism, state, label, words)


def _state(pair: CoveredPair, tuples: Sequence[CoveredTuple]) -> str:
    if pair.observed:
        return "observed" if pair.observed == len(tuples) else "partly"
    states = [each.state for each in tuples]
    return str(TupleState.ANALYTICAL if TupleState.ANALYTICAL in states else states[0])


def tuple_words(each: CoveredTuple) -> str:
    """How the runs of a tuple ended, or its state where it has none."""
    if each.state is TupleState.OBSERVED:
        return ", ".join(f"{runs} {outcome}" for outcome, runs in each.outcomes.items())
    return str(each.state)


def coverage(found: Sequence[Square]) -> go.Figure:
    """The matrix of the pairs."""
    return matrix(found, _STATES)


_STATES = tuple(
    SquareState(state, _COLORS[state], f"{_LETTERS[state]} {words}".strip())
    for state, words in STATE_WORDS.items()
)
