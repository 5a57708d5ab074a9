"""`advisor scorecard`: what each mechanism survives, with the runs behind each mark."""

from datetime import UTC, datetime

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.errors import UserError
from advisor.printable import printable


@click.command(name="scorecard")
@click.argument("mechanism", metavar="[MECHANISM]", required=False)
@click.option("--cluster", metavar="NAME", help="Whose runs.  [default: the default cluster]")
@format_option(("table", "json"), "table")
@database_option
def command(mechanism: str | None, cluster: str | None, fmt: str, db_url: str | None) -> None:
    """What a mechanism survives on a cluster: every fault, what was promised, and what runs showed.

    From drills (`advisor drill`) and from all other stored runs; each mark is the newest run's.
    Without a mechanism, the card of each.
    """
    from advisor.drills.scorecard import card_of
    from advisor.evidence import load_evidence, opened
    from advisor.reports import drill_words as words
    from advisor.reports.drill_document import scorecard_document
    from db.drill_queries import struck_runs
    from db.session import reading

    with opened(db_url) as engine:
        evidence = load_evidence(engine, cluster)
        with reading(engine) as connection:
            struck = struck_runs(connection, evidence.cluster.cluster)
    names = {each: found.name for each, found in sorted(evidence.mechanisms.items())}
    if mechanism is not None and mechanism.lower() not in names:
        raise UserError(f"unknown mechanism {mechanism!r}: known are {', '.join(names)}")
    asked = [mechanism.lower()] if mechanism is not None else [*names]
    now = datetime.now(UTC)
    cards = [card_of(each, names[each], evidence.drills, struck, now) for each in asked]
    if fmt == "json":
        echo_json(scorecard_document(evidence.cluster.cluster, cards))
        return
    echo(printable(f"on {evidence.cluster.cluster}"))
    for card in cards:
        echo("")
        echo(printable(words.card_line(card)))
        if card.rows:
            echo_table(words.CARD_HEADER, words.card_rows(card), numeric=words.CARD_NUMERIC)
        for line in words.card_reasons(card):
            echo(printable(line))
    echo("")
    echo(words.CARD_LEGEND)
