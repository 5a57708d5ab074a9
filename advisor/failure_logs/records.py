"""What a failure log says, in the words that all formats share. Pure data.

Times are seconds since 1970 in UTC; an interruption has no time where the log only has counts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from db.records import FailureScope


class Kind(StrEnum):
    """Why work was interrupted."""

    INFRA = "infra"
    """Hardware, network, power, system software: nothing that the job did."""
    ABORT = "abort"
    """The job ended itself: a program error, no memory. Some hide a cause of the other kind."""
    PLANNED = "planned"
    """Somebody decided it: maintenance, a preemption, a user who cancels."""


class Use(StrEnum):
    """What became of a row."""

    FAILURE = "failure"
    AT_RISK = "time at risk only"
    EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Interruption:
    """Something ended at `at_s` that would have gone on."""

    at_s: float | None
    kind: Kind
    cause: str
    """As the log calls it, or as its format is read."""
    nodes: tuple[str, ...] = ()
    """The nodes that it concerns; of a job, those that it held."""
    system: str = ""
    """Failures of different systems are never neighbours in time."""
    count: int = 1
    announced: bool = False
    lead_s: float | None = None
    """How long before it was announced, in seconds; None where the log does not say."""


@dataclass(frozen=True, slots=True)
class AtRisk:
    """A job that ran on `nodes` nodes from `start_s` on; `end_s` is None while it still runs."""

    start_s: float
    end_s: float | None
    nodes: int | None
    """None where the log does not say how many."""
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of the file: excluded for a reason, or with what it tells."""

    row: int
    """From 1, header and comments not counted."""
    says: str
    """The state or cause of the row, for the table of what became of the rows."""
    interruption: Interruption | None = None
    at_risk: AtRisk | None = None
    excluded: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """A file, read: every row is an entry."""

    format: str
    scope: FailureScope
    entries: tuple[Entry, ...]
    systems: Mapping[str, int | None] | None = None
    """None: rows are jobs that carry their own time at risk. Else rows are events: each system
    with its nodes (None: not said), at risk for the whole window."""
    knows_causes: bool = True
    """Whether infrastructure failures can be told from failures of the programs."""
    notes: tuple[str, ...] = field(default=())
    """What a reader has to know about this file, one sentence each."""


@dataclass(frozen=True, slots=True)
class Accounting:
    """What became of every row: (use, reason) with the number of rows, the largest first."""

    rows: int
    parts: tuple[tuple[Use, str, int], ...]

    def __post_init__(self) -> None:
        assert sum(count for *_, count in self.parts) == self.rows, "a row was lost"

    def of(self, use: Use) -> int:
        """How many rows were used so."""
        return sum(count for part, _, count in self.parts if part is use)
