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

LARGEST_FILE_BYTES = 10_000
"""A scenario has a few lines; reading TOML takes time with the square of a key's length."""


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
        if is_json:
            parsed = json.loads(content, object_pairs_hook=_without_duplicates)
        else:
            parsed = tomllib.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise UserError(f"not {'JSON' if is_json else 'TOML'}: {error}") from None
    if not isinstance(parsed, dict):
        raise UserError(f"not a table of inputs: write some of {', '.join(BY_OPTION)}")
    return _texts(parsed)


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """JSON lets the last of two equal keys win in silence; a scenario must not."""
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{', '.join(twice)} is there twice")
    return dict(pairs)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {name: _text(name, value) for name, value in values.items()}


def _text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**18:
        return str(value)
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return ",".join(value)
    each = BY_OPTION.get(name.replace("_", "-"))
    example = f' such as "{each.example}"' if each else ""
    raise UserError(f"{name} is neither a text nor a whole number: write it in quotes{example}")
