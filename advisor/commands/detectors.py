"""`advisor detectors`: what monitors cost, notice and miss on a cluster, as its runs show."""

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table


@click.command(name="detectors")
@click.option("--cluster", metavar="NAME", help="Whose runs.  [default: all clusters]")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(cluster: str | None, fmt: str, db_url: str | None) -> None:
    """What the monitors of measured runs cost, noticed and missed.

    From runs with `--monitors`: what a monitor takes of each step, how many of the faults that it
    is there to see it noticed and after how many steps, and false alarms in how many checks.
    """
    from advisor.coverage import require_cluster
    from advisor.detectors import detectors
    from advisor.evidence import opened
    from advisor.reports import detector_words as words
    from db.detector_queries import detector_rows
    from db.session import reading

    with opened(db_url) as engine, reading(engine) as connection:
        require_cluster(connection, cluster)
        found = detectors(detector_rows(connection, cluster))
    documents = [each.as_json() for each in found]
    if fmt == "json":
        echo_json({"cluster": cluster, "detectors": documents})
    elif fmt == "csv":
        echo_csv(words.FIELDS, ([each[name] for name in words.FIELDS] for each in documents))
    elif found:
        echo_table(words.HEADER, [words.row(each) for each in found], numeric=words.NUMERIC)
        for line in words.NOTES:
            echo(line)
    else:
        echo("No run with monitors is in the database.")
        echo("Some would come from: advisor measure --architecture a2 --monitors digest,values")
