"""A table of one's own, with a header: events (a column `time`) or counts (a column `count`).

Events: `time`; if there are: `node`, `system`, `nodes` (of the system), `cause`, `kind` (infra,
abort or planned; also maintenance, preemption, cancelled), `lead` (how long before it was
announced, with its unit), `announced` (yes or no), `scope` (node, job or all-interruptions; the
same in all rows).
Counts: `count`; `cause`, `kind` and `scope` as above, and a printed share (a column whose name ends
in pct, percent or share), which is held against the counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.formats import Format
from advisor.failure_logs.records import Entry, Interruption, Kind, Log
from advisor.failure_logs.tabular import Row, Table, header_of, read_table, refuse_doubles
from advisor.units import parse_duration_s
from db.records import FailureScope

NAME = "csv"
_TIMES = ("time", "timestamp")
_JOBS = ("jobid", "jobidraw")
_OF_JOBS = (*_JOBS, "state", "status", "end")
"""Columns of a table of jobs, most of which did not fail: its rows are no events."""
_CAUSES = ("cause", "component", "reason", "category")
_SHARES = ("pct", "percent", "share")
_KINDS = {kind.value: kind for kind in Kind} | {
    "maintenance": Kind.PLANNED,
    "preemption": Kind.PLANNED,
    "preempted": Kind.PLANNED,
    "cancelled": Kind.PLANNED,
}
_ANNOUNCED_KINDS = ("preemption", "preempted")
_YES, _NO = ("yes", "true", "1"), ("no", "false", "0")
_SHARE_ROUNDING = 0.1
"""Percentage points by which a share with one decimal may be off."""
_MOST_COUNT = 10**9
_LONGEST_CAUSE = 60


@dataclass(frozen=True, slots=True)
class _Columns:
    """The columns by what they hold; None where there is none."""

    time: str | None
    cause: str | None
    share: str | None


def _recognises(text: str) -> bool:
    names = {name.lower() for name in header_of(text, ",")}
    return bool(names & {"count", *_TIMES}) or ("state" in names and bool(names & {*_JOBS}))


def _parse(text: str, clock: Clock) -> Log:
    table = _lower(read_table(text, ","))
    found = of_jobs(table.header)
    if found:
        raise UserError(
            f"it has the column {found[0]}, so its rows are jobs, and no failures: write it with "
            "`sacct --parsable2`, whose fields stand between bars, or say which columns are the "
            "state, start and end"
        )
    return parse_table(table, clock)


def of_jobs(header: Sequence[str]) -> list[str]:
    """The columns, as they are called, of which the names say that the rows are jobs."""
    return [name for name in header if name.lower() in _OF_JOBS]


def parse_table(table: Table, clock: Clock) -> Log:
    """Events or counts, by columns with the names above. Raises UserError."""
    columns = _Columns(
        next((name for name in _TIMES if name in table.header), None),
        next((name for name in _CAUSES if name in table.header), None),
        next((name for name in table.header if name.endswith(_SHARES)), None),
    )
    if columns.time is None and "count" not in table.header:
        raise UserError("it needs a column time (one row an event) or count (one row a cause)")
    if columns.time is not None and "count" in table.header:
        raise UserError("it has the columns time and count: its rows are either events or counts")
    systems: dict[str, int | None] = {}
    entries = tuple(_read(row, columns, clock, systems) for row in table.rows)
    notes = [*clock.notes(), *_wrong_shares(table.rows, entries, columns)]
    # Where no row names a system, the file is about one.
    return Log(NAME, _scope(table.rows), entries, systems or {"": None}, notes=tuple(notes))


def _lower(table: Table) -> Table:
    """Names of columns without regard to case. Raises UserError if two are then the same."""
    rows = tuple(
        Row(row.number, row.fields and {k.lower(): v for k, v in row.fields.items()}, row.wrong)
        for row in table.rows
    )
    header = tuple(name.lower() for name in table.header)
    refuse_doubles(header)
    return Table(header, rows, table.comments)


def _read(row: Row, columns: _Columns, clock: Clock, systems: dict[str, int | None]) -> Entry:
    try:
        if row.fields is None:
            raise ValueError(row.wrong)
        return _event(row.number, row.fields, columns, clock, systems)
    except (ValueError, OverflowError, UserError) as error:
        return Entry(row.number, "malformed", excluded=f"malformed: {error}")


def _event(
    number: int,
    fields: Mapping[str, str],
    columns: _Columns,
    clock: Clock,
    systems: dict[str, int | None],
) -> Entry:
    cause = fields[columns.cause][:_LONGEST_CAUSE] if columns.cause else ""
    kind, announced, lead_s = _kind(fields)
    says = fields.get("kind", "").lower() or kind.value
    count = _count(fields)
    at_s = None
    if columns.time is not None:
        if is_absent(fields[columns.time]):
            return Entry(number, says, excluded="without a time")
        at_s = clock.instant_s(fields[columns.time])
    node, system = fields.get("node", ""), fields.get("system", "")
    nodes = fields.get("nodes", "")
    if nodes and not (nodes.isdecimal() and 0 < int(nodes) < _MOST_COUNT):
        raise ValueError("nodes is no whole number above 0")
    systems[system] = max(int(nodes or 0), systems.get(system) or 0) or None
    cause = cause or "no cause given"
    names = (f"{system}/{node}" if system else node,) if node else ()
    found = Interruption(at_s, kind, cause, names, system, count, announced, lead_s)
    return Entry(number, says, found)


def _kind(fields: Mapping[str, str]) -> tuple[Kind, bool, float | None]:
    """The kind, whether it was announced, and how long before (s)."""
    name = fields.get("kind", "").lower() or Kind.INFRA.value
    if name not in _KINDS:
        raise ValueError(f"kind is none of {', '.join(_KINDS)}")
    lead, said = fields.get("lead", ""), fields.get("announced", "").lower()
    if said and said not in (*_YES, *_NO):
        raise ValueError("announced is neither yes nor no")
    lead_s = None if is_absent(lead) else parse_duration_s(lead)
    announced = said in _YES or (not said and (lead_s is not None or name in _ANNOUNCED_KINDS))
    return _KINDS[name], announced, lead_s if announced else None


def _count(fields: Mapping[str, str]) -> int:
    text = fields.get("count", "1")
    if not text.isdecimal() or int(text) > _MOST_COUNT:
        raise ValueError("count is no whole number")
    return int(text)


def _scope(rows: Sequence[Row]) -> FailureScope:
    """The one scope of all rows; a job's if no row says any. Raises UserError."""
    named = {row.fields.get("scope", "").lower() for row in rows if row.fields} - {""}
    if not named <= {*FailureScope}:
        wrong = sorted(named - {*FailureScope})[0]
        raise UserError(f"its scope {wrong[:40]!r} is none of {', '.join(FailureScope)}")
    if len(named) > 1:
        raise UserError(
            f"it mixes the scopes {' and '.join(sorted(named))}, whose rates must not be put "
            "together: make a file of each"
        )
    return FailureScope(named.pop()) if named else FailureScope.JOB


def _wrong_shares(rows: Sequence[Row], entries: Sequence[Entry], columns: _Columns) -> list[str]:
    """Whether printed shares are those of the counts."""
    if columns.share is None:
        return []
    counted = {each.row: each.interruption for each in entries if each.interruption}
    total = sum(found.count for found in counted.values())
    wrong = []
    for row in rows:
        share = (row.fields or {}).get(columns.share, "").rstrip("% ")
        if row.number not in counted or is_absent(share) or not total:
            continue
        try:
            printed, real = float(share), 100.0 * counted[row.number].count / total
        except ValueError:
            continue
        if not abs(printed - real) <= _SHARE_ROUNDING:
            found = counted[row.number]
            wrong.append(
                f"{found.cause} {printed:g} %, but {found.count} of {total} is {real:.1f} %"
            )
    if not wrong:
        return []
    return [f"printed shares do not match the counts, which are used: {'; '.join(wrong[:5])}"]


FORMAT = Format("a header with a column time or count", _recognises, _parse)
