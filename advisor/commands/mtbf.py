"""`advisor mtbf`: how often a cluster fails, from its own logs."""

from datetime import tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.commands.options import DURATION_OR_NONE, Parsed, database_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.errors import UserError
from advisor.failure_logs.formats import NAMES
from advisor.failure_logs.quantities import MOST_ASKED_NODES
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.failure_logs.estimate import Estimate

_COUNTS = ("infra", "infra+abort", "all")


def _zone(text: str) -> tzinfo:
    from advisor.failure_logs.clock import parse_zone

    return parse_zone(text)


def _estimate_name(text: str) -> str:
    from advisor.saved_mtbf import parse_estimate_name

    return parse_estimate_name(text)


def _column(text: str) -> tuple[str, str]:
    from advisor.failure_logs.columns import parse_column

    return parse_column(text)


@click.command(name="mtbf")
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "log_format",
    type=click.Choice(("auto", *NAMES)),
    default="auto",
    show_default=True,
    help="What kind of log it is.",
)
@click.option(
    "--column",
    "told",
    multiple=True,
    metavar="NAME=COLUMN",
    type=Parsed("column", _column),
    help="Which column of a table of your own holds what, as in time=Date; several.",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, MOST_ASKED_NODES),
    help="Size for which the MTBF is wanted.  [default: the mean size in the log]",
)
@click.option(
    "--count",
    type=click.Choice(_COUNTS),
    default="infra",
    show_default=True,
    help="Which interruptions are failures.",
)
@click.option(
    "--coalesce",
    "coalesce_s",
    type=DURATION_OR_NONE,
    default="5m",
    show_default=True,
    help="Failures so close together are one; none keeps all apart.",
)
@click.option(
    "--window",
    metavar="A..B",
    help="From when to when; of counts without times, how long.  [default: the whole log]",
)
@click.option(
    "--tz",
    "zone",
    type=Parsed("zone", _zone),
    default="UTC",
    show_default=True,
    help="Zone of times without an offset.",
)
@click.option(
    "--output",
    "output",
    type=click.Choice(("table", "json")),
    default="table",
    show_default=True,
    help="How the answer is printed.",
)
@click.option(
    "--save",
    metavar="NAME",
    type=Parsed("name", _estimate_name),
    help="Keep it in the database, for `advisor recommend --mtbf-from NAME`.",
)
@database_option
def command(
    file: Path,
    log_format: str,
    told: tuple[tuple[str, str], ...],
    nodes: int | None,
    count: str,
    coalesce_s: float,
    window: str | None,
    zone: tzinfo,
    output: str,
    save: str | None,
    db_url: str | None,
) -> None:
    """How often a cluster fails, from FILE, a log of its own.

    Failures over the time at risk, with a 95 % interval; what became of every row; whether
    failures come in bursts; which nodes they come from.
    """
    from advisor.failure_logs.clock import Clock
    from advisor.failure_logs.columns import together
    from advisor.failure_logs.counting import CountMode, Question
    from advisor.failure_logs.estimate import estimate
    from advisor.failure_logs.reading import read_log
    from advisor.failure_logs.windows import parse_window

    asked, length_s = (None, None) if window is None else parse_window(window, Clock(zone))
    log = read_log(file, log_format, Clock(zone), together(told))
    question = Question(CountMode(count), coalesce_s, asked, length_s, nodes)
    try:
        found = estimate(log, question)
    except UserError as error:
        raise UserError(f"{file}: {error}") from None
    if save is not None:
        _keep(save, found, db_url)
    if output == "json":
        echo_json(found.as_json())
    else:
        _echo(found, file.name)
    if save is not None:
        click.echo(f"saved as {save}: use it with `advisor recommend --mtbf-from {save}`", err=True)


def _keep(name: str, found: "Estimate", db_url: str | None) -> None:
    from advisor.evidence import opened
    from advisor.saved_mtbf import save

    with opened(db_url) as engine:
        save(engine, name, found)


def _echo(found: "Estimate", name: str) -> None:
    from advisor.reports import failure_log_words as words

    echo(printable(f"{name}: a log of kind {found.log.format}"))
    for line in words.lines(found):
        echo(printable(line))
    for warning in found.warnings:
        echo(printable(f"warning: {warning}"))
    echo("")
    echo_table(words.ROWS_HEADER, words.row_cells(found), numeric=(0,))
    if found.by_node is None:
        return
    echo("")
    echo(words.node_words(found.by_node))
    echo_table(words.NODES_HEADER, words.node_cells(found.by_node), numeric=(1, 2))
    if found.by_node.without:
        echo("")
        echo_table(words.WITHOUT_HEADER, words.without_cells(found.by_node), numeric=(0, 1, 2))
