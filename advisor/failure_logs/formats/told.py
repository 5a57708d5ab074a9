"""A table of one's own whose columns were told: events or counts as in `csv`, or runs of jobs."""

from collections.abc import Mapping
from dataclasses import replace

from advisor.errors import UserError
from advisor.failure_logs import hostlist
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.columns import RowKind, as_told, kind_told, require
from advisor.failure_logs.formats.csv import NAME, of_jobs, parse_table
from advisor.failure_logs.jobs import Run, entries, malformed, run_or_entry, unreadable
from advisor.failure_logs.records import Entry, Log
from advisor.failure_logs.states import state_of
from advisor.failure_logs.tabular import Row, delimiter_of, read_table
from advisor.units import parse_duration_s
from db.records import FailureScope

_NO_DURATION = "a duration without a unit, or none at all"


def parse_told(text: str, clock: Clock, columns: Mapping[str, str]) -> Log:
    """The log, by the columns (what is held -> the column that holds it). Raises UserError."""
    kind = kind_told(columns)
    require(kind, columns)
    table = read_table(text, delimiter_of(text), doubles=True)
    told = as_told(table, columns)
    if kind is RowKind.JOB:
        found = entries([_run(row, clock) for row in told.rows])
        return Log(NAME, FailureScope.JOB, found, notes=tuple(clock.notes()))
    log = parse_table(told, clock)
    read = {column.lower() for column in columns.values()}
    unread = [name for name in of_jobs(table.header) if name.lower() not in read]
    if not unread:
        return log
    note = (
        f"it has the column {unread[0]}: if its rows are jobs, most of which did not fail, say "
        "which columns are their state, start and end instead"
    )
    return replace(log, notes=(*log.notes, note))


def _run(row: Row, clock: Clock) -> Run | Entry:
    if row.fields is None:
        return malformed(row.number, row.wrong)
    fields = row.fields
    start, end, duration, nodes, node, job = (
        _present(fields, name) for name in ("start", "end", "duration", "nodes", "node", "job")
    )
    try:
        length_s = None if duration is None else parse_duration_s(duration)
    except UserError:
        return malformed(row.number, _NO_DURATION)
    try:
        names = () if node is None else hostlist.expand(node)
        return run_or_entry(
            *(row.number, job or f"row {row.number}", _state(fields["state"]), start, end, clock),
            duration=length_s,
            nodes=len(names) if nodes is None and names else nodes,
            names=names,
        )
    except (ValueError, OverflowError) as error:
        return unreadable(row.number, error)


def _present(fields: Mapping[str, str], name: str) -> str | None:
    value = fields.get(name, "")
    return None if is_absent(value) else value


def _state(text: str) -> str:
    """Slurm's states in capitals, however a table writes them."""
    return text if state_of(text) is not None else text.upper()
