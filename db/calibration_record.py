"""Reads calibration records, the files by which the measuring side hands over what it timed.

One record is one JSON object in one file, `calibration.json`. What it may hold is also in
data/schemas/calibration-record-1.schema.json, which is made from the models below.
"""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from db.records import CalibrationPath, CalibrationSample, SamplePurpose
from db.rows import FilledText, FromOne, Id, Text, Whole
from db.run_record import (
    ClusterPart,
    EnvironmentPart,
    FromZero,
    Part,
    Positive,
    Utc,
    parse_as,
    read_text,
)

RECORD = "failbench-calibration"
VERSION = 1
_MOST_SAMPLES = 100_000
_MOST_ITEMS = 100
_UNSIZED = frozenset({CalibrationPath.GROUP_FORMATION, CalibrationPath.PROCESS_START})

_Path = Annotated[CalibrationPath, Field(strict=False)]


class PathPart(Part):
    path: _Path
    conditions: FilledText


class SkippedPart(Part):
    path: _Path
    reason: FilledText


class SamplePart(Part):
    path: _Path
    size_bytes: FromOne | None
    processes: FromOne
    purpose: Annotated[SamplePurpose, Field(strict=False)]
    duration_s: Positive

    @model_validator(mode="after")
    def _sized(self) -> Self:
        if (self.path in _UNSIZED) != (self.size_bytes is None):
            raise ValueError(f"size_bytes of {self.path}: what moves no bytes has none")
        return self


class CalibrationRecord(Part):
    """Everything that one calibration timed."""

    record: Literal["failbench-calibration"]
    version: Literal[1]
    session: Id
    command: FilledText
    seed: Whole
    quick: bool
    started_at: Utc
    wall_s: FromZero
    cluster: ClusterPart
    environment: EnvironmentPart
    paths: Annotated[tuple[PathPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    skipped: Annotated[tuple[SkippedPart, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    notes: Annotated[tuple[Text, ...], Field(strict=False, max_length=_MOST_ITEMS)]
    samples: Annotated[
        tuple[SamplePart, ...], Field(strict=False, min_length=1, max_length=_MOST_SAMPLES)
    ]

    @model_validator(mode="after")
    def _described(self) -> Self:
        described = Counter(part.path for part in self.paths)
        if any(count > 1 for count in described.values()):
            raise ValueError("paths: one of them is there twice")
        if lacking := {sample.path for sample in self.samples} - described.keys():
            raise ValueError(f"paths: {min(lacking)} has samples, and is not described")
        return self

    def measured(self) -> list[CalibrationSample]:
        """The samples, in their order."""
        return [
            CalibrationSample(s.path, s.size_bytes, s.processes, s.purpose, s.duration_s)
            for s in self.samples
        ]

    def conditions(self) -> dict[CalibrationPath, str]:
        """How each path was measured, in words."""
        return {part.path: part.conditions for part in self.paths}


@dataclass(frozen=True, slots=True)
class CalibrationFile:
    """A valid record, and the digest of the file that it was read from."""

    path: Path
    record: CalibrationRecord
    sha256: str


def read_calibration(path: Path) -> CalibrationFile:
    """Reads one file. Raises InvalidDataError: one line with path, field and what is wrong."""
    text, digest = read_text(path)
    return CalibrationFile(path, parse_calibration(text, str(path)), digest)


def parse_calibration(text: str, name: str) -> CalibrationRecord:
    """The record in a text; `name` is how messages call it. Raises InvalidDataError."""
    return parse_as(CalibrationRecord, "calibration record", (RECORD, VERSION), text, name)
