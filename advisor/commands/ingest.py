"""`advisor ingest`: run records into the database."""

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import DURATION, database_option, format_option
from advisor.commands.output import echo, echo_json
from advisor.errors import UserError
from advisor.printable import printable
from advisor.units import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from db.harvest import HarvestReport
    from db.ingest import IngestReport


@click.command(name="ingest")
@click.argument("path", metavar="FOLDER", type=click.Path(path_type=Path))
@click.option(
    "--follow", is_flag=True, help="Go on with what comes, for nodes that reach no database."
)
@click.option(
    "--every",
    "every_s",
    type=DURATION,
    default="5s",
    show_default=True,
    help="With --follow: how often it looks.",
)
@click.option(
    "--idle",
    "idle_s",
    type=DURATION,
    help="With --follow: end when nothing came for so long.  [default: until Ctrl-C]",
)
@format_option(("table", "json"), "table")
@database_option
def command(
    path: Path, follow: bool, every_s: float, idle_s: float | None, fmt: str, db_url: str | None
) -> None:
    """Store run records, and pool the valid ones into operating points.

    FOLDER is searched for files called record.json, folders in it included; a single file will do.
    What is stored already stays as it is. A record that is refused does not stop the others, but
    the exit code is 2 then. With --follow one line (or one JSON document) whenever something came.
    """
    from advisor.evidence import opened
    from db.first_use import ensure_ready
    from db.ingest import ingest
    from db.session import database_url

    if idle_s is not None and not follow:
        raise UserError("--idle says when --follow ends: give both, or none")
    if every_s <= 0.0:
        raise UserError("--every must be more than 0, such as 5s")
    if follow:
        if not path.is_dir():
            raise UserError(f"{path} is no folder: only a folder that is there can be followed")
        # What came is to be seen before the end, which `opened` waits for with a new database.
        ensure_ready(database_url(db_url))
    with opened(db_url) as engine:
        if follow:
            refused, total = _follow(engine, path, every_s, idle_s, fmt)
        else:
            report = ingest(engine, path)
            _echo(report, _harvested(engine, report.clusters), fmt)
            refused, total = len(report.refused), len(report.runs) + len(report.refused)
    if refused:
        raise UserError(f"{refused} of {counted(total, 'record')} refused: see above")


def _follow(
    engine: "Engine", folder: Path, every_s: float, idle_s: float | None, fmt: str
) -> tuple[int, int]:
    """How many records were refused, of how many."""
    from db.follow import Follower

    follower = Follower(engine, folder)
    refused = total = 0
    is_last = False
    came_at = time.monotonic()
    while True:
        report = follower.look(is_last=is_last)
        refused += len(report.refused)
        total += len(report.runs) + len(report.refused)
        if report.runs or report.refused:
            # Known runs too: whoever stored them may have been stopped before it pooled them.
            _echo(report, _harvested(engine, report.clusters), fmt, is_line=True)
            came_at = time.monotonic()
        if is_last:
            break
        is_last = idle_s is not None and time.monotonic() - came_at >= idle_s
        if not is_last:
            time.sleep(every_s)
    if follower.interrupted:
        click.echo(
            f"{counted(follower.interrupted, 'record')} of interrupted runs not stored: they may "
            "be made again; `advisor ingest FOLDER` stores what is there",
            err=True,
        )
    return refused, total


def _harvested(engine: "Engine", clusters: "Sequence[str]") -> list["HarvestReport"]:
    from db.harvest import harvest

    return [harvest(engine, cluster) for cluster in clusters]


def _echo(
    report: "IngestReport", harvested: list["HarvestReport"], fmt: str, *, is_line: bool = False
) -> None:
    if fmt == "json":
        document = _document(report, harvested)
        if is_line:
            echo(json.dumps(document, allow_nan=False))
        else:
            echo_json(document)
    else:
        echo(f"runs: {len(report.new)} new, {len(report.known)} already there")
        for each in harvested:
            echo(harvest_words(each))
    for line in report.refused:
        click.echo(f"refused: {printable(line)}", err=True)


def _document(report: "IngestReport", harvested: list["HarvestReport"]) -> dict[str, Any]:
    return {
        "new": list(report.new),
        "known": list(report.known),
        "refused": list(report.refused),
        "clusters": [harvest_json(each) for each in harvested],
    }


def harvest_words(report: "HarvestReport") -> str:
    said = (
        f"{printable(report.cluster)}: {counted(report.points, 'operating point')}, "
        f"{report.added} added, {report.updated} updated"
    )
    if report.kept:
        said += f"; {report.kept} came in a bundle, without their runs, and stay as they are"
    for old, newer in report.superseded:
        said += f"\n{printable(old)} is superseded by {printable(newer)}, which was measured later"
    for old, newer in report.contradicted:
        said += (
            f"\n{printable(old)} is marked as superseded by {printable(newer)}, and was measured "
            "after the first run of that: where both were measured, its points are set aside; "
            f"`advisor db supersede --undo {printable(old)}` lets them count"
        )
    return said


def harvest_json(report: "HarvestReport") -> dict[str, Any]:
    return {
        "cluster": report.cluster,
        "points": report.points,
        "added": report.added,
        "updated": report.updated,
        "kept": report.kept,
        "superseded": _marks(report.superseded),
        "contradicted": _marks(report.contradicted),
    }


def _marks(pairs: "Sequence[tuple[str, str]]") -> list[dict[str, str]]:
    return [{"old": old, "newer": newer} for old, newer in pairs]
