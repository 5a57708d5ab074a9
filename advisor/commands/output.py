"""Prints for people and pipes: width and colour from the terminal, NO_COLOR respected."""

import csv
import json
import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any

import click

from advisor.printable import printable
from advisor.reports import Canvas

_PIPE_WIDTH = 140
"""Columns when nobody looks: wide enough that no table wraps."""


def canvas() -> Canvas:
    """What stdout can show."""
    terminal = is_terminal()
    width = shutil.get_terminal_size().columns if terminal else _PIPE_WIDTH
    return Canvas(width=max(width, 60), color=terminal and not os.environ.get("NO_COLOR"))


def is_terminal() -> bool:
    """Whether somebody looks at stdout; it may even be closed."""
    return sys.stdout is not None and sys.stdout.isatty()


def echo(text: str) -> None:
    click.echo(text, nl=not text.endswith("\n"))


def echo_json(document: Mapping[str, Any] | Sequence[Any]) -> None:
    echo(json.dumps(document, indent=2, allow_nan=False))


def echo_beside(warnings: Iterable[str], fmt: str) -> None:
    """Below a table; beside CSV, whose columns have no place for them, on stderr. Any other format
    holds them itself."""
    for words in warnings:
        if fmt == "table":
            echo(printable(f"  {words}"))
        elif fmt == "csv":
            click.echo(printable(words), err=True)


def echo_csv(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    echo(out.getvalue())


def echo_table(
    header: Sequence[str], rows: Iterable[Sequence[object]], *, numeric: Iterable[int] = ()
) -> None:
    """A plain table; `numeric` columns are flushed right.

    Where a terminal is too narrow for it, each row becomes a block of lines instead.
    """
    cells = [["" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    look, needed = canvas(), sum(widths) + 2 * len(widths)
    if is_terminal() and needed > look.width:
        _echo_blocks(header, cells)
        return
    right = set(numeric)
    for row in (header, *cells):
        line = "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        click.secho(line.rstrip(), bold=row is header and look.color)


def _echo_blocks(header: Sequence[str], cells: Sequence[Sequence[str]]) -> None:
    width = max(map(len, header))
    for number, row in enumerate(cells, start=1):
        echo(f"-- row {number}")
        for title, cell in zip(header, row, strict=True):
            echo(f"{title.ljust(width)}  {cell}")
