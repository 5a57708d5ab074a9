"""Delimited text as rows with named fields; a row that does not fit is kept, with the reason."""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from advisor.errors import UserError

_LARGEST_FIELD = 1_000_000
_DELIMITERS = (",", ";", "\t", "|")
_LONGEST_HEADER = 100_000
"""Characters; below the limit that Python's csv has for a field unless it is told another."""


@dataclass(frozen=True, slots=True)
class Row:
    """`fields` by the header's names (stripped); None if their number is wrong, then `wrong`."""

    number: int
    fields: Mapping[str, str] | None
    wrong: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """The header and the rows; blank lines and lines that begin with # are neither."""

    header: tuple[str, ...]
    rows: tuple[Row, ...]
    comments: int


def first_line(text: str) -> str:
    """The first line that is neither blank nor a comment; empty if there is none."""
    for line in _lines(text):
        if line.strip() and not line.lstrip().startswith("#"):
            return line
    return ""


def header_of(text: str, delimiter: str) -> tuple[str, ...]:
    """The names in the first line, as `read_table` has them; none if it is too long for a header,
    or empty."""
    line = first_line(text)
    if not line or len(line) > _LONGEST_HEADER:
        return ()  # such as JSON without line ends
    return tuple(name.strip() for name in _quoted(line, delimiter))


def delimiter_of(text: str) -> str:
    """What parts the names of the first line into the most: a comma, unless another does better.

    What stands after a quote counts as inside of it, even if nothing closes it.
    """
    line = first_line(text)
    if len(line) > _LONGEST_HEADER:
        return _DELIMITERS[0]
    return max(_DELIMITERS, key=lambda each: len(next(csv.reader([line], delimiter=each), [])))


def read_table(text: str, delimiter: str, *, quoted: bool = True, doubles: bool = False) -> Table:
    """All rows. Raises UserError if the header names a column twice.

    Not with `doubles`: of those the fields are the last one's, and whoever reads one refuses it.
    """
    comments = 0
    kept: list[str] = []
    for line in _lines(text):
        if line.lstrip().startswith("#"):
            comments += 1
        elif line.strip():
            kept.append(line)
    if not kept:
        return Table((), (), comments)
    found = _split(kept, delimiter, quoted)
    header = tuple(name.strip() for name in next(found))
    if header and not header[-1] and delimiter == "|":
        header = header[:-1]  # `sacct --parsable` ends every line with the delimiter
    if not doubles:
        refuse_doubles(header)
    rows = tuple(_row(number, cells, header) for number, cells in enumerate(found, start=1))
    return Table(header, rows, comments)


def refuse_doubles(header: Sequence[str]) -> None:
    """Raises UserError if two columns have one name."""
    double = sorted(name for name, times in Counter(header).items() if times > 1)
    if double:
        raise UserError(f"the header names {double[0][:60]!r} twice")


def _row(number: int, cells: Sequence[str], header: Sequence[str]) -> Row:
    if len(cells) == len(header) + 1 and not cells[-1]:
        cells = cells[:-1]
    if len(cells) != len(header):
        return Row(number, None, f"{len(cells)} fields instead of {len(header)}")
    return Row(number, dict(zip(header, (cell.strip() for cell in cells), strict=True)))


def _split(lines: Sequence[str], delimiter: str, quoted: bool) -> Iterator[list[str]]:
    """Cells, line by line; a quote that its line does not close is a character like any other.

    Else one such quote would swallow the rows up to the next, which may be the last of the file.
    """
    if not quoted:
        return (line.split(delimiter) for line in lines)
    csv.field_size_limit(_LARGEST_FIELD)
    return (_quoted(line, delimiter) for line in lines)


def _quoted(line: str, delimiter: str) -> list[str]:
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True))
    except csv.Error:
        return line.split(delimiter)


def _lines(text: str) -> list[str]:
    """Lines as files have them; `splitlines` would also split at characters within a name."""
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
