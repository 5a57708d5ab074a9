"""The JSON schemas of records, made from their models; kept in data/schemas for other programs.

python -m db.run_record_schema > data/schemas/run-record-1.schema.json
python -m db.run_record_schema calibration > data/schemas/calibration-record-1.schema.json
"""

import json
import sys
from typing import Any

from db.calibration_record import CalibrationRecord
from db.run_record import MOST_SERIES_POINTS, Part, Record

_LARGEST_SHOWN = 100_000


def run_record_schema() -> dict[str, Any]:
    """JSON Schema (2020-12). Rules between keys are told by `advisor ingest` only."""
    return _schema(
        Record,
        "What one run of the measuring harness saw",
        "Times are seconds since the run began, sizes bytes. The lists of `series` are equally "
        f"long, at most {MOST_SERIES_POINTS} points.",
    )


def calibration_record_schema() -> dict[str, Any]:
    """The same of a calibration record."""
    return _schema(
        CalibrationRecord,
        "What one calibration of a machine timed",
        "Durations are seconds, sizes bytes; `samples` are in the order in which they were taken.",
    )


def _schema(model: type[Part], title: str, description: str) -> dict[str, Any]:
    found: dict[str, Any] = _without_limits(model.model_json_schema(mode="validation"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "description": description,
        **{key: value for key, value in found.items() if key not in ("title", "description")},
    }


def _without_limits(part: Any) -> Any:
    """The largest numbers that a database holds are no part of the format, nor are our titles."""
    if isinstance(part, list):
        return [_without_limits(item) for item in part]
    if not isinstance(part, dict):
        return part
    return {
        key: _without_limits(value)
        for key, value in part.items()
        if not (key in ("title", "description") and isinstance(value, str))
        and not (key in ("minimum", "maximum") and abs(value) > _LARGEST_SHOWN)
    }


if __name__ == "__main__":
    asked = calibration_record_schema if "calibration" in sys.argv[1:] else run_record_schema
    print(json.dumps(asked(), indent=2))
