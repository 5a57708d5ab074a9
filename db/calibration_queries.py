"""Reads calibrations of our own whole, samples and checks included: SQL in, dataclasses out."""

from dataclasses import dataclass

from sqlalchemy import Connection, text

from db.queries import calibration_fits
from db.records import (
    CalibrationCheck,
    CalibrationFit,
    CalibrationPath,
    CalibrationSample,
    SamplePurpose,
)

_NEWEST = """
SELECT session, cluster, command, seed, is_quick, started_at, wall_s, note
FROM calibration_sessions
WHERE cluster = :cluster
ORDER BY started_at DESC, session DESC
LIMIT 1
"""
_SAMPLES = """
SELECT path, size_bytes, processes, purpose, duration_s
FROM calibration_samples
WHERE session = :session
ORDER BY ordinal
"""
_CHECKS = """
SELECT ordinal, predicted_s, conditions
FROM calibration_checks
WHERE session = :session
ORDER BY ordinal
"""


@dataclass(frozen=True, slots=True)
class CalibrationSession:
    """One calibration of a cluster: its samples in the order in which they were taken, the fits
    to them, and what those said of the samples that they had not seen. `wall_s` in seconds."""

    session: str
    cluster: str
    command: str
    seed: int
    is_quick: bool
    started_at: str
    wall_s: float
    note: str
    samples: tuple[CalibrationSample, ...]
    fits: tuple[CalibrationFit, ...]
    checks: tuple[CalibrationCheck, ...]


def newest_calibration(connection: Connection, cluster: str) -> CalibrationSession | None:
    """The newest calibration of a cluster; None where it has none of its own."""
    row = connection.execute(text(_NEWEST), {"cluster": cluster}).mappings().first()
    if row is None:
        return None
    of_session = {"session": row["session"]}
    samples = connection.execute(text(_SAMPLES), of_session).mappings()
    checks = connection.execute(text(_CHECKS), of_session).mappings()
    fits = calibration_fits(connection, cluster)
    return CalibrationSession(
        **{**row, "is_quick": bool(row["is_quick"])},
        samples=tuple(
            CalibrationSample(
                **{
                    **sample,
                    "path": CalibrationPath(sample["path"]),
                    "purpose": SamplePurpose(sample["purpose"]),
                }
            )
            for sample in samples
        ),
        fits=tuple(fit for fit in fits if fit.session == row["session"]),
        checks=tuple(CalibrationCheck(**check) for check in checks),
    )
