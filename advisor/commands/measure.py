"""`advisor measure`: runs training under faults on this machine, and stores what it shows."""

import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.ingest import harvest_json, harvest_words
from advisor.commands.measured_database import check_database, opened_once
from advisor.commands.options import (
    DURATION,
    DURATION_OR_NONE,
    NAMES,
    database_option,
    format_option,
)
from advisor.commands.output import echo, echo_json, echo_table
from advisor.errors import AdvisorError, UserError
from advisor.harness import Event, Harness, InterruptedRunsError, harness_command
from advisor.printable import printable
from advisor.units import format_duration, format_number, format_percent

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from advisor.campaign_summary import TupleSummary
    from advisor.commands.progress import Shown
    from db.harvest import HarvestReport
    from db.pooling import Mean

_HEADER = (
    *("architecture", "mechanism", "trace", "n", "outcome", "samples/s/rank before"),
    *("first detects", "all detect", "samples/s/rank after", "slowdown", "valid"),
)
_MECHANISM_HEADER = (
    *("tuple", "way", "n", "outcome", "before", "overhead", "detected", "recovery", "lost"),
    "after",
)
_UNITS = (
    "before, after: samples/s/rank; detected, recovery: from the fault until all knew, and until"
    "\nthe next complete step (median); lost: steps made again; n: valid runs of all"
)


@click.command(name="measure")
@click.option(
    "--architecture",
    "architectures",
    type=NAMES,
    multiple=True,
    required=True,
    help="What to train with; several, or all.",
)
@click.option(
    "--mechanism",
    "mechanisms",
    type=NAMES,
    multiple=True,
    help="The fault tolerance: ft1 to ft9, tiers such as ft4+ft2+ft1; several, or all."
    "  [default: ft9]",
)
@click.option(
    "--trace",
    "traces",
    multiple=True,
    metavar="NAMES",
    help="The faults: f1, f2, f2-adjacent, f3, none, or a schedule FILE.json; several, or all."
    "  [default: f1]",
)
@click.option("--profile", help="How large a run is: smoke, cpu or paper.  [default: cpu]")
@click.option("--seeds", type=int, metavar="N", help="Runs of each tuple.  [default: 1]")
@click.option("--first-seed", type=int, metavar="N", help="Seed of the first.  [default: 0]")
@click.option("--world-size", type=int, metavar="N", help="Ranks.  [default: 8]")
@click.option(
    "--pg-timeout",
    "pg_timeout_s",
    type=DURATION,
    help="Timeout of the process group.  [default: the profile's]",
)
@click.option(
    "--detector",
    help="Who tells the ranks of a loss: group-timeout or supervisor.  [default: supervisor]",
)
@click.option(
    "--lead",
    "lead_s",
    type=DURATION_OR_NONE,
    help="Warn so long ahead of each fault, or none.  [default: the profile's, for mechanisms that"
    " need it]",
)
@click.option(
    "--interval", type=int, metavar="N", help="Steps between saves.  [default: the profile's]"
)
@click.option(
    "--replicas",
    type=int,
    metavar="N",
    help="Peers that hold each rank's state.  [default: the mechanism's]",
)
@click.option(
    "--way",
    help="How to recover: spare, smaller or restart.  [default: the mechanism's usual way]",
)
@click.option("--workload", help="What to train.  [default: the architecture's own]")
@click.option("--device", help="auto, cpu or cuda.  [default: auto]")
@click.option("--steps", type=int, metavar="N", help="Steps of a run.  [default: the profile's]")
@click.option("--cluster", metavar="NAME", help="Name of this machine.  [default: its own]")
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where records go.  [default: runs, beside your own database]",
)
@format_option(("table", "json"), "table")
@database_option
def command(
    architectures: tuple[tuple[str, ...], ...],
    mechanisms: tuple[tuple[str, ...], ...],
    traces: tuple[str, ...],
    pg_timeout_s: float | None,
    lead_s: float | None,
    folder: Path | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """Train under faults on this machine, and see what survives, and how it is brought back.

    Each run is stored as soon as it is done. Ctrl-C ends the current run and keeps what is done; a
    second Ctrl-C does not wait. It needs the extra [measure].
    """
    from db.urls import database_url, default_path

    arguments = [f"--architecture={name}" for names in architectures for name in names]
    arguments += [f"--mechanism={name}" for names in mechanisms for name in names]
    arguments += [f"--trace={name}" for name in traces]
    chosen = {**options, "pg_timeout": _seconds(pg_timeout_s), "lead": _lead(lead_s)}
    chosen["folder"] = str((folder or default_path().parent / "runs").absolute())
    for name, value in chosen.items():
        if value is not None:
            arguments.append(f"--{name.replace('_', '-')}={value}")
    shown_command = f"advisor measure {shlex.join(arguments)}"
    measured = measure(
        database_url(db_url), harness_command([*arguments, f"--command={shown_command}"])
    )
    if fmt == "json":
        echo_json(measured.as_json())
    else:
        _echo_summary(measured)
    if measured.refused:
        raise UserError(
            f"not everything could be stored ({measured.refused[0]}): the records are in "
            f"{measured.folder}, for `advisor ingest`"
        )
    if measured.tuples and not any(each.valid for each in measured.tuples):
        raise AdvisorError(
            f"no run of campaign {measured.campaign} is valid evidence: the app's Runs page says"
            " why, or validity_reason in the table runs"
        )


def _seconds(value_s: float | None) -> str | None:
    return None if value_s is None else f"{value_s:.6f}".rstrip("0").rstrip(".") + "s"


def _lead(lead_s: float | None) -> str | None:
    return "none" if lead_s == 0.0 else _seconds(lead_s)


@dataclass(slots=True)
class Measured:
    """What a campaign left behind; filled while it runs."""

    campaign: str = ""
    cluster: str = ""
    folder: str = ""
    planned: int = 0
    stored: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    harvested: list["HarvestReport"] = field(default_factory=list)
    tuples: list["TupleSummary"] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {
            "campaign": self.campaign,
            "cluster": self.cluster,
            "folder": self.folder,
            "planned": self.planned,
            "stored": self.stored,
            "refused": self.refused,
            "clusters": [harvest_json(each) for each in self.harvested],
            "tuples": [each.as_json() for each in self.tuples],
        }


def measure(url: str, child_command: Sequence[str]) -> Measured:
    """Runs the harness and stores each run as soon as it is finished.

    A database that is there is looked at before anything runs; a SQLite file that is not is made
    once the harness has accepted the options. Raises UserError for what the harness refuses,
    InterruptedRunsError after Ctrl-C, AdvisorError if the harness fails; what is done is stored.
    """
    from advisor.commands.progress import progress

    check_database(url)
    measured = Measured()
    with ExitStack() as stack:
        shown = stack.enter_context(progress())
        child = stack.enter_context(
            Harness(child_command, on_interrupt=lambda: shown.say(_INTERRUPTING))
        )
        open_database = opened_once(url, stack)
        try:
            for event in child.events():
                shown.event(event)
                _take(event, measured, open_database, shown)
        except (AdvisorError, OSError):
            _finish(open_database, measured, is_whole=False)
            raise
        _finish(open_database, measured, is_whole=child.exit_code == 0)
    if child.interrupts or child.exit_code == InterruptedRunsError.exit_code:
        raise InterruptedRunsError(_interrupted_words(measured))
    if child.exit_code not in (0, UserError.exit_code) and len(child.said) > 1:
        # A bug of the harness: its traceback is what helps.
        for line in child.said:
            click.echo(printable(line), err=True)
    child.require_success()
    return measured


_INTERRUPTING = "interrupted: the current run is being ended; Ctrl-C again does not wait"


def _take(
    event: Event, measured: Measured, open_database: Callable[[], "Engine"], shown: "Shown"
) -> None:
    """Does what an event asks for: the plan opens the database, a finished run is stored."""
    if event["event"] == "plan":
        measured.planned, measured.cluster = int(event["runs"]), str(event["cluster"])
        measured.folder = str(event["folder"])
        open_database()
    elif event["event"] == "run-finished":
        _store(open_database(), Path(str(event["record"])), measured, shown)


def _store(engine: "Engine", record: Path, measured: Measured, shown: "Shown") -> None:
    from db.errors import DatabaseError
    from db.ingest import ingest_file
    from db.records import CampaignStatus

    try:
        run = ingest_file(engine, record, CampaignStatus.RUNNING)
    except DatabaseError as error:  # a wrong record, or a database that is locked or lost
        measured.refused.append(str(error))
        shown.say(f"not stored: {error}")
        return
    measured.campaign = run.campaign
    measured.stored.append(run.run_id)


def _finish(open_database: Callable[[], "Engine"], measured: Measured, *, is_whole: bool) -> None:
    """Closes the campaign, pools the cluster's runs, and reads what the campaign showed."""
    if not measured.stored:
        return
    from advisor.campaign_summary import summarise
    from db.errors import DatabaseError
    from db.harvest import harvest
    from db.ingest import finish_campaign
    from db.records import CampaignStatus
    from db.run_queries import RunFilter, list_runs
    from db.session import reading

    try:
        engine = open_database()
        status = CampaignStatus.COMPLETE if is_whole else CampaignStatus.FAILED
        finish_campaign(engine, measured.campaign, status)
        measured.harvested.append(harvest(engine, measured.cluster))
        with reading(engine) as connection:
            runs = list_runs(connection, RunFilter(campaign=measured.campaign), limit=100_000)
    except DatabaseError as error:
        measured.refused.append(str(error))
        return
    measured.tuples = summarise(runs)


def _interrupted_words(measured: Measured) -> str:
    if not measured.stored:
        return "interrupted: no run was finished, nothing is stored"
    return (
        f"interrupted: {len(measured.stored)} of {measured.planned} runs are stored as campaign "
        f"{measured.campaign}, their records in {measured.folder}"
    )


def _echo_summary(measured: Measured) -> None:
    if not measured.tuples:
        return
    if any(each.way or each.recovered or _has_overhead(each) for each in measured.tuples):
        rows = [_mechanism_row(each) for each in measured.tuples]
        echo_table(_MECHANISM_HEADER, rows, numeric=(2, 4, 5, 6, 7, 8, 9))
        echo(_UNITS)
    else:
        rows = [_row(each) for each in measured.tuples]
        echo_table(_HEADER, rows, numeric=(3, 5, 6, 7, 8, 9))
    for each in measured.tuples:
        if each.infeasible_reason:
            echo(printable(f"{_name(each)}: infeasible: {each.infeasible_reason}"))
    stored = f"{len(measured.stored)} of {measured.planned} runs stored"
    echo(f"\n{stored} as campaign {measured.campaign}, records in {measured.folder}")
    for report in measured.harvested:
        echo(harvest_words(report))


def _has_overhead(each: "TupleSummary") -> bool:
    from db.records import RunQuantity

    return each.means[RunQuantity.OVERHEAD] is not None


def _name(each: "TupleSummary") -> str:
    return f"{each.architecture} {each.mechanism} {each.trace or 'none'}"


def _row(each: "TupleSummary") -> tuple[object, ...]:
    """What a loss does where nothing brings training back."""
    before, first, detected, after, slowdown, *_ = each.means.values()
    return (
        each.architecture,
        each.mechanism,
        each.trace or "none",
        each.runs,
        _outcomes(each),
        _words(before, format_number),
        _words(first, format_duration),
        _detected(each, detected),
        _words(after, format_number),
        _words(slowdown, format_percent),
        f"{each.valid} of {each.runs}",
    )


def _mechanism_row(each: "TupleSummary") -> tuple[object, ...]:
    """What a mechanism costs and gives; as wide as a terminal of 100 columns, so means only."""
    before, _, detected, after, _, overhead, lost = (
        mean and replace(mean, half_width=None) for mean in each.means.values()
    )
    return (
        _name(each),
        each.way or "",
        str(each.runs) if each.valid == each.runs else f"{each.valid}/{each.runs}",
        _outcomes(each),
        _words(before, format_number),
        _words(overhead, format_percent),
        _detected(each, detected),
        "" if each.recovery_s is None else format_duration(each.recovery_s),
        _words(lost, format_number),
        _words(after, format_number),
    )


def _outcomes(each: "TupleSummary") -> str:
    return ", ".join(_outcome(name, n, each.runs) for name, n in each.outcomes.items())


def _detected(each: "TupleSummary", detected: "Mean | None") -> str:
    return _words(detected, format_duration) or ("not in time" if each.censored else "")


def _outcome(name: str, n: int, runs: int) -> str:
    return name if n == runs else f"{n} {name}"


def _words(mean: "Mean | None", format_value: Callable[[float], str]) -> str:
    if mean is None:
        return ""
    value = format_value(mean.value)
    return value if not mean.half_width else f"{value} ± {format_value(mean.half_width)}"
