"""What `sacct --parsable2 --duplicates` prints: fields between bars, steps below their jobs.

Columns used: JobID (or JobIDRaw) and State; Start, with End or Elapsed or ElapsedRaw; AllocNodes or
NNodes and NodeList if they are there, and Restarts, which older versions of sacct do not have.
Times are local to where sacct ran.
https://slurm.schedmd.com/sacct.html
"""

from collections.abc import Mapping

from advisor.errors import UserError
from advisor.failure_logs import hostlist
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.formats import Format
from advisor.failure_logs.jobs import Run, entries, malformed, run_or_entry, unreadable
from advisor.failure_logs.records import Entry, Log
from advisor.failure_logs.tabular import Row, first_line, header_of, read_table
from advisor.units import parse_duration_s
from db.records import FailureScope

COMMAND = (
    "sacct --allusers --duplicates --allocations --parsable2 --starttime now-90days "
    "--format JobID,State,Submit,Start,End,ElapsedRaw,AllocNodes,NodeList"
)
"""What writes such a file, with columns that every version of sacct has."""
_NO_NODES = "None assigned"
_MOST_DIGITS = 9
"""Of a number of restarts."""


def _recognises(text: str) -> bool:
    header = header_of(text, "|")
    return "State" in header and ("JobID" in header or "JobIDRaw" in header)


def _parse(text: str, clock: Clock) -> Log:
    if "|" not in first_line(text):
        raise UserError(f"it has no columns between bars: write it with `{COMMAND}`")
    table = read_table(text, "|", quoted=False)
    job = next((name for name in ("JobID", "JobIDRaw") if name in table.header), None)
    has_end = {"End", "Elapsed", "ElapsedRaw"} & {*table.header}
    if job is None or "State" not in table.header or "Start" not in table.header or not has_end:
        raise UserError(
            f"it needs the columns JobID, State, Start and End, and has "
            f"{', '.join(table.header)[:200]}: write it with `{COMMAND}`"
        )
    read = [_read(row, job, clock) for row in table.rows]
    return Log(
        "sacct", FailureScope.JOB, entries(read), notes=(*clock.notes(), *_hidden(table.rows))
    )


def _read(row: Row, job: str, clock: Clock) -> Run | Entry:
    if row.fields is None:
        return malformed(row.number, row.wrong)
    fields = row.fields
    if "." in fields[job]:
        return Entry(row.number, "step", excluded="a step of a job, which has a row of its own")
    try:
        return run_or_entry(
            *(row.number, fields[job], fields["State"]),
            *(_present(fields, "Start"), _present(fields, "End"), clock),
            duration=_duration_s(fields),
            nodes=_nodes(fields),
            names=_names(fields),
        )
    except (ValueError, OverflowError, UserError) as error:
        return unreadable(row.number, error)


def _present(fields: Mapping[str, str], name: str) -> str | None:
    value = fields.get(name, "")
    return None if is_absent(value) else value


def _duration_s(fields: Mapping[str, str]) -> float | str | None:
    raw, elapsed = _present(fields, "ElapsedRaw"), _present(fields, "Elapsed")
    if raw is not None:
        return raw
    return None if elapsed is None else parse_duration_s(elapsed)


def _nodes(fields: Mapping[str, str]) -> str | None:
    """Of a job that never started NNodes is what it asked for, and Start when it was cancelled."""
    if fields.get("NodeList") == _NO_NODES:
        return "0"
    return _present(fields, "AllocNodes") or _present(fields, "NNodes")


def _names(fields: Mapping[str, str]) -> tuple[str, ...]:
    value = _present(fields, "NodeList")
    return () if value is None or value == _NO_NODES else hostlist.expand(value)


def _hidden(rows: tuple[Row, ...]) -> list[str]:
    """Whether jobs were requeued more often than they have rows."""
    restarts: dict[str, int] = {}
    shown: dict[str, set[str]] = {}
    for row in rows:
        fields = row.fields or {}
        job = fields.get("JobID") or fields.get("JobIDRaw") or ""
        if "." in job:
            continue
        shown.setdefault(job, set()).add(fields.get("Start", ""))
        times = fields.get("Restarts", "")
        if times.isdecimal() and len(times) <= _MOST_DIGITS:
            restarts[job] = max(int(times), restarts.get(job, 0))
    hidden = sum(max(times - len(shown[job]) + 1, 0) for job, times in restarts.items())
    if not hidden:
        return []
    return [
        f"runs that ended in a requeue and are not in the file: {hidden:,}, some of them failures; "
        "`sacct --duplicates` shows them"
    ]


FORMAT = Format("fields between bars, with JobID and State", _recognises, _parse)
