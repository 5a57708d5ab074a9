"""Which tuples of architecture, mechanism and trace were observed: the paper's Table IV, counted.

The paper has seven architectures (A1 is one, however its server waits), nine mechanisms and three
traces. A tuple is observed where a valid run says what happened: one of this database, or one
behind an operating point that a bundle brought from another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from sqlalchemy import Connection

from db import coverage_queries
from db.coverage_queries import RunCount
from db.errors import NotFoundError
from db.queries import cluster_names
from db.records import PairStatus, RunOutcome

ARCHITECTURES: Mapping[str, tuple[str, ...]] = {
    "a1": ("a1-sync", "a1-async"),
    **{f"a{number}": (f"a{number}",) for number in range(2, 8)},
}
"""The paper's architectures, each with the catalogue's names for it."""
MECHANISMS = tuple(f"ft{number}" for number in range(1, 10))
TRACES = ("F1", "F2", "F3")


class TupleState(StrEnum):
    """What is known of a tuple, or why nothing can be."""

    OBSERVED = "observed"
    ANALYTICAL = "analytical"
    INFEASIBLE = "infeasible"
    DEGENERATE = "degenerate"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class CoveredTuple:
    """One tuple: its state, how its valid runs ended, and why it is as it is."""

    architecture: str
    mechanism: str
    trace: str
    state: TupleState
    outcomes: Mapping[str, int]
    runs: int
    reason: str


@dataclass(frozen=True, slots=True)
class CoveredPair:
    """One pair: what the matrix says of it, and how many of its traces were observed."""

    architecture: str
    mechanism: str
    status: PairStatus
    observed: int
    reason: str


@dataclass(frozen=True, slots=True)
class Coverage:
    """Every tuple of the paper's grid, architectures first, and every pair."""

    tuples: tuple[CoveredTuple, ...]
    pairs: tuple[CoveredPair, ...]

    @property
    def counts(self) -> dict[TupleState, int]:
        """How many tuples are in each state."""
        return {state: sum(each.state is state for each in self.tuples) for state in TupleState}

    def of_pair(self, architecture: str, mechanism: str) -> list[CoveredTuple]:
        """The tuples of a pair, in order of trace."""
        return [
            each
            for each in self.tuples
            if (each.architecture, each.mechanism) == (architecture, mechanism)
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            **{str(state): count for state, count in self.counts.items()},
            "tuples": [asdict(each) for each in self.tuples],
            "pairs": [asdict(each) for each in self.pairs],
        }


def coverage(connection: Connection, cluster: str | None = None) -> Coverage:
    """Of one cluster, or of all that the database knows. Raises NotFoundError."""
    require_cluster(connection, cluster)
    return covered(
        (
            *coverage_queries.run_counts(connection, cluster),
            *coverage_queries.carried_counts(connection, cluster),
        ),
        coverage_queries.published_tuples(connection, cluster),
        coverage_queries.compatibility(connection),
    )


def require_cluster(connection: Connection, cluster: str | None) -> None:
    """Raises NotFoundError, with the names that there are, unless the database knows it; None is
    all of them."""
    names = cluster_names(connection)
    if cluster is not None and cluster not in names:
        there = ", ".join(names) or "none"
        raise NotFoundError(f"no cluster {cluster!r} in the database; there is {there}")


def covered(
    runs: Iterable[RunCount],
    published: frozenset[tuple[str, str, str]],
    matrix: Mapping[tuple[str, str], tuple[PairStatus, str]],
) -> Coverage:
    """The counting itself, without a database."""
    counted: dict[tuple[str, str, str], list[RunCount]] = {}
    for each in runs:
        counted.setdefault((each.architecture, each.mechanism, each.trace), []).append(each)
    tuples, pairs = [], []
    for architecture, names in ARCHITECTURES.items():
        for mechanism in MECHANISMS:
            status, reason = _matrix_says([matrix.get((name, mechanism)) for name in names])
            of_pair = [
                _tuple(
                    (architecture, mechanism, trace),
                    (status, reason),
                    [c for name in names for c in counted.get((name, mechanism, trace), ())],
                    any({(n, mechanism, trace), (n, mechanism, "")} & published for n in names),
                )
                for trace in TRACES
            ]
            tuples += of_pair
            observed = sum(each.state is TupleState.OBSERVED for each in of_pair)
            pairs.append(
                CoveredPair(architecture, mechanism, status, observed, _pair_reason(of_pair))
            )
    return Coverage(tuple(tuples), tuple(pairs))


def _matrix_says(found: Sequence[tuple[PairStatus, str] | None]) -> tuple[PairStatus, str]:
    """What the best of the variants is; a pair that nobody classified is taken as viable."""
    known = [each for each in found if each is not None]
    order = (PairStatus.VIABLE, PairStatus.DEGENERATE, PairStatus.INFEASIBLE)
    return min(known, key=lambda each: order.index(each[0]), default=(PairStatus.VIABLE, ""))


def _tuple(
    names: tuple[str, str, str],
    matrix: tuple[PairStatus, str],
    counts: Sequence[RunCount],
    is_published: bool,
) -> CoveredTuple:
    outcomes: dict[str, int] = {}
    for each in counts:
        outcomes[each.outcome] = outcomes.get(each.outcome, 0) + each.runs
    said = next((each.reason for each in counts if each.reason), "")
    state, reason = _state(matrix, outcomes, said, is_published)
    return CoveredTuple(*names, state, outcomes, sum(outcomes.values()), reason)


def _state(
    matrix: tuple[PairStatus, str], outcomes: Mapping[str, int], said: str, is_published: bool
) -> tuple[TupleState, str]:
    status, reason = matrix
    if status is PairStatus.INFEASIBLE:
        return TupleState.INFEASIBLE, f"tried: {said}" if said else reason
    if status is PairStatus.DEGENERATE:
        return TupleState.DEGENERATE, reason
    if set(outcomes) - {RunOutcome.INFEASIBLE}:
        return TupleState.OBSERVED, ""
    tried = f"tried, and infeasible here: {said or 'the runs do not say why'}" if outcomes else ""
    if is_published:
        return TupleState.ANALYTICAL, tried or "no run; its numbers are from publications"
    return TupleState.MISSING, tried or "no run, and no published number"


def _pair_reason(tuples: Sequence[CoveredTuple]) -> str:
    """What its traces have in common to say; nothing where all were observed."""
    return "; ".join(dict.fromkeys(each.reason for each in tuples if each.reason))
