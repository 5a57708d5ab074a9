"""`advisor next`: which cell to measure next, and what that is worth to the answer."""

from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option, input_options
from advisor.commands.output import echo, echo_json, echo_table
from advisor.inputs import scenario_input
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.uncertainty.cells import NextCells


@click.command(name="next")
@input_options()
@format_option(("table", "json"), "table")
@database_option
def command(fmt: str, db_url: str | None, **options: Any) -> None:
    """Which cell to measure next, so that the answer to a scenario gets surer.

    Each cell behind the answer with what measuring it is worth: by how much the expected regret of
    the pick would drop in expectation, by one more run and by knowing the cell exactly. The command
    below the table makes the run; it has to run on the cluster itself.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.uncertainty.cells import as_json, next_cells

    inputs = scenario_input(options)
    with opened(db_url) as engine:
        question = ask(engine, inputs)
        found = next_cells(question.evidence, answer(question))
    if fmt == "json":
        echo_json(as_json(found))
        return
    _print(found)


def _print(found: "NextCells") -> None:
    from advisor.reports import next_words

    echo(printable(next_words.head(found)))
    helpful = next_words.helpful(found)
    if helpful:
        echo("")
        rows = map(next_words.cells_row, helpful)
        echo_table(next_words.HEADER, rows, numeric=range(2, len(next_words.HEADER)))
        echo("")
        echo(f"{next_words.TITLE}. {next_words.BASIS}")
        echo(printable(f"  {helpful[0].command}"))
    rest = next_words.rest_line(found)
    if rest is not None:
        echo(rest)
    if found.unvalued:
        echo("")
        echo("What cannot be weighed, since nothing says how far it may be off:")
    for each in found.unvalued:
        echo(printable(f"  {each.point_id}: {each.quantity} ({each.reason})"))
        if each.command is not None:
            echo(printable(f"    {each.command}"))
