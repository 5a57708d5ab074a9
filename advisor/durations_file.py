"""Observed durations in a file or a field: one with its unit a line.

Blank lines and those that begin with # are none.
"""

from collections.abc import Callable

from advisor.errors import UserError

_COMMENT = "#"


def parse_lines(text: str, parse: Callable[[str], float]) -> list[float]:
    """Each line by `parse`. Raises UserError that names the line."""
    found = []
    for number, line in enumerate(map(str.strip, text.splitlines()), start=1):
        if line and not line.startswith(_COMMENT):
            try:
                found.append(parse(line))
            except UserError as error:
                raise UserError(f"line {number}: {error}") from None
    return found


def text_of(content: bytes, most_bytes: int) -> str:
    """The content as text. Raises UserError where it is too long, or none."""
    if len(content) > most_bytes:
        raise UserError(f"it is larger than {most_bytes:,} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError("it is no text in UTF-8") from None
