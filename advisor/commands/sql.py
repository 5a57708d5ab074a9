"""`advisor sql`: questions in SQL, read-only by construction."""

import sys
from collections.abc import Sequence
from decimal import Decimal
from math import isfinite

import click

from advisor.commands.options import DURATION, database_option, format_option
from advisor.commands.output import echo_csv, echo_json, echo_table
from advisor.errors import UserError


@click.command(name="sql")
@click.argument("statement")
@click.option(
    "--max-rows",
    type=click.IntRange(1, 1_000_000),
    default=10_000,
    show_default=True,
    help="Rows printed at most.",
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=DURATION,
    default="10s",
    show_default=True,
    help="Longest time the statement may run.",
)
@format_option(("table", "json", "csv"), "table")
@database_option
def command(
    statement: str, max_rows: int, time_limit_s: float, fmt: str, db_url: str | None
) -> None:
    """Run one SQL statement against the database, read-only; `-` reads it from stdin.

    The views to start from: operating_point_view, frontier_view, coverage_view, detection_view,
    recovery_view, exposure_view, evidence_view. docs/sql.md has eleven questions with their
    queries.
    """
    from advisor.evidence import opened
    from db.errors import TooSlowError
    from db.read_only import LARGEST_RESULT_BYTES, Cut, run_read_only, unique

    if time_limit_s <= 0.0:
        raise UserError("the time limit must be more than 0, such as 10s")
    if statement == "-":
        statement = sys.stdin.read()
    with opened(db_url) as engine:
        url = engine.url.render_as_string(hide_password=False)
        try:
            result = run_read_only(url, statement, row_limit=max_rows, time_limit_s=time_limit_s)
        except TooSlowError as error:
            raise UserError(f"{error}, or raise --time-limit") from None
    if fmt == "json":
        rows = [[_json_cell(cell) for cell in row] for row in result.rows]
        echo_json([dict(zip(unique(result.columns), row, strict=True)) for row in rows])
    elif fmt == "csv":
        echo_csv(result.columns, result.rows)
    else:
        echo_table(result.columns, result.rows, numeric=_numeric(result.rows))
    if result.cut_by is Cut.ROWS:
        click.echo(f"only the first {max_rows:,} rows: raise it with --max-rows", err=True)
    if result.cut_by is Cut.BYTES:
        size = f"{LARGEST_RESULT_BYTES // 10**6} MB"
        click.echo(f"only the first {len(result.rows):,} rows, about {size}: select less", err=True)


def _json_cell(cell: object) -> object:
    """JSON has no bytes, dates or infinity: they become text."""
    if cell is None or isinstance(cell, bool | int | str):
        return cell
    if isinstance(cell, float | Decimal):
        return float(cell) if isfinite(cell) else str(cell)
    return cell.hex() if isinstance(cell, bytes) else str(cell)


def _numeric(rows: Sequence[Sequence[object]]) -> list[int]:
    if not rows:
        return []
    return [
        index
        for index in range(len(rows[0]))
        if all(row[index] is None or isinstance(row[index], int | float) for row in rows)
    ]
