"""`advisor recommend`: the whole answer for one scenario."""

from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option, input_options
from advisor.commands.output import canvas, echo, echo_beside
from advisor.inputs import scenario_input
from advisor.reports import FORMATS, render

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from advisor.evidence import Question


@click.command(name="recommend")
@input_options(mtbf_s={"required": False})
@click.option(
    "--mtbf-from",
    metavar="NAME",
    help="The MTBF that `advisor mtbf --save NAME` kept, instead of --mtbf.",
)
@format_option(FORMATS, "table")
@click.option(
    "--uncertainty",
    is_flag=True,
    help="How sure the answer is: probability of best and expected regret of each candidate.",
)
@click.option(
    "--mtbf-factor",
    type=float,
    metavar="F",
    help="The MTBF is only known within a factor F: the choice with the least largest regret.",
)
@click.option(
    "--save", is_flag=True, help="Keep the answer in the database; its id goes to stderr."
)
@database_option
def command(
    uncertainty: bool,
    mtbf_factor: float | None,
    fmt: str,
    save: bool,
    mtbf_from: str | None,
    db_url: str | None,
    **options: Any,
) -> None:
    """Which mechanism, at which checkpoint interval, finishes the job soonest.

    Only the architecture and the MTBF (or a log's, by --mtbf-from) are required, and the state size
    where the cluster measured several; whatever else is not given is filled in from the cluster's
    own measurements and listed in the answer with its origin.
    """
    from advisor.characterization import what_was_read
    from advisor.evidence import answer, ask, opened
    from advisor.saved import save as keep

    if mtbf_from is None:
        _require_mtbf(options["mtbf_s"])
    elif options["mtbf_s"] is not None:
        raise click.UsageError("--mtbf and --mtbf-from say the same thing: give one of them.")
    with opened(db_url) as engine:
        if mtbf_from is None:
            question = ask(engine, scenario_input(options))
        else:
            question = _with_mtbf_of(engine, mtbf_from, options)
        recommendation = answer(question)
        if uncertainty or mtbf_factor is not None:
            # Imported here: draws need scipy, which an answer without them does not wait for.
            from advisor.uncertainty.answer import with_uncertainty

            recommendation = with_uncertainty(
                question.evidence, recommendation, drawn=uncertainty, mtbf_factor=mtbf_factor
            )
        text = render(recommendation, fmt, canvas())
        saved = keep(engine, recommendation) if save else None
    echo(text)
    if fmt == "csv":
        echo_beside(what_was_read(question.evidence), fmt)
    if saved:
        click.echo(f"saved as {saved}: print it again with `advisor report {saved}`", err=True)


def _require_mtbf(mtbf_s: float | None) -> None:
    if mtbf_s is None:
        raise click.UsageError("Missing option '--mtbf' (or '--mtbf-from', a log's).")


def _with_mtbf_of(engine: "Engine", name: str, options: dict[str, Any]) -> "Question":
    from advisor.evidence import ask
    from advisor.saved_mtbf import named_mtbf, with_origin

    named = named_mtbf(engine, name)
    return with_origin(ask(engine, scenario_input(options | {"mtbf_s": named.mtbf_s})), named)
