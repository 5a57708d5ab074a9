"""`advisor drill`: tries faults on this machine before the real ones come."""

import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import NAMES, database_option, format_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.commands.records_folder import folder_option, records_folder
from advisor.drills.drill import DEFAULT_WORLD_SIZE
from advisor.errors import AdvisorError, UserError
from advisor.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from advisor.campaign_run import Measured
    from advisor.drills.suite import Suite
    from db.records import Drilled

_PROFILES = ("smoke", "cpu", "paper")
_LEAST_RANKS = DEFAULT_WORLD_SIZE
"""Victims are ranks 0 to 3."""


@click.command(name="drill")
@click.argument("names", metavar="[DRILL]...", nargs=-1)
@click.option(
    "--mechanism",
    "mechanisms",
    type=NAMES,
    multiple=True,
    help="Only on these.  [default: all that each drill applies to]",
)
@click.option("--list", "only_list", is_flag=True, help="Say what would be run, and run nothing.")
@click.option(
    "--kinds",
    "only_kinds",
    is_flag=True,
    help="Say how many drills try which kind of fault on which mechanism, and why none does.",
)
@click.option("--cluster", metavar="NAME", help="Name of this machine.  [default: its own]")
@click.option(
    "--profile",
    type=click.Choice(_PROFILES),
    default="cpu",
    show_default=True,
    help="How large a run is.",
)
@click.option(
    "--world-size",
    type=click.IntRange(_LEAST_RANKS, 512),
    default=DEFAULT_WORLD_SIZE,
    show_default=True,
    metavar="N",
    help="Ranks of each run.",
)
@click.option("--device", help="auto, cpu or cuda.  [default: auto]")
@click.option("--resume", metavar="CAMPAIGN", help="Go on with drills that were interrupted.")
@folder_option("Where records go.")
@format_option(("table", "json"), "table")
@database_option
def command(
    names: tuple[str, ...],
    mechanisms: tuple[tuple[str, ...], ...],
    only_list: bool,
    only_kinds: bool,
    cluster: str | None,
    profile: str,
    world_size: int,
    device: str | None,
    resume: str | None,
    folder: Path | None,
    fmt: str,
    db_url: str | None,
) -> None:
    """Try faults on this machine, and see whether each mechanism keeps its promise.

    Each drill is a short real run with a stated outcome and a deadline; without names all are run.
    Exit code 1 where one fails. Whatever stops it, --resume goes on. It needs the extra [measure].
    """
    if resume is not None:
        _refuse_beside_resume(names, mechanisms, only_list or only_kinds)
        _resume(resume, db_url, fmt)
        return
    if only_kinds:
        _echo_kinds(bool(names or mechanisms or only_list), fmt)
        return
    suite = _suite(names, tuple(name for several in mechanisms for name in several))
    if only_list:
        _echo_suite(suite, fmt)
        return
    from advisor.commands.measure import measure
    from advisor.drill_run import Wanted, run_suite
    from db.urls import database_url

    if not suite.chosen:
        raise UserError(f"nothing is left to run: {suite.skipped[0].reason}")
    told = {"cluster": cluster, "profile": profile, "world-size": world_size, "device": device}
    wanted = Wanted(
        records_folder(folder),
        _command_line(names, mechanisms, told),
        profile,
        cluster,
        world_size,
        device,
    )
    url = database_url(db_url)
    measured = run_suite(suite, wanted, partial(measure, url, is_check=True))
    _report(measured, suite, db_url, fmt)


def _suite(names: tuple[str, ...], mechanisms: tuple[str, ...]) -> "Suite":
    from advisor.drill_run import known_to_the_harness
    from advisor.drills.catalogue import DRILLS
    from advisor.drills.suite import suite_of

    return suite_of(DRILLS, known_to_the_harness(), names, mechanisms)


def _refuse_beside_resume(
    names: tuple[str, ...], mechanisms: tuple[tuple[str, ...], ...], only_list: bool
) -> None:
    if names or mechanisms or only_list:
        raise UserError("--resume goes on with drills as they were planned: leave other options")


def _resume(campaign: str, db_url: str | None, fmt: str) -> None:
    from advisor.commands.measure import measure
    from advisor.drill_run import drilled
    from advisor.drills.suite import Suite
    from advisor.evidence import opened
    from db.urls import database_url

    with opened(db_url) as engine:
        if not drilled(engine, campaign):
            raise UserError(
                f"no drill belongs to campaign {campaign!r}: `advisor campaigns` lists those there"
                " are, and `advisor measure --resume` goes on with others"
            )
    measured = measure(database_url(db_url), resume=campaign)
    _report(measured, Suite((), ()), db_url, fmt)


def _command_line(
    names: "Sequence[str]", mechanisms: "Sequence[Sequence[str]]", told: dict[str, Any]
) -> str:
    words = [*names]
    words += [f"--mechanism={name}" for several in mechanisms for name in several]
    words += [f"--{name}={value}" for name, value in told.items() if value is not None]
    return f"advisor drill {shlex.join(words)}"


def _echo_suite(suite: "Suite", fmt: str) -> None:
    from advisor.reports import drill_words as words

    if fmt == "json":
        raise UserError("--list prints a table only: leave --format")
    echo_table(words.SUITE_HEADER, words.suite_rows(suite), numeric=words.SUITE_NUMERIC)
    for line in words.suite_lines(suite):
        echo(line)


def _echo_kinds(beside_others: bool, fmt: str) -> None:
    from advisor.drill_run import known_to_the_harness
    from advisor.drills.catalogue import DRILLS
    from advisor.drills.kinds import rows, tried

    if beside_others or fmt == "json":
        raise UserError("--kinds prints one table of all: leave names and other options")
    header, lines, notes = rows(tried(DRILLS, known_to_the_harness().kinds))
    echo_table(header, lines, numeric=range(1, len(header)))
    for note in notes:
        echo(note)


def _report(measured: "Measured", suite: "Suite", db_url: str | None, fmt: str) -> None:
    from advisor.drill_run import drilled
    from advisor.evidence import opened
    from advisor.reports import drill_words as words
    from advisor.reports.drill_document import drills_document

    with opened(db_url) as engine:
        found = drilled(engine, measured.campaign)
    if fmt == "json":
        echo_json(drills_document(measured.campaign, measured.cluster, found, suite.skipped))
    else:
        echo_table(words.HEADER, words.rows(found), numeric=words.NUMERIC)
        for each in suite.skipped:
            echo(f"skipped: {each.drill}: {each.reason}")
        echo(printable(f"{words.result_line(found)} on {measured.cluster}"))
        echo(f"campaign {measured.campaign}, records in {printable(measured.folder)}")
    _require_passed(measured, found)


def _require_passed(measured: "Measured", found: "Sequence[Drilled]") -> None:
    from advisor.campaign_run import resumable
    from db.records import DrillResult

    failed = [each for each in found if each.result is DrillResult.FAILED]
    if failed:
        first = failed[0]
        raise AdvisorError(
            f"{len(failed)} of {len(found)} drills failed, the first: {first.drill} of "
            f"{first.mechanism.upper()}: {first.reason}{resumable(measured)}"
        )
    if any(each.result is DrillResult.PLANNED for each in found):
        raise AdvisorError(f"not all drills were run{resumable(measured)}")
