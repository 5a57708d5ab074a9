"""Stores a calibration whole: its session, every sample, the fits and the checks.

Storing one again changes nothing: a session is known by its id and by its record's digest.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, Engine, insert, select
from sqlalchemy.exc import IntegrityError

from db.calibration_record import CalibrationFile, CalibrationRecord
from db.errors import InvalidDataError
from db.hardware import add_cluster, add_row, refuse_other_hardware
from db.models import Base
from db.records import CalibrationCheck, CalibrationFit, FittedNumber
from db.run_record import ClusterPart
from db.run_rows import measured_source, source_id
from db.session import read, write
from db.stack_store import add_stack

_TABLES = Base.metadata.tables
Row = dict[str, Any]


def check_cluster(engine: Engine, cluster: ClusterPart) -> None:
    """Raises AnotherClusterError if this name is of other hardware; changes nothing."""
    read(engine, lambda connection: refuse_other_hardware(connection, cluster))


def store_calibration(
    engine: Engine,
    file: CalibrationFile,
    fits: Sequence[CalibrationFit],
    checks: Sequence[CalibrationCheck],
) -> bool:
    """Stores it with what was fitted to it; False where it was stored before.

    Raises InvalidDataError, one line with the path.
    """
    stored = False

    def change(connection: Connection) -> bool:
        nonlocal stored
        # Where the answer to a commit was lost, the first try stored it.
        stored = _store(connection, file, fits, checks) or stored
        return stored

    try:
        return write(engine, change)
    except InvalidDataError as error:
        raise InvalidDataError(f"{file.path}: {error}") from error
    except IntegrityError as error:
        reason = " ".join(str(error.orig).split())
        raise InvalidDataError(f"{file.path}: the database refuses it: {reason}") from error


def _store(
    connection: Connection,
    file: CalibrationFile,
    fits: Sequence[CalibrationFit],
    checks: Sequence[CalibrationCheck],
) -> bool:
    record = file.record
    if _is_known(connection, file):
        return False
    cluster, environment = record.cluster, record.environment
    add_row(connection, "sources", measured_source(cluster.cluster, record.started_at))
    add_cluster(connection, cluster)
    stack = add_stack(connection, cluster.cluster, environment)
    connection.execute(insert(_TABLES["calibration_sessions"]), _session_row(file, stack))
    for table, rows in (
        ("calibration_samples", _sample_rows(record)),
        ("calibration_fits", [_fit_row(fit) for fit in fits]),
        ("calibration_checks", [_check_row(record.session, check) for check in checks]),
    ):
        if rows:
            connection.execute(insert(_TABLES[table]), rows)
    return True


def _is_known(connection: Connection, file: CalibrationFile) -> bool:
    table, session = _TABLES["calibration_sessions"], file.record.session
    statement = select(table.c.record_sha256).where(table.c.session == session)
    stored = connection.execute(statement).scalar()
    if stored is not None and stored != file.sha256:
        raise InvalidDataError(
            f"calibration {session!r} is stored already, from a record that differs (SHA-256 "
            f"{stored[:12]}..., this one {file.sha256[:12]}...); nothing is overwritten"
        )
    return stored is not None


def _session_row(file: CalibrationFile, stack: str) -> Row:
    record = file.record
    cluster = record.cluster.cluster
    skipped = [f"{part.path} not measured: {part.reason}" for part in record.skipped]
    return {
        "session": record.session,
        "cluster": cluster,
        "software_stack": stack,
        "source_id": source_id(cluster),
        "command": record.command,
        "seed": record.seed,
        "is_quick": int(record.quick),
        "started_at": record.started_at,
        "wall_s": record.wall_s,
        "environment": json.dumps(record.environment.model_dump(), sort_keys=True),
        "record_sha256": file.sha256,
        "note": "; ".join([*record.notes, *skipped]),
    }


def _sample_rows(record: CalibrationRecord) -> list[Row]:
    return [
        {
            "session": record.session,
            "ordinal": ordinal,
            "path": str(sample.path),
            "size_bytes": sample.size_bytes,
            "processes": sample.processes,
            "purpose": str(sample.purpose),
            "duration_s": sample.duration_s,
        }
        for ordinal, sample in enumerate(record.measured())
    ]


def _fit_row(fit: CalibrationFit) -> Row:
    same = ("session", "processes", "n", "outliers", "spread_fraction", "conditions")
    return {
        **{name: getattr(fit, name) for name in same},
        "path": str(fit.path),
        "model": str(fit.model),
        "smallest_bytes": fit.smallest_bytes,
        "largest_bytes": fit.largest_bytes,
        **_number("latency_s", fit.latency_s),
        **_number("s_per_byte", fit.s_per_byte),
        **_number("s_per_rank", fit.s_per_rank),
    }


def _number(name: str, number: FittedNumber | None) -> Row:
    if number is None:
        return dict.fromkeys((name, f"{name}_low", f"{name}_high"))
    return {name: number.value, f"{name}_low": number.low, f"{name}_high": number.high}


def _check_row(session: str, check: CalibrationCheck) -> Row:
    return {"session": session, **dataclasses.asdict(check)}
