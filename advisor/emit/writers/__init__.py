"""Texts of a part, one syntax a file, and the document of all parts.

Whatever comes from outside (names of clusters, paths, the reader's command) is quoted as a value,
and made one printable line as a comment.
"""

from collections.abc import Callable
from importlib import import_module

from advisor.emit.emitting import Emitted
from advisor.emit.tool import Part, Syntax

Writer = Callable[[Emitted, Part, str], str]

_MODULES = {
    Syntax.COMMAND: "advisor.emit.writers.command",
    Syntax.PYTHON: "advisor.emit.writers.python",
}


def write(emitted: Emitted, part: Part, command: str) -> str:
    """The part as the text of a file; `command` is what makes it again."""
    writer: Writer = import_module(_MODULES[part.syntax]).write
    return writer(emitted, part, command)
