"""The JSON schema of a run record, made from its models; kept in data/schemas for other programs.

python -m db.run_record_schema > data/schemas/run-record-1.schema.json
"""

import json
from typing import Any

from db.run_record import MOST_SERIES_POINTS, Record

_LARGEST_SHOWN = 100_000


def run_record_schema() -> dict[str, Any]:
    """JSON Schema (2020-12). Rules between keys are told by `advisor ingest` only."""
    schema = Record.model_json_schema(mode="validation")
    found: dict[str, Any] = _without_limits(schema)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What one run of the measuring harness saw",
        "description": (
            "Times are seconds since the run began, sizes bytes. The lists of `series` are equally "
            f"long, at most {MOST_SERIES_POINTS} points."
        ),
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
    print(json.dumps(run_record_schema(), indent=2))
