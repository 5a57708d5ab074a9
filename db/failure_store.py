"""Failure estimates under names: kept once, read again."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, Engine, text

from db.errors import NameTakenError, NotFoundError
from db.records import FailureEstimate, FailureScope
from db.session import write

_INSERT = """
INSERT INTO failure_estimates (name, created_at, log_format, scope, counted, coalesce_s, nodes,
  failures, at_risk_s, mtbf_s, low_s, high_s, document, advisor_version)
VALUES (:name, :created_at, :log_format, :scope, :counted, :coalesce_s, :nodes,
  :failures, :at_risk_s, :mtbf_s, :low_s, :high_s, :document, :advisor_version)
ON CONFLICT (name) DO NOTHING
"""
_ESTIMATE = """
SELECT name, created_at, log_format, scope, counted, nodes, failures, at_risk_s, mtbf_s, low_s,
  high_s
FROM failure_estimates
WHERE name = :name
"""
_MOST_NAMES = 5


def store_failure_estimate(engine: Engine, values: Mapping[str, Any]) -> None:
    """Keeps an estimate: the columns of `failure_estimates` but for the instant.

    Raises NameTakenError: what a name stands for never changes.
    """
    row = {**values, "created_at": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")}
    added = False

    def change(connection: Connection) -> bool:
        nonlocal added
        # Where the answer to a commit was lost, the first try added it.
        added = connection.execute(text(_INSERT), row).rowcount == 1 or added
        return added

    if not write(engine, change):
        raise NameTakenError(
            f"a failure estimate is called {values['name']!r} already: choose another name"
        )


def failure_estimate(connection: Connection, name: str) -> FailureEstimate:
    """The estimate of that name. Raises NotFoundError, which lists the newest names."""
    row = connection.execute(text(_ESTIMATE), {"name": name}).mappings().first()
    if row is None:
        known = failure_estimate_names(connection)[:_MOST_NAMES]
        there_is = f"the newest are {', '.join(known)}" if known else "none is saved yet"
        raise NotFoundError(f"no failure estimate {name!r}; {there_is}")
    return FailureEstimate(**{**row, "scope": FailureScope(row["scope"])})


def failure_estimate_names(connection: Connection) -> tuple[str, ...]:
    """All names, the newest first."""
    found = connection.execute(
        text("SELECT name FROM failure_estimates ORDER BY created_at DESC, name")
    )
    return tuple(found.scalars())
