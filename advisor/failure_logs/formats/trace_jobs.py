"""What the Acme and Helios traces share: a CSV file with one row a job, and Slurm's states."""

from collections.abc import Sequence

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.jobs import Run, entries, malformed, run_or_entry, unreadable
from advisor.failure_logs.records import Entry, Log
from advisor.failure_logs.tabular import Row, header_of, read_table
from db.records import FailureScope

_NEEDED = ("job_id", "state", "start_time", "end_time", "node_num")


def has_columns(text: str, names: Sequence[str]) -> bool:
    """Whether the header has all of them."""
    return {*_NEEDED, *names} <= {*header_of(text, ",")}


def parse_jobs(text: str, clock: Clock, name: str) -> Log:
    """The log. The column `duration` is not used: Kalos counts it from the submission on."""
    table = read_table(text, ",")
    missing = [column for column in _NEEDED if column not in table.header]
    if missing:
        raise UserError(f"it lacks the column {missing[0]} of a trace from {name}")
    found = entries([_read(row, clock) for row in table.rows])
    return Log(name, FailureScope.JOB, found, notes=tuple(clock.notes()))


def _read(row: Row, clock: Clock) -> Run | Entry:
    if row.fields is None:
        return malformed(row.number, row.wrong)
    fields = row.fields
    start, end = (
        None if is_absent(fields[name]) else fields[name] for name in ("start_time", "end_time")
    )
    try:
        return run_or_entry(
            *(row.number, fields["job_id"], fields["state"], start, end, clock),
            nodes=fields["node_num"],
        )
    except (ValueError, OverflowError) as error:
        return unreadable(row.number, error)
