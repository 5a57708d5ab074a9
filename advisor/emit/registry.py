"""The tools by name. A file in `tools/` with an object `TOOL` is one; none is imported before it is
asked for."""

from importlib import import_module
from pkgutil import iter_modules

from advisor.emit import tools
from advisor.emit.tool import Tool
from advisor.errors import UserError


def names() -> tuple[str, ...]:
    """What `tool` takes, in alphabetical order."""
    return tuple(sorted(module.name.replace("_", "-") for module in iter_modules(tools.__path__)))


def tool(name: str) -> Tool:
    """The tool called so. Raises UserError that lists them all."""
    if name not in names():
        raise UserError(f"there is no tool {name!r}: write one of {', '.join(names())}")
    found: Tool = import_module(f"advisor.emit.tools.{name.replace('-', '_')}").TOOL
    return found
