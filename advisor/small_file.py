"""Files that somebody writes by hand: read as a whole, and complained of by name."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from advisor.errors import UserError

_Read = TypeVar("_Read")


def read_small(path: Path, most_bytes: int, parse: Callable[[bytes], _Read]) -> _Read:
    """What `parse` makes of the file's content, of which it gets one byte too many at most. Raises
    UserError that names the file."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise UserError(f"{path} cannot be read: {error}") from None
    try:
        return parse(content)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
