"""`advisor report`: saved recommendations, listed or printed again."""

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import canvas, echo, echo_table
from advisor.reports import FORMATS, render


@click.command(name="report")
@click.argument("recommendation_id", metavar="[ID]", required=False)
@format_option(FORMATS, "table")
@database_option
def command(recommendation_id: str | None, fmt: str, db_url: str | None) -> None:
    """Print a saved recommendation again, as it was given; without ID, list them.

    `advisor recommend ... --save` saves one. What it prints does not change when measurements are
    added later.
    """
    from advisor.evidence import opened
    from advisor.saved import listed, load

    with opened(db_url) as engine:
        if recommendation_id is not None:
            echo(render(load(engine, recommendation_id), fmt, canvas()))
            return
        summaries = listed(engine)
    if not summaries:
        click.echo("no recommendation is saved yet: `advisor recommend ... --save` saves one")
        return
    echo_table(
        ("id", "cluster", "saved at", "by advisor"),
        ((s.recommendation_id, s.cluster, s.created_at, s.advisor_version) for s in summaries),
    )
