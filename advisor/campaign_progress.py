"""How far each pair of a campaign is, from its cells. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from db.campaign_queries import CellSummary
from db.records import CellStatus

PARTLY = "partly"
"""The state of a pair of which some cells are complete, and none is anything worse."""
NO_TRACE = "none"
"""The trace of cells without a fault, as the command line calls it."""
_ORDER = (
    *(CellStatus.COMPLETE, CellStatus.FAILED, CellStatus.RUNNING, CellStatus.STALE),
    CellStatus.PENDING,
)
"""What is over first, in words."""


@dataclass(frozen=True)
class PairProgress:
    """The cells of one pair: how many there are of each status, under each trace."""

    architecture: str
    mechanism: str
    by_trace: Mapping[str, Mapping[CellStatus, int]]

    @cached_property
    def counts(self) -> Mapping[CellStatus, int]:
        """Over all its traces."""
        total: Counter[CellStatus] = Counter()
        for counts in self.by_trace.values():
            total.update(counts)
        return total

    @property
    def planned(self) -> int:
        return sum(self.counts.values())

    @property
    def done(self) -> int:
        """How many cells need not be run any more."""
        return self.counts.get(CellStatus.COMPLETE, 0) + self.counts.get(CellStatus.FAILED, 0)

    @property
    def state(self) -> str:
        """What a reader should know first: that one is being run, that one failed or is stale;
        else whether all are complete, some (`PARTLY`) or none."""
        for status in (CellStatus.RUNNING, CellStatus.FAILED, CellStatus.STALE):
            if self.counts.get(status, 0):
                return str(status)
        if self.done == self.planned:
            return str(CellStatus.COMPLETE)
        return PARTLY if self.done else str(CellStatus.PENDING)

    @property
    def words(self) -> str:
        """How many of its cells are where, trace by trace: `F1: 2 complete, 1 pending`."""
        return "; ".join(f"{trace}: {_words(counts)}" for trace, counts in self.by_trace.items())


def _words(counts: Mapping[CellStatus, int]) -> str:
    return ", ".join(f"{counts[status]} {status}" for status in _ORDER if counts.get(status))


def trace_of(cell: CellSummary) -> str:
    """The trace of a cell, `NO_TRACE` where no fault strikes."""
    return cell.trace or NO_TRACE


def pair_progress(cells: Iterable[CellSummary]) -> list[PairProgress]:
    """The pairs that have cells, in the order of architectures and then of mechanisms."""
    pairs: dict[tuple[str, str], dict[str, Counter[CellStatus]]] = {}
    for cell in cells:
        traces = pairs.setdefault((cell.architecture, cell.mechanism), {})
        traces.setdefault(trace_of(cell), Counter())[cell.status] += 1
    return [
        PairProgress(*pair, {trace: dict(counts) for trace, counts in sorted(traces.items())})
        for pair, traces in sorted(pairs.items())
    ]
