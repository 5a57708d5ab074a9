"""Calibrations for tests: samples that follow lines which are known, and fits made by hand."""

from collections.abc import Iterator, Mapping

from db.records import (
    CalibrationFit,
    CalibrationPath,
    CalibrationSample,
    FitModel,
    FittedNumber,
    SamplePurpose,
)

SESSION = "20261130-061500-ab12cd34"
STARTED_AT = "2026-11-30T06:15:00Z"
SIZES = tuple(size * 1_000_000 for size in (1, 4, 16, 64))
LINES: Mapping[CalibrationPath, tuple[float, float]] = {
    CalibrationPath.STORAGE_WRITE: (2e-3, 1e-9),
    CalibrationPath.STORAGE_READ: (1e-3, 8e-10),
    CalibrationPath.HOST_COPY: (1e-5, 1.5e-10),
    CalibrationPath.PEER: (1e-3, 7e-10),
    CalibrationPath.DESERIALISE: (1e-3, 1.2e-10),
    CalibrationPath.VERIFY: (5e-4, 1e-10),
}
"""Latency (s) and s per byte."""


def samples(*paths: CalibrationPath) -> Iterator[CalibrationSample]:
    """Four samples of each size that lie on the lines, but for one in four that takes twice."""
    for path in paths or LINES:
        latency_s, s_per_byte = LINES[path]
        processes = 2 if path is CalibrationPath.PEER else 1
        for size in SIZES:
            for number in range(4):
                time_s = (latency_s + s_per_byte * size) * (2.0 if number == 3 else 1.0)
                yield CalibrationSample(path, size, processes, SamplePurpose.FIT, time_s)


def fit(
    path: CalibrationPath,
    latency_s: float,
    s_per_byte: float,
    session: str = SESSION,
    started_at: str = STARTED_AT,
) -> CalibrationFit:
    """A fit of bytes, from 1 MB to 512 MB."""
    return CalibrationFit(
        session=session,
        started_at=started_at,
        path=path,
        processes=2 if path is CalibrationPath.PEER else 1,
        model=FitModel.BYTES,
        n=36,
        outliers=0,
        spread_fraction=0.05,
        latency_s=FittedNumber(latency_s, 0.9 * latency_s, 1.1 * latency_s),
        s_per_byte=FittedNumber(s_per_byte, 0.9 * s_per_byte, 1.1 * s_per_byte),
        s_per_rank=None,
        smallest_bytes=1_000_000,
        largest_bytes=512_000_000,
        conditions="made up",
        source_id="failbench-2026",
    )


def all_fits() -> tuple[CalibrationFit, ...]:
    """A fit of each of the lines."""
    return tuple(fit(path, *line) for path, line in LINES.items())
