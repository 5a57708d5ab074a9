"""`advisor db`: create, upgrade, check, fill and export the database, and who may read it."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.commands.options import DURATION, database_option
from advisor.commands.output import echo
from advisor.errors import AdvisorError, UserError
from advisor.printable import printable
from advisor.units import counted
from db.text import is_text

if TYPE_CHECKING:
    from db.migrate import Migrated


@click.group(name="db")
def command() -> None:
    """Create, upgrade, check, fill and export the database.

    A SQLite database needs none of this: its first use creates it with the shipped clusters.
    PostgreSQL changes only when told to: `advisor db upgrade`, then `advisor db load`.
    """


@command.command()
@click.option("--to", "revision", default="head", show_default=True, help="Revision to reach.")
@database_option
def upgrade(revision: str, db_url: str | None) -> None:
    """Bring the schema up to this program's; an existing SQLite file is backed up first."""
    from db import migrate

    _report(db_url, lambda url: migrate.upgrade(url, revision))


@command.command()
@click.option("--to", "revision", required=True, help="Revision to go back to, or base.")
@database_option
def downgrade(revision: str, db_url: str | None) -> None:
    """Take the schema back to an older revision; `--to base` removes everything."""
    from db import migrate

    _report(db_url, lambda url: migrate.downgrade(url, revision))


@command.command()
@database_option
def check(db_url: str | None) -> None:
    """Compare the database with what this program expects; exit code 1 if they differ."""
    from db.migrate import check as check_database
    from db.urls import database_url, shown

    url = database_url(db_url)
    report = check_database(url)
    for problem in report.problems:
        echo(f"  {problem}")
    if report.problems:
        raise AdvisorError(f"{shown(url)} differs from what it should be: see above")
    echo(f"{shown(url)}: schema {report.revision}, sound")


@command.command()
@click.argument("path", metavar="[FILE]", required=False, type=click.Path(path_type=Path))
@database_option
def load(path: Path | None, db_url: str | None) -> None:
    """Load a bundle that `advisor db export` wrote, or a folder of CSV files as in data/.

    Such a folder may have bundles in a folder `clusters`. Without FILE, the shipped data.
    Loading twice changes nothing; a bad row loads nothing.
    """
    from advisor.evidence import opened
    from db.load import load as load_data

    with opened(db_url) as engine:
        report = load_data(engine.url.render_as_string(hide_password=False), path)
    for kind, counts in report.kinds.items():
        if counts.added or counts.updated:
            echo(f"  {kind}: {counts.added} added, {counts.updated} updated")
    rows = sum(c.added + c.updated + c.unchanged for c in report.kinds.values())
    echo(f"{rows} rows read, " + ("the database is changed" if report.changed else "all known"))


@command.command()
@click.option("--cluster", required=True, metavar="NAME", help="The cluster to export.")
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False, path_type=Path),
    help="The bundle to write; - is stdout.",
)
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@database_option
def export(cluster: str, output: Path, force: bool, db_url: str | None) -> None:
    """Write one cluster's measurements to a file that `advisor db load` reads anywhere."""
    from advisor.evidence import opened
    from db.export import export as export_cluster
    from db.files import bundle_text, write_bundle

    to_stdout = str(output) == "-"
    if not to_stdout and output.exists() and not force:
        raise UserError(f"{output} exists: choose another name, or --force")
    with opened(db_url) as engine:
        bundle = export_cluster(engine.url.render_as_string(hide_password=False), cluster)
    if to_stdout:
        echo(bundle_text(bundle))
        return
    write_bundle(bundle, output)
    rows = sum(map(len, bundle["kinds"].values()))
    echo(printable(f"{output}: {rows} rows of {cluster}"))


@command.command()
@database_option
def rebuild(db_url: str | None) -> None:
    """Compute everything that came from run records anew, and say what differed.

    The records are in the database. Where nothing was changed by hand nothing differs; exit code 1
    if a record itself is not the one that was stored.
    """
    from advisor.evidence import opened
    from db.rebuild import rebuild as rebuild_database

    with opened(db_url) as engine:
        report = rebuild_database(engine)
    for run_id in report.differed:
        echo(f"  {run_id}: differed from its record")
    for run_id in report.damaged:
        echo(f"  {run_id}: its record is not the one that was stored; left as it is")
    points = sum(each.points for each in report.harvests)
    changed = sum(each.added + each.updated for each in report.harvests)
    echo(
        f"{report.runs} records read: {len(report.differed)} runs and {changed} of {points} "
        "operating points differed"
    )
    if report.validated:
        echo(f"{report.validated} runs of validations had another observed time")
    if report.drilled:
        echo(f"{report.drilled} drills had another result")
    if report.damaged:
        raise AdvisorError(f"{len(report.damaged)} records are damaged: see above")


@command.command()
@click.argument("old", metavar="OLD")
@click.argument("newer", metavar="[NEWER]", required=False)
@click.option("--undo", is_flag=True, help="Take the mark off OLD instead.")
@database_option
def supersede(old: str, newer: str | None, undo: bool, db_url: str | None) -> None:
    """Mark the software stack OLD as superseded by NEWER, of the same cluster.

    Ingesting does so by itself where every run of the one is later than the last of the other.
    Operating points of OLD are kept; answers use them only where NEWER was not measured, and say
    so. `advisor clusters NAME` lists the software stacks of a cluster.
    """
    from advisor.evidence import opened
    from db.stack_store import reinstate
    from db.stack_store import supersede as mark

    if undo == (newer is not None):
        raise click.UsageError("name OLD and NEWER, or OLD with --undo.")
    with opened(db_url) as engine:
        before = reinstate(engine, old) if newer is None else mark(engine, old, newer)
    if newer is None:
        words = "was not superseded" if before is None else f"is no more superseded by {before}"
        echo(printable(f"{old} {words}"))
        return
    instead = f", no more by {before}" if before not in (None, newer) else ""
    echo(printable(f"{old} is superseded by {newer}{instead}"))


@command.command()
@database_option
def status(db_url: str | None) -> None:
    """Say what the database is: server, role, schema, whether it may be written, how much is there.

    It only reads, and makes no file that is not there.
    """
    from db.session import open_engine, sqlite_path
    from db.status import status as status_of
    from db.urls import database_url, shown

    url = database_url(db_url)
    path = sqlite_path(url)
    if path is not None and not path.exists():
        echo(f"{shown(url)}: not there yet; the first command that needs it makes it")
        return
    engine = open_engine(url)
    try:
        found = status_of(engine)
    finally:
        engine.dispose()
    role = "" if found.role is None else f", role {found.role}"
    may = "may be written" if found.is_writable else "may only be read"
    echo(printable(f"{found.name}: {found.server}{role}, schema {found.schema}, {may}"))
    echo(", ".join(counted(n, table.replace("_", " ")[:-1]) for table, n in found.counts.items()))


@command.command()
@click.argument("name")
@click.option(
    "--password-env",
    metavar="VAR",
    help="The environment variable that holds its password.  [default: asked for]",
)
@click.option(
    "--no-password", is_flag=True, help="It logs in without one: by its certificate, say."
)
@click.option(
    "--time-limit",
    "time_limit_s",
    type=DURATION,
    default="60s",
    show_default=True,
    help="Longest time that one of its statements may run.",
)
@click.option(
    "--keep-public",
    is_flag=True,
    help="Leave every other role the right to make temporary tables and large objects.",
)
@click.option(
    "--print",
    "only_print",
    is_flag=True,
    help="Print the SQL for an administrator; change nothing.",
)
@database_option
def reader(
    name: str,
    password_env: str | None,
    no_password: bool,
    time_limit_s: float,
    keep_public: bool,
    only_print: bool,
    db_url: str | None,
) -> None:
    """Make a PostgreSQL role NAME that may only read, for the app and for `advisor sql`.

    Again it grants what is missing, and gives the role another password if one is told. Passwords
    go to the server as digests.
    """
    from advisor.evidence import opened
    from db import reader_role
    from db.urls import database_url

    if password_env and no_password:
        raise UserError("--password-env and --no-password contradict each other: give one of them")
    reader_role.require_time_limit(time_limit_s)
    reader_role.require_name(name)
    url = database_url(db_url)
    reader_role.require_server(url)
    with opened(url) as engine:
        place = reader_role.look(engine, name)
        if only_print:
            lines = reader_role.statements(
                place.for_administrator(),
                name,
                None,
                statement_timeout_s=time_limit_s,
                keep_public=keep_public,
                role_exists=place.role_exists,
            )
            asks_password = not no_password
            shown = reader_role.script(place, name, lines, asks_password=asks_password)
            echo("\n".join(shown))
            return
        password = None
        if password_env or not (no_password or place.role_exists):
            password = _password(name, password_env)
        made = reader_role.make_reader(
            engine,
            name,
            password,
            statement_timeout_s=time_limit_s,
            keep_public=keep_public,
        )
    echo(f"{name}: {'made' if made.was_made else 'brought up to date'}, may only read; {made.url}")
    for each in made.can_still:
        echo(f"{name} can still {each}, as every role here can")


def _password(name: str, variable: str | None) -> str:
    """From the environment, or asked for; never from the command line, which others can see."""
    if variable is None:
        if not sys.stdin.isatty():
            raise UserError(
                f"nobody is there to be asked for the password of {name}: --password-env VAR names "
                "the variable that holds it, --no-password makes a role without one"
            )
        return str(click.prompt(f"Password of {name}", hide_input=True, confirmation_prompt=True))
    password = os.environ.get(variable, "")
    if not password:
        raise UserError(f"${variable} is empty: set it to the password of {name}")
    if not is_text(password):
        raise UserError(f"${variable} is no text in UTF-8")
    return password


def _report(db_url: str | None, migrate: Callable[[str], "Migrated"]) -> None:
    from db.urls import database_url, shown

    url = database_url(db_url)
    done = migrate(url)
    if done.backup:
        echo(f"backed up to {done.backup}")
    before, after = done.before or "empty", done.after or "empty"
    change = f"schema {before} -> {after}" if before != after else f"already at {after}"
    echo(f"{shown(url)}: {change}")
