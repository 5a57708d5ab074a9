"""Which column of a table of one's own is which, told by whoever knows the table. Pure.

`time=Failed At` says that the column `Failed At` holds what is called `time` here. What is told
decides whether rows are events, counts or jobs; columns of which nothing is told are not read.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from advisor.errors import UserError
from advisor.failure_logs.tabular import Row, Table, refuse_doubles


class RowKind(StrEnum):
    """What a row of a table is."""

    EVENT = "event"
    """A failure, with its time."""
    COUNT = "count"
    """A cause, with the number of its failures."""
    JOB = "job"
    """A run of a job, whatever ended it."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a column can hold, and in rows of which kinds."""

    name: str
    label: str
    holds: str
    rows: tuple[RowKind, ...]


_EVENT, _COUNT, _JOB = RowKind
MEANINGS = (
    Meaning("time", "Time", "When it failed.", (_EVENT,)),
    Meaning("count", "Count", "How many failures the row stands for.", (_COUNT,)),
    Meaning("state", "State", "How it ended, in Slurm's words: NODE_FAIL, COMPLETED.", (_JOB,)),
    Meaning("start", "Start", "When the job started.", (_JOB,)),
    Meaning("end", "End", "When it ended; nothing while it runs.", (_JOB,)),
    Meaning("duration", "Duration", "How long it ran, with its unit, instead of the end.", (_JOB,)),
    Meaning("job", "Job", "Its id: two rows of one job and one start count once.", (_JOB,)),
    Meaning("node", "Node", "The node that failed; of a job, its nodes: n[1-4].", (_EVENT, _JOB)),
    Meaning("nodes", "Number of nodes", "Nodes of the system; of a job, its own.", tuple(RowKind)),
    Meaning("system", "System", "The cluster or partition that it is of.", (_EVENT, _COUNT)),
    Meaning("cause", "Cause", "Why it failed, in any words.", (_EVENT, _COUNT)),
    Meaning("kind", "Kind", "infra, abort or planned; infra if nothing says.", (_EVENT, _COUNT)),
    Meaning("lead", "Lead", "How long before it was announced, with its unit.", (_EVENT, _COUNT)),
    Meaning("announced", "Announced", "Whether it was: yes or no.", (_EVENT, _COUNT)),
    Meaning("scope", "Scope", "node, job or all-interruptions, for all rows.", (_EVENT, _COUNT)),
    Meaning("share", "Share", "A printed share, held against the counts.", (_COUNT,)),
)
BY_NAME: Mapping[str, Meaning] = {each.name: each for each in MEANINGS}
_EXAMPLE = "time=Date"
_MOST_LISTED, _LONGEST_NAME = 20, 60


def parse_column(text: str) -> tuple[str, str]:
    """`time=Failed At`: what is held, and the column that holds it. Raises UserError."""
    name, equals, column = text.partition("=")
    name, column = name.strip().lower(), column.strip()
    if not equals or not column or name not in BY_NAME:
        raise UserError(
            f"{text[:60]!r} does not say what a column holds: write it as {_EXAMPLE}, with one of "
            f"{', '.join(BY_NAME)} on the left"
        )
    return name, column


def together(told: Iterable[tuple[str, str]]) -> dict[str, str]:
    """The columns by what they hold. Raises UserError if one thing is told of two."""
    found: dict[str, str] = {}
    for name, column in told:
        if name in found:
            raise UserError(f"{name} is told of two columns: {found[name]!r} and {column!r}")
        found[name] = column
    return found


def meanings_of(kind: RowKind) -> tuple[Meaning, ...]:
    """What columns of such rows can hold, the needed ones first."""
    return tuple(each for each in MEANINGS if kind in each.rows)


def kind_told(columns: Mapping[str, str]) -> RowKind:
    """What the rows are, by what is told of the columns; `require` says whether that is enough."""
    kinds = {BY_NAME[name].rows for name in columns}
    for kind in (RowKind.JOB, RowKind.COUNT):
        if (kind,) in kinds:
            return kind
    return RowKind.EVENT


def require(kind: RowKind, columns: Mapping[str, str]) -> None:
    """Raises UserError if rows of the kind need a column that is not told, or cannot have one that
    is."""
    for name in columns:
        if kind not in BY_NAME[name].rows:
            wanted = ", ".join(each.name for each in meanings_of(kind))
            raise UserError(
                f"rows that are {kind}s have no {name}: say which columns are their {wanted}"
            )
    needed = {RowKind.EVENT: ["time"], RowKind.COUNT: ["count"], RowKind.JOB: ["state", "start"]}
    missing = [name for name in needed[kind] if name not in columns]
    if kind is RowKind.JOB and not {"end", "duration"} & {*columns}:
        missing.append("end (or duration)")
    if missing:
        raise UserError(f"rows that are {kind}s need a column for {' and '.join(missing)}")


def as_told(table: Table, columns: Mapping[str, str]) -> Table:
    """The table with the told columns only, each called by what it holds.

    Raises UserError for a column that is not there, or is there twice.
    """
    places = {name: _found(table.header, column) for name, column in columns.items()}
    rows = tuple(
        Row(
            row.number,
            row.fields and {name: row.fields[column] for name, column in places.items()},
            row.wrong,
        )
        for row in table.rows
    )
    return Table(tuple(places), rows, table.comments)


def _found(header: tuple[str, ...], column: str) -> str:
    """The column as the header writes it; its case matters only where several differ by that."""
    same = {name for name in header if name.lower() == column.lower()}
    found = column if column in same else same.pop() if len(same) == 1 else None
    if found is not None:
        refuse_doubles([name for name in header if name == found])
        return found
    names = ", ".join(name[:_LONGEST_NAME] for name in header[:_MOST_LISTED])
    more = f" and {len(header) - _MOST_LISTED:,} more" if len(header) > _MOST_LISTED else ""
    raise UserError(f"it has no column {column[:_LONGEST_NAME]!r}: its columns are {names}{more}")
