"""The JSON schema of a bundle, made from the row models; kept in data/schemas for other programs.

python -m db.bundle_schema > data/schemas/cluster-bundle-2.schema.json
"""

import json
from typing import Any

from db.files import FORMAT, VERSION
from db.kinds import KINDS, Kind


def bundle_schema() -> dict[str, Any]:
    """JSON Schema (2020-12). Rules between columns are told by `advisor db load` only."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "What FailBench Advisor knows of one cluster",
        "description": "Columns and units are those of the CSV files, see data/README.md.",
        "type": "object",
        "properties": {
            "format": {"const": FORMAT},
            "version": {"const": VERSION},
            "kinds": {
                "type": "object",
                "properties": {
                    kind.name: {"type": "array", "items": _row_schema(kind)} for kind in KINDS
                },
                "additionalProperties": False,
            },
        },
        "required": ["format", "version", "kinds"],
        "additionalProperties": False,
    }


def _row_schema(kind: Kind) -> dict[str, Any]:
    schema = kind.model.model_json_schema(mode="validation")
    codes = schema.get("$defs", {})
    names = {column.field: name for name, column in kind.columns.items()}
    return {
        "type": "object",
        "properties": {
            names[field]: _cell_schema(cell, codes, field in schema.get("required", ()))
            for field, cell in schema["properties"].items()
        },
        "required": [names[field] for field in schema.get("required", ())],
        "additionalProperties": False,
    }


def _cell_schema(cell: dict[str, Any], codes: dict[str, Any], required: bool) -> dict[str, Any]:
    """One cell: a code, a text or a number; or null, where it may be missing."""
    choices = [_choice(choice, codes) for choice in cell.get("anyOf", [cell])]
    kept = [choice for choice in choices if choice.get("type") != "null"]
    # pydantic also takes a number as text; a bundle always writes the number.
    found = next((c for c in kept if c.get("type") in ("number", "integer")), kept[0])
    return found if required else _or_null(found)


def _or_null(cell: dict[str, Any]) -> dict[str, Any]:
    if "enum" in cell:
        return {"enum": [*cell["enum"], None]}
    return {**cell, "type": [cell["type"], "null"]}


def _choice(choice: dict[str, Any], codes: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in choice:
        return {"enum": codes[choice["$ref"].rpartition("/")[2]]["enum"]}
    # The largest numbers that a database holds are no part of the format.
    return {
        name: choice[name]
        for name in ("type", "pattern", "minLength", "minimum", "exclusiveMinimum", "maximum")
        if name in choice and not abs(choice[name] if "imum" in name else 0) > 1000
    }


if __name__ == "__main__":
    print(json.dumps(bundle_schema(), indent=2))
