"""A module for the training script: constants, dictionaries, then the code that uses them."""

from collections.abc import Iterator

from advisor.emit.emitting import Emitted
from advisor.emit.tool import Part, Setting, Variable
from advisor.emit.writers.comments import about, header


def write(emitted: Emitted, part: Part, command: str) -> str:
    """The whole module."""
    top = "\n".join(header(emitted, part, command))
    settings = "\n".join(_settings(part))
    return f"{top}\n\n{part.before.strip()}\n\n{settings}\n\n{part.after.strip()}\n"


def _settings(part: Part) -> Iterator[str]:
    for setting in part.settings:
        if not setting.group:
            yield from about(setting)
            yield f"{setting.name} = {_value(setting)}"
    for group in dict.fromkeys(setting.group for setting in part.settings if setting.group):
        yield f"{group} = {{"
        for setting in part.settings:
            if setting.group == group:
                yield from about(setting, "    ")
                yield f'    "{setting.name}": {_value(setting)},'
        yield "}"


def _value(setting: Setting) -> str:
    value = setting.value
    if isinstance(value, Variable):
        return f'os.environ["{value.name}"]'
    literal = repr(value)
    if literal.startswith("'") and not set(literal[1:-1]) & set("'\"\\"):
        # Quoted as the code around it is.
        return f'"{literal[1:-1]}"'
    return literal
