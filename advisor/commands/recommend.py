"""`advisor recommend`: the whole answer for one scenario."""

from typing import Any

import click

from advisor.commands.options import database_option, format_option, input_options
from advisor.commands.output import canvas, echo
from advisor.inputs import scenario_input
from advisor.reports import FORMATS, render


@click.command(name="recommend")
@input_options()
@format_option(FORMATS, "table")
@click.option(
    "--save", is_flag=True, help="Keep the answer in the database; its id goes to stderr."
)
@database_option
def command(fmt: str, save: bool, db_url: str | None, **options: Any) -> None:
    """Which mechanism, at which checkpoint interval, finishes the job soonest.

    Only the architecture and the MTBF are required, and the state size where the cluster measured
    several; whatever else is not given is filled in from the cluster's own measurements and listed
    in the answer with its origin.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.saved import save as keep

    inputs = scenario_input(options)
    with opened(db_url) as engine:
        recommendation = answer(ask(engine, inputs))
        text = render(recommendation, fmt, canvas())
        saved = keep(engine, recommendation) if save else None
    echo(text)
    if saved:
        click.echo(f"saved as {saved}: print it again with `advisor report {saved}`", err=True)
