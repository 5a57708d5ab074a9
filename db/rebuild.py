"""Makes everything that was computed from run records anew, and says what was different.

The records themselves are in the database, each with its digest, so nothing else is needed. Where
nothing was changed by hand, and the program reads records as it did, nothing differs.
"""

import hashlib
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select, update

from db import run_rows
from db.drill_store import settle_drills
from db.harvest import HarvestReport, harvest
from db.ingest import rows_of
from db.models import Base
from db.run_record import RecordFile, parse_record
from db.run_rows import Row
from db.session import reading, write
from db.stack_store import add_stack
from db.validation_store import settle

_TABLES = Base.metadata.tables
_RUNS, _RECORDS = _TABLES["runs"], _TABLES["run_records"]


@dataclass(frozen=True, slots=True)
class RebuildReport:
    """What a rebuild found: runs whose rows differed and are as their records now, runs whose
    record is not the one that was stored (left alone), and what became of operating points."""

    runs: int
    differed: tuple[str, ...]
    damaged: tuple[str, ...]
    harvests: tuple[HarvestReport, ...]
    validated: int
    """Validated runs whose observed time was not what their records say."""
    drilled: int = 0
    """Drills whose result was not what their runs say."""


def rebuild(engine: Engine) -> RebuildReport:
    """Reads every stored record again; each run is a transaction of its own."""
    statement = select(_RECORDS.c.run_id).order_by(_RECORDS.c.run_id)
    with reading(engine) as connection:
        run_ids = list(connection.execute(statement).scalars())
        clusters = list(connection.execute(select(_RUNS.c.cluster).distinct()).scalars())
    differed, damaged = [], []
    for run_id in run_ids:
        found = write(engine, partial(_rebuilt, run_id=run_id))
        if found is None:
            damaged.append(run_id)
        elif found:
            differed.append(run_id)
    harvests = tuple(harvest(engine, cluster) for cluster in sorted(clusters))
    return RebuildReport(
        len(run_ids),
        tuple(differed),
        tuple(damaged),
        harvests,
        settle(engine),
        settle_drills(engine),
    )


def _rebuilt(connection: Connection, run_id: str) -> bool | None:
    """Whether the run differed from its record; None where that is damaged."""
    file = _record(connection, run_id)
    return None if file is None else _made_anew(connection, file)


def _record(connection: Connection, run_id: str) -> RecordFile | None:
    """The stored record; None if its digest is not the one of the record that was ingested."""
    statement = (
        select(_RECORDS.c.record, _RUNS.c.record_sha256)
        .join_from(_RECORDS, _RUNS)
        .where(_RECORDS.c.run_id == run_id)
    )
    text, stored = connection.execute(statement).one()
    sha256 = hashlib.sha256(text.encode()).hexdigest()
    if sha256 != stored:
        return None
    return RecordFile(Path(run_id), parse_record(text, run_id), text, sha256)


def _made_anew(connection: Connection, file: RecordFile) -> bool:
    """Brings the rows of a run to what its record says; whether any differed."""
    run_id = file.record.run_id
    wanted = {name: rows for name, rows in rows_of(file).items() if name != "run_records"}
    different = [
        name for name, rows in wanted.items() if _stored(connection, name, run_id) != _sorted(rows)
    ]
    if different:
        for name in reversed(wanted):  # those that refer to others first
            connection.execute(delete(_TABLES[name]).where(_TABLES[name].c.run_id == run_id))
        for name, rows in wanted.items():
            if rows:
                connection.execute(insert(_TABLES[name]), rows)
    stack = add_stack(connection, file.record.cluster.cluster, file.record.environment)
    row = run_rows.run_row(file, stack)
    stored = connection.execute(select(_RUNS).where(_RUNS.c.run_id == run_id)).mappings().one()
    changed = {name: value for name, value in row.items() if stored[name] != value}
    if changed:
        connection.execute(update(_RUNS).where(_RUNS.c.run_id == run_id).values(**changed))
    return bool(different or changed)


def _stored(connection: Connection, table: str, run_id: str) -> list[Row]:
    found = _TABLES[table]
    rows = connection.execute(select(found).where(found.c.run_id == run_id)).mappings()
    return _sorted([dict(row) for row in rows])


def _sorted(rows: list[Row]) -> list[Row]:
    def key(row: dict[str, Any]) -> str:
        return repr(sorted(row.items()))

    return sorted(rows, key=key)
