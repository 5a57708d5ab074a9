"""Reads the documents as a test needs them: sections, tables, console blocks."""

import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
SCHEMAS = DOCS.parent / "data" / "schemas"

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ELLIPSIS = "..."


@dataclass(frozen=True, slots=True)
class Step:
    """One command of a console block, and the lines that it prints."""

    command: str
    prints: tuple[str, ...]


def read(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def sections(text: str, level: int = 2) -> dict[str, str]:
    """The text under each heading of the level, by heading."""
    parts = re.split(rf"^{'#' * level} (.+)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def tables(text: str) -> list[list[tuple[str, ...]]]:
    """Every table as rows of cells, its header included and its rule left out."""
    found: list[list[tuple[str, ...]]] = []
    previous = False
    for line in text.splitlines():
        is_row = line.startswith("|")
        if is_row and not previous:
            found.append([])
        if is_row and not re.fullmatch(r"[|\s:-]+", line):
            found[-1].append(tuple(cell.strip() for cell in line.strip("|").split("|")))
        previous = is_row
    return found


def table_with(text: str, first_header: str) -> dict[str, tuple[str, ...]]:
    """The one table whose first column has this header: first cell -> the other cells."""
    (found,) = [rows for rows in tables(text) if rows[0][0] == first_header]
    return {row[0].strip("`"): row[1:] for row in found[1:]}


def code_words(text: str) -> set[str]:
    """Everything between single backticks."""
    return set(re.findall(r"`([^`\n]+)`", re.sub(_FENCED, "", text)))


def console_blocks(text: str) -> list[list[Step]]:
    """Every ```console block as its commands with what they print; blank lines do not count."""
    return [_steps(body) for language, body in _FENCED.findall(text) if language == "console"]


def _steps(body: str) -> list[Step]:
    steps: list[Step] = []
    for line in filter(str.strip, body.splitlines()):
        if line.startswith("$ "):
            steps.append(Step(line[2:], ()))
        else:
            steps[-1] = Step(steps[-1].command, (*steps[-1].prints, line.rstrip()))
    return steps


def difference(wanted: tuple[str, ...], printed: list[str]) -> str | None:
    """The first wanted line that is not printed in its place, None if all are.

    A line `...` stands for any number of lines, an ellipsis at a line's end for its rest.
    """
    position, gap = 0, False
    for line in wanted:
        if line == ELLIPSIS:
            gap = True
            continue
        reach = printed[position:] if gap else printed[position : position + 1]
        at = next((i for i, other in enumerate(reach) if _same(line, other)), None)
        if at is None:
            return line
        position, gap = position + at + 1, False
    return None if gap or position == len(printed) else f"(the end, before {printed[position]!r})"


def _same(wanted: str, printed: str) -> bool:
    if wanted.endswith(ELLIPSIS):
        return printed.startswith(wanted.removesuffix(ELLIPSIS))
    return wanted == printed
