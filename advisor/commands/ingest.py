"""`advisor ingest`: run records into the database."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import counted, echo, echo_json
from advisor.errors import UserError
from advisor.printable import printable

if TYPE_CHECKING:
    from db.harvest import HarvestReport


@click.command(name="ingest")
@click.argument("path", metavar="FOLDER", type=click.Path(path_type=Path))
@format_option(("table", "json"), "table")
@database_option
def command(path: Path, fmt: str, db_url: str | None) -> None:
    """Store run records, and pool the valid ones into operating points.

    FOLDER is searched for files called record.json, folders in it included; a single file will do.
    What is stored already stays as it is. A record that is refused does not stop the others, but
    the exit code is 2 then.
    """
    from advisor.evidence import opened
    from db.harvest import harvest
    from db.ingest import ingest

    with opened(db_url) as engine:
        report = ingest(engine, path)
        harvested = [harvest(engine, cluster) for cluster in report.clusters]
    if fmt == "json":
        echo_json(
            {
                "new": list(report.new),
                "known": list(report.known),
                "refused": list(report.refused),
                "clusters": [harvest_json(each) for each in harvested],
            }
        )
    else:
        echo(f"runs: {len(report.new)} new, {len(report.known)} already there")
        for each in harvested:
            echo(harvest_words(each))
    for line in report.refused:
        click.echo(f"refused: {printable(line)}", err=True)
    if report.refused:
        total = len(report.runs) + len(report.refused)
        raise UserError(f"{len(report.refused)} of {counted(total, 'record')} refused: see above")


def harvest_words(report: "HarvestReport") -> str:
    said = (
        f"{printable(report.cluster)}: {counted(report.points, 'operating point')}, "
        f"{report.added} added, {report.updated} updated"
    )
    if report.kept:
        said += f"; {report.kept} came in a bundle, without their runs, and stay as they are"
    for old, newer in report.superseded:
        said += f"\n{printable(old)} is superseded by {printable(newer)}, which was measured later"
    return said


def harvest_json(report: "HarvestReport") -> dict[str, Any]:
    return {
        "cluster": report.cluster,
        "points": report.points,
        "added": report.added,
        "updated": report.updated,
        "kept": report.kept,
        "superseded": [{"old": old, "newer": newer} for old, newer in report.superseded],
    }
