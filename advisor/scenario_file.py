"""A scenario in a TOML or JSON file: the options of `advisor recommend`, one a line.

architecture = "a2"
state-size = "204.7MB"
mtbf = "4h"
"""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from advisor.errors import UserError
from advisor.inputs import BY_OPTION, read_inputs
from advisor.scenario import ScenarioInput

LARGEST_FILE_BYTES = 1_000_000


def read_scenario_file(path: Path) -> ScenarioInput:
    """The scenario. Raises UserError that names the file and what would be valid."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    try:
        return read_inputs(parse_scenario_text(content, path.name))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def parse_scenario_text(content: bytes, name: str) -> dict[str, str]:
    """Inputs by option name, as a person would type them. Raises UserError.

    `name` decides the format: JSON where it ends in .json, else TOML.
    """
    if len(content) > LARGEST_FILE_BYTES:
        raise UserError(f"larger than {LARGEST_FILE_BYTES:,} bytes: a scenario has a few lines")
    is_json = name.lower().endswith(".json")
    try:
        parsed = json.loads(content) if is_json else tomllib.loads(content.decode())
    except (ValueError, RecursionError) as error:
        raise UserError(f"not {'JSON' if is_json else 'TOML'}: {error}") from None
    if not isinstance(parsed, dict):
        raise UserError(f"not a table of inputs: write some of {', '.join(BY_OPTION)}")
    return _texts(parsed)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(name, value) for name, value in values.items()}


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ",".join(value)
    each = BY_OPTION.get(name.replace("_", "-"))
    example = f' such as "{each.example}"' if each else ""
    raise UserError(f"{name} is not a text: write it in quotes, with its unit{example}")
