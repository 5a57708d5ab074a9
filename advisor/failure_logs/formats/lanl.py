"""Los Alamos' failure records of 22 systems, 1996 to 2005: one row a failure of a node.

A system is at risk with all its nodes (column `nodes`). The columns for installation and production
are not used: copies of the file that went through a spreadsheet have them as day and month.
LA-UR-05-7318; B. Schroeder and G. Gibson, "A large-scale study of failures in high-performance
computing systems", DSN 2006.
"""

from collections.abc import Mapping

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.formats import Format
from advisor.failure_logs.jobs import malformed, unreadable
from advisor.failure_logs.quantities import node_count
from advisor.failure_logs.records import Entry, Interruption, Kind, Log
from advisor.failure_logs.tabular import Row, header_of, read_table
from db.records import FailureScope

_NEEDED = ("System", "nodes", "nodenum", "Prob Started")
_CAUSES = ("Facilities", "Hardware", "Human Error", "Network", "Undetermined", "Software")
_PLANNED = ("maintenance", "upgrd", "upgrade", "scan for")
"""Parts of the details that name work that was meant to be done."""
_PROGRAM = "user code"


def _recognises(text: str) -> bool:
    return {"System", "Prob Started"} <= {*header_of(text, ",")}


def _parse(text: str, clock: Clock) -> Log:
    table = read_table(text, ",")
    missing = [column for column in _NEEDED if column not in table.header]
    if missing:
        raise UserError(f"it lacks the column {missing[0]!r} of Los Alamos' failure records")
    systems: dict[str, int | None] = {}
    entries = tuple(_read(row, clock, systems) for row in table.rows)
    return Log("lanl", FailureScope.NODE, entries, systems, notes=tuple(clock.notes()))


def _read(row: Row, clock: Clock, systems: dict[str, int | None]) -> Entry:
    if row.fields is None:
        return malformed(row.number, row.wrong)
    fields = row.fields
    try:
        nodes = node_count(fields["nodes"])
        if is_absent(fields["Prob Started"]):
            return Entry(row.number, "no time", excluded="without a time")
        at_s = clock.instant_s(fields["Prob Started"])
    except (ValueError, OverflowError) as error:
        return unreadable(row.number, error)
    system = fields["System"]
    systems[system] = max(nodes, systems.get(system) or 0)
    kind, cause = _cause(fields)
    if fields.get("Same Event", "No").lower() == "yes":
        return Entry(row.number, cause, excluded="marked as the same event as another row")
    node = f"{system}/{fields['nodenum']}"
    return Entry(row.number, cause, Interruption(at_s, kind, cause, (node,), system))


def _cause(fields: Mapping[str, str]) -> tuple[Kind, str]:
    """The column that is filled in, and the kind that its detail says."""
    for name in _CAUSES:
        detail = fields.get(name, "")
        if is_absent(detail):
            continue
        lower = detail.lower()
        if any(part in lower for part in _PLANNED):
            return Kind.PLANNED, f"{name}: {detail}"
        if lower == _PROGRAM:
            return Kind.ABORT, f"{name}: {detail}"
        return Kind.INFRA, name
    return Kind.INFRA, "no cause given"


FORMAT = Format("the columns System and Prob Started", _recognises, _parse)
