"""A command as a bash script: options in an array, so that each can have its comment."""

import shlex
from collections.abc import Iterator

from advisor.emit.emitting import Emitted
from advisor.emit.tool import Part, Setting, Variable
from advisor.emit.writers.comments import about, header

_OWN = '"$@"'
"""The reader's own command, without which such a program is nothing but options."""


def write(emitted: Emitted, part: Part, command: str) -> str:
    """The whole script; `"$@"` in it stands for what it is started with."""
    return "\n".join(_lines(emitted, part, command)) + "\n"


def option(setting: Setting) -> str:
    """`--name=value`, quoted for a shell; a bare flag where the value is True."""
    name = shlex.quote(setting.name)
    return name if setting.value is True else f"{name}={_value(setting)}"


def _lines(emitted: Emitted, part: Part, command: str) -> Iterator[str]:
    yield "#!/usr/bin/env bash"
    yield from header(emitted, part, command)
    yield "set -eu"
    if part.program.startswith(_OWN):
        yield ': "${1:?write the command that starts training}"'
    for setting in part.environment:
        yield ""
        yield from about(setting)
        yield f"export {setting.name}={_value(setting)}"
    yield ""
    yield "options=("
    for setting in part.settings:
        yield from about(setting, "  ")
        yield f"  {option(setting)}"
    yield ")"
    yield ""
    yield "exec " + part.program.replace("OPTIONS", '"${options[@]}"')


def _value(setting: Setting) -> str:
    value = setting.value
    if isinstance(value, Variable):
        return f'"${{{value.name}:?}}"'
    return shlex.quote(str(value))
