"""Rows that are runs of jobs, as entries: states read, doubles taken out."""

from collections.abc import Iterable
from dataclasses import dataclass

from advisor.failure_logs.clock import ENDS_BEFORE_START, Clock
from advisor.failure_logs.quantities import (
    IMPOSSIBLE_DURATION,
    IMPOSSIBLE_NODES,
    duration_s,
    node_count,
)
from advisor.failure_logs.records import AtRisk, Entry, Interruption
from advisor.failure_logs.states import Ending, State, state_of

NEVER_STARTED = "it never started"
ANOTHER_ROW = "another row has the same run of the job"
_SAID = (ENDS_BEFORE_START, IMPOSSIBLE_DURATION, IMPOSSIBLE_NODES)
"""Mistakes that have a line of their own in the account."""


@dataclass(frozen=True, slots=True)
class Run:
    """One run of a job as its row gives it; times in seconds since 1970."""

    row: int
    job: str
    state: State
    start_s: float
    end_s: float | None
    nodes: int | None
    names: tuple[str, ...] = ()


def run_or_entry(
    row: int,
    job: str,
    state: str,
    start: str | None,
    end: str | None,
    clock: Clock,
    *,
    duration: float | str | None = None,
    nodes: float | str | None = None,
    names: tuple[str, ...] = (),
) -> Run | Entry:
    """The run, or an entry that says why the row is excluded. Raises ValueError on a bad time or
    number.

    `start`, `end`, `duration` and `nodes` are None where the log has no value.
    """
    found = state_of(state)
    if found is None:
        return Entry(row, state, excluded=f"a state that is not known: {state[:40] or 'none'}")
    size = None if nodes is None else node_count(nodes)
    length_s = None if duration is None else duration_s(duration)
    if found.ending is Ending.WAITING or start is None or size == 0:
        return Entry(row, found.name, excluded=f"{found.name}: {NEVER_STARTED}")
    start_s, end_s = clock.span_s(start, end, length_s)
    if end_s is None and found.ending is not Ending.RUNNING:
        return malformed(row, f"{found.name} without an end")
    return Run(row, job, found, start_s, end_s, size, names)


def malformed(row: int, why: str) -> Entry:
    """A row that cannot be read."""
    return Entry(row, "malformed", excluded=f"malformed: {why}")


def unreadable(row: int, error: Exception) -> Entry:
    """A row with a time or number that cannot be read; such rows share a line of the account."""
    said = str(error)
    return malformed(row, said if said in _SAID else "a time or a number cannot be read")


def entries(found: Iterable[Run | Entry]) -> tuple[Entry, ...]:
    """An entry a row, in the order of the rows; of several rows of one run one is used.

    A run is a job from one start on: a job that was requeued has several. The row is used that
    says how the run ended, of those the one with the latest end.
    """
    found = list(found)
    best: dict[tuple[str, float], Run] = {}
    for each in found:
        if isinstance(each, Run):
            key = (each.job, each.start_s)
            if key not in best or _knows_more(each, best[key]):
                best[key] = each
    used = {each.row for each in best.values()}
    return tuple(
        each
        if isinstance(each, Entry)
        else _entry(each)
        if each.row in used
        else Entry(each.row, each.state.name, excluded=ANOTHER_ROW)
        for each in found
    )


def _knows_more(a: Run, b: Run) -> bool:
    def rank(run: Run) -> tuple[bool, float]:
        return run.state.ending is not Ending.RUNNING, run.end_s or 0.0

    return rank(a) > rank(b)


def _entry(run: Run) -> Entry:
    state = run.state
    at_risk = AtRisk(run.start_s, run.end_s, run.nodes, run.names)
    if state.kind is None:
        assert state.ending is not None
        return Entry(run.row, f"{state.name}: {state.ending.value}", at_risk=at_risk)
    interruption = Interruption(
        run.end_s, state.kind, state.cause, run.names, announced=state.announced
    )
    return Entry(run.row, f"{state.name}: {state.cause}", interruption, at_risk)
