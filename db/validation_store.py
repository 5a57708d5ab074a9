"""Writes validations: predictions before their runs, and what these took once they are stored.

A validation's runs are no evidence of what it checks, so `db.harvest` leaves them out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Engine, insert, select, text, update

from db.models import Base
from db.records import RunOutcome, RunQuantity
from db.session import write

_VALIDATIONS = Base.metadata.tables["validations"]
_RUNS = Base.metadata.tables["validation_runs"]

FINISHED = frozenset(
    {RunOutcome.COMPLETED, RunOutcome.GRACEFUL, RunOutcome.RECOVERED, RunOutcome.RESTARTED}
)
"""Outcomes of a run that made all its steps."""
_PARTS = (
    RunQuantity.PRODUCTIVE,
    RunQuantity.SAVING,
    RunQuantity.DETECTING,
    RunQuantity.RECOVERING,
    RunQuantity.LOST,
)
"""What the time of a run is made of; they add up to its training from beginning to end."""
_LISTED = ", ".join(f"'{part}'" for part in _PARTS)
_OBSERVED = f"""
SELECT r.run_id, r.outcome, r.validity, r.steps_completed, r.steps_planned,
  (SELECT SUM(v.value) FROM run_values v
    WHERE v.run_id = r.run_id AND v.quantity IN ({_LISTED})) AS trained_s,
  (SELECT COUNT(*) FROM fault_events e WHERE e.run_id = r.run_id AND e.fired = 1) AS failures
FROM runs r
JOIN validation_runs c ON c.run_id = r.run_id
"""  # noqa: S608 - codes of our own enumeration


def store_validation(
    engine: Engine, validation: Mapping[str, Any], runs: Sequence[Mapping[str, Any]]
) -> None:
    """Stores a validation with the predictions of all that it is to try, before the first runs."""
    tried = False

    def change(connection: Connection) -> None:
        nonlocal tried
        if tried and _is_stored(connection, validation["validation"]):
            return  # it was committed, and the answer was lost
        tried = True
        connection.execute(insert(_VALIDATIONS), dict(validation))
        connection.execute(insert(_RUNS), [dict(run) for run in runs])

    write(engine, change)


def _is_stored(connection: Connection, validation: str) -> bool:
    stored = select(_VALIDATIONS.c.validation).where(_VALIDATIONS.c.validation == validation)
    return connection.execute(stored).first() is not None


def store_trial(engine: Engine, run: Mapping[str, Any]) -> None:
    """Stores what is predicted of one run of a stored validation anew, just before it runs."""
    columns = _RUNS.c
    trial = (
        update(_RUNS)
        .where(columns.validation == run["validation"], columns.mechanism == run["mechanism"])
        .values(**run)
    )
    write(engine, lambda connection: connection.execute(trial))


def unplanned(validation: str, mechanism: str) -> str:
    """What stands for the id of a run of a validation until a campaign has planned it."""
    return f"{validation}/{mechanism}"


def settle(engine: Engine) -> int:
    """Brings what validations observed up to date with the runs that are stored; how many changed.

    Computed from the runs alone, so that doing it again changes nothing.
    """
    return write(engine, _settle)


def _settle(connection: Connection) -> int:
    wanted = {row["run_id"]: _observed(row) for row in _rows(connection)}
    columns = (_RUNS.c.run_id, _RUNS.c.observed_s, _RUNS.c.failures, _RUNS.c.outcome)
    stored = connection.execute(select(*columns)).mappings()
    changed = [
        (row["run_id"], wanted[row["run_id"]])
        for row in stored
        if row["run_id"] in wanted
        and wanted[row["run_id"]] != {k: v for k, v in row.items() if k != "run_id"}
    ]
    for run_id, values in changed:
        connection.execute(update(_RUNS).where(_RUNS.c.run_id == run_id).values(**values))
    return len(changed)


def _rows(connection: Connection) -> Sequence[Mapping[str, Any]]:
    return [dict(row) for row in connection.execute(text(_OBSERVED)).mappings()]


def _observed(row: Mapping[str, Any]) -> dict[str, Any]:
    finished = (
        row["validity"] == "valid"
        and row["outcome"] in FINISHED
        and row["steps_completed"] == row["steps_planned"]
    )
    return {
        "observed_s": row["trained_s"] if finished else None,
        "failures": row["failures"],
        "outcome": row["outcome"] if row["validity"] == "valid" else "invalid",
    }
