"""Renderers of a recommendation, one a file. All of them take a `Recommendation`, return text.

Importing this package imports no renderer: a command pays only for the format it prints.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from advisor.recommendation import Recommendation


@dataclass(frozen=True, slots=True)
class Canvas:
    """What a renderer may draw on: width in columns, and whether colours are welcome."""

    width: int = 100
    color: bool = False


Renderer = Callable[[Recommendation, Canvas], str]

_MODULES = {
    "table": "advisor.reports.text",
    "json": "advisor.reports.document",
    "markdown": "advisor.reports.markdown",
    "csv": "advisor.reports.comma_separated",
}
FORMATS = tuple(_MODULES)


def render(recommendation: Recommendation, fmt: str, canvas: Canvas | None = None) -> str:
    """The recommendation in one of `FORMATS`. Raises KeyError for any other."""
    renderer: Renderer = import_module(_MODULES[fmt]).render
    return renderer(recommendation, canvas or Canvas())
