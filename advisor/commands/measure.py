"""`advisor measure`: runs training under faults, here or on a cluster, stores what it shows."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands import launcher_options
from advisor.commands.ingest import harvest_json, harvest_words
from advisor.commands.measured_database import check_database, opened_once
from advisor.commands.options import (
    DURATION,
    DURATION_OR_NONE,
    FRACTION,
    NAMES,
    database_option,
    format_option,
    kept_name,
)
from advisor.commands.output import echo, echo_json, echo_table
from advisor.commands.records_folder import folder_option, records_folder
from advisor.errors import AdvisorError, UserError
from advisor.harness import InterruptedRunsError, harness_command
from advisor.printable import printable
from advisor.units import format_duration, format_number, format_percent

if TYPE_CHECKING:
    from advisor.campaign_run import Measured, OnPlan
    from advisor.campaign_summary import TupleSummary
    from advisor.launchers.launcher import Launcher
    from advisor.launchers.local import LocalLauncher
    from advisor.launchers.slurm.launched import SlurmLauncher
    from advisor.launchers.torchrun.launched import TorchrunLauncher
    from db.campaign_store import Target
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


_MOST_SEEDS = 20


@click.command(name="measure")
@click.option(
    "--architecture",
    "architectures",
    type=NAMES,
    multiple=True,
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
    "--nodes",
    type=int,
    metavar="N",
    help="Nodes that the ranks are on, each lost as a whole: parts of this machine, nodes of a task"
    " of SLURM, or torchrun's hosts.  [default: 1]",
)
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
    "--monitors",
    metavar="NAMES",
    help="What looks for failures that are not losses: digest, values, stragglers, each with its"
    " interval in steps such as digest:20, or all.  [default: none]",
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
    "--keep",
    type=int,
    metavar="N",
    help="States that each tier keeps at least, to go back behind what is noticed late."
    "  [default: 3 on disk, 1 in memory]",
)
@click.option(
    "--way",
    help="How to recover: spare, smaller or restart.  [default: the mechanism's usual way]",
)
@click.option("--workload", help="What to train.  [default: the architecture's own]")
@click.option("--device", help="auto, cpu or cuda.  [default: auto]")
@click.option("--steps", type=int, metavar="N", help="Steps of a run.  [default: the profile's]")
@click.option(
    "--matrix",
    is_flag=True,
    help="The paper's seven architectures with its nine mechanisms, without a fault and under F1"
    " to F3.",
)
@click.option(
    "--campaign-file",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=kept_name,
    help="Blocks of all this, in TOML or JSON; other options stand for what it leaves out.",
)
@click.option(
    "--order",
    type=click.Choice(("shuffled", "fixed")),
    help="shuffled, baselines evenly among the others; or fixed, as asked.  [default: shuffled]",
)
@click.option(
    "--order-seed", type=int, metavar="N", help="What shuffles.  [default: any, and recorded]"
)
@click.option(
    "--target",
    type=FRACTION,
    help="Add seeds until the 95 % interval of overhead or recovery is within this share of it.",
)
@click.option(
    "--max-seeds",
    type=click.IntRange(1, 10_000),
    metavar="N",
    help="At most so many.  [default: 20]",
)
@click.option("--resume", metavar="CAMPAIGN", help="Go on with a campaign that was interrupted.")
@click.option("--cluster", metavar="NAME", help="Name of this machine.  [default: its own]")
@folder_option("Where records go.")
@launcher_options.launcher_options
@format_option(("table", "json"), "table")
@database_option
def command(
    architectures: tuple[tuple[str, ...], ...],
    mechanisms: tuple[tuple[str, ...], ...],
    traces: tuple[str, ...],
    pg_timeout_s: float | None,
    lead_s: float | None,
    matrix: bool,
    campaign_file: Path | None,
    target: float | None,
    max_seeds: int | None,
    resume: str | None,
    folder: Path | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """Train under faults, here or on a cluster, and see what survives, and how it is
    brought back.

    Each run is stored as soon as it is done. Ctrl-C ends the current run and keeps what is done; a
    second Ctrl-C does not wait (what SLURM has goes on). Whatever stopped a campaign, --resume goes
    on with it. It needs the extra [measure].
    """
    from db.urls import database_url

    arguments = [f"--architecture={name}" for names in architectures for name in names]
    arguments += [f"--mechanism={name}" for names in mechanisms for name in names]
    arguments += [f"--trace={name}" for name in traces]
    where = {name: options.pop(name) for name in launcher_options.NAMES}
    chosen = {**options, "pg_timeout": _seconds(pg_timeout_s), "lead": _lead(lead_s)}
    arguments += ["--matrix"] if matrix else []
    arguments += _written(chosen)
    places = {"campaign_file": campaign_file, "folder": folder}
    if resume is not None:
        _refuse_beside_resume([*arguments, *_written(places)], target, max_seeds)
        _report(_resumed(database_url(db_url), resume, where), fmt)
        return
    if not (architectures or matrix or campaign_file):
        raise UserError("say what to run: --architecture, --matrix, --campaign-file or --resume")
    launcher = launcher_options.launcher_of(where)
    records = records_folder(folder)
    # The command is kept as evidence, also in other databases: places in it are as they were typed.
    said = [*arguments, *_written(places), *_targeted(target, max_seeds)]
    said += launcher_options.said(where)
    places = {"campaign_file": campaign_file and campaign_file.absolute(), "folder": records}
    arguments += [*_written(places), f"--command=advisor measure {shlex.join(said)}"]
    wanted = _target(target, options["seeds"] or 1, max_seeds)
    url = database_url(db_url)
    if launcher == launcher_options.LOCAL:
        _report(measure(url, harness_command(arguments), records, target=wanted), fmt)
        return
    make = partial(_made, launcher, arguments, records, options["nodes"], where)
    if where["dry_run"]:
        echo(make(None).dry_run())
        click.echo(_DRY_RUN[launcher], err=True)
        return
    _report(measure(url, folder=records, target=wanted, launcher=make), fmt)


def _made(
    launcher: str,
    arguments: Sequence[str],
    records: Path,
    nodes: int | None,
    where: Mapping[str, Any],
    local: "LocalLauncher | None",
) -> "SlurmLauncher | TorchrunLauncher":
    """The launcher of a new campaign that is not only on this machine."""
    given = launcher_options.settings_in(where, launcher)
    if launcher == launcher_options.TORCHRUN:
        from advisor.launchers.torchrun.launched import TorchrunLauncher

        on_interrupt = local.on_interrupt if local else lambda: None
        return TorchrunLauncher(arguments, records, nodes, given, on_interrupt)
    from advisor.launchers.slurm.launched import SlurmLauncher
    from advisor.launchers.slurm.settings import SlurmSettings

    return SlurmLauncher(SlurmSettings().changed(given), arguments, records)


def _resumed(url: str, campaign: str, where: Mapping[str, Any]) -> "Measured":
    """Goes on with a campaign, by the launcher that it was begun with."""
    from advisor.launchers.resuming import ResumingLauncher

    if where["dry_run"]:
        raise UserError("--dry-run shows what a new campaign would start: leave it, or --resume")
    names = (launcher_options.SLURM, launcher_options.TORCHRUN)
    given = {name: launcher_options.settings_in(where, name) for name in names}
    return measure(
        url,
        resume=campaign,
        launcher=lambda local: ResumingLauncher(local, given, where["launcher"]),
    )


def _written(options: Mapping[str, object]) -> list[str]:
    """The options that were given, as words."""
    return [
        f"--{name.replace('_', '-')}={value}"
        for name, value in options.items()
        if value is not None
    ]


def _refuse_beside_resume(
    arguments: Sequence[str], target: float | None, max_seeds: int | None
) -> None:
    if arguments or any(value is not None for value in (target, max_seeds)):
        raise UserError("--resume goes on with a campaign as it was planned: leave other options")


def _targeted(target: float | None, max_seeds: int | None) -> list[str]:
    """The options that the harness does not know, as they stand in the campaign's command."""
    told = {"target": None if target is None else f"{100 * target:g}%", "max-seeds": max_seeds}
    return [f"--{name}={value}" for name, value in told.items() if value is not None]


def _target(fraction: float | None, least: int, most: int | None) -> "Target | None":
    from db.campaign_store import Target

    if fraction is None:
        if most is not None:
            raise UserError("--max-seeds belongs to --target: give both, or --seeds alone")
        return None
    if not 0 < fraction <= 1:
        raise UserError("--target must be above 0 % and at most 100 %")
    most = _MOST_SEEDS if most is None else most
    if most < least:
        raise UserError(f"--max-seeds {most} is below --seeds {least}: give {least} or more")
    return Target(fraction, least, most)


def _report(measured: "Measured", fmt: str) -> None:
    from advisor.campaign_run import as_json

    if fmt == "json":
        echo_json(as_json(measured, [harvest_json(each) for each in measured.harvested]))
    else:
        _echo_summary(measured)
    for line in measured.failed:
        click.echo(f"failed: {printable(line)}", err=True)
    if measured.refused:
        raise UserError(
            f"not everything could be stored ({measured.refused[0]}): the records are in "
            f"{measured.folder}, for `advisor ingest`"
        )
    if measured.status == "stale":
        raise AdvisorError(unfinished_words(measured))
    if measured.tuples and not any(each.valid for each in measured.tuples):
        raise AdvisorError(
            f"no run of campaign {measured.campaign} is valid evidence: the app's Runs page says"
            " why, or validity_reason in the table runs"
        )


def unfinished_words(measured: "Measured") -> str:
    """How many cells are open after a command that could do no more for them, and why."""
    left = measured.left
    said = "cells are open"
    if left:
        run_id, why = next(iter(left.items()))
        cells = "1 cell is" if len(left) == 1 else f"{len(left)} cells are"
        said = f"{cells} open, {run_id} because {why}"
    return f"campaign {measured.campaign} is not finished: {said}; go on with `{measured.go_on}`"


def _seconds(value_s: float | None) -> str | None:
    return None if value_s is None else f"{value_s:.6f}".rstrip("0").rstrip(".") + "s"


def _lead(lead_s: float | None) -> str | None:
    return "none" if lead_s == 0.0 else _seconds(lead_s)


def measure(
    url: str,
    child_command: Sequence[str] = (),
    folder: Path | None = None,
    resume: str | None = None,
    target: "Target | None" = None,
    on_plan: "OnPlan | None" = None,
    is_check: bool = False,
    launcher: "Callable[[LocalLauncher], Launcher] | None" = None,
) -> "Measured":
    """Runs the harness, or what `launcher` makes of it, and stores each run as soon as it is
    finished; or goes on with the campaign `resume`. `on_plan` is told the planned cells before the
    first one runs; `is_check` says that the runs check what is known, also where that came in a
    bundle, and need not add to it.

    A database that is there is looked at before anything runs; a SQLite file that is not is made
    once the harness has accepted the options. Raises UserError for what the harness refuses,
    InterruptedRunsError after Ctrl-C, AdvisorError if the harness fails; what is done is stored.
    """
    from advisor.campaign_run import interrupted_words, run_campaign
    from advisor.commands.progress import progress
    from advisor.launchers.local import LocalLauncher

    check_database(url)
    with ExitStack() as stack:
        shown = stack.enter_context(progress())
        local = LocalLauncher(child_command, on_interrupt=lambda: shown.say(_INTERRUPTING))
        measured, child = run_campaign(
            opened_once(url, stack),
            shown,
            folder or Path("runs").absolute(),
            local if launcher is None else launcher(local),
            resume=resume,
            target=target,
            on_plan=on_plan,
            is_check=is_check,
        )
        if child.interrupts or child.exit_code == InterruptedRunsError.exit_code:
            raise InterruptedRunsError(interrupted_words(measured))
        if child.exit_code != 0 and measured.status == "stale":
            shown.say(f"campaign {measured.campaign}: go on with `{measured.go_on}`")
    if child.exit_code not in (0, UserError.exit_code) and len(child.said) > 1:
        # A bug of the harness: its traceback is what helps.
        for line in child.said:
            click.echo(printable(line), err=True)
    child.require_success()
    return measured


_INTERRUPTING = "interrupted: the current run is being ended; Ctrl-C again does not wait"
_DRY_RUN = {
    launcher_options.SLURM: "nothing was sent; the job makes the plan anew, with the devices and"
    " the hardware that it finds on its node",
    launcher_options.TORCHRUN: "nothing was started; without --dry-run this host's command is"
    " started here, its results are stored, and the other hosts are waited for",
}


def _echo_summary(measured: "Measured") -> None:
    from advisor.reports.campaign_words import drift_words

    if not measured.tuples:
        return
    echo_tuples(measured.tuples)
    stored = f"{len(measured.stored)} of {measured.planned} runs stored"
    echo(f"\n{stored} as campaign {measured.campaign}, records in {measured.folder}")
    for report in measured.harvested:
        echo(harvest_words(report))
    if measured.drift is not None and measured.drift.is_seen:
        echo(drift_words(measured.drift))


def echo_tuples(tuples: Sequence["TupleSummary"]) -> None:
    """A table with a row for each tuple, and below it why some cannot run."""
    from advisor.reports.campaign_words import tuple_name

    if any(each.way or each.recovered or _has_overhead(each) for each in tuples):
        rows = [_mechanism_row(each) for each in tuples]
        echo_table(_MECHANISM_HEADER, rows, numeric=(2, 4, 5, 6, 7, 8, 9))
        echo(_UNITS)
    else:
        rows = [_row(each) for each in tuples]
        echo_table(_HEADER, rows, numeric=(3, 5, 6, 7, 8, 9))
    for each in tuples:
        if each.infeasible_reason:
            echo(printable(f"{tuple_name(each)}: infeasible: {each.infeasible_reason}"))


def _has_overhead(each: "TupleSummary") -> bool:
    from db.records import RunQuantity

    return each.means[RunQuantity.OVERHEAD] is not None


def _row(each: "TupleSummary") -> tuple[object, ...]:
    """What a loss does where nothing brings training back."""
    from advisor.reports.campaign_words import outcome_words

    before, first, detected, after, slowdown, *_ = each.means.values()
    return (
        each.architecture,
        each.mechanism,
        each.trace or "none",
        each.runs,
        outcome_words(each),
        _words(before, format_number),
        _words(first, format_duration),
        _detected(each, detected),
        _words(after, format_number),
        _words(slowdown, format_percent),
        f"{each.valid} of {each.runs}",
    )


def _mechanism_row(each: "TupleSummary") -> tuple[object, ...]:
    """What a mechanism costs and gives; as wide as a terminal of 100 columns, so means only."""
    from advisor.reports.campaign_words import outcome_words, tuple_name

    before, _, detected, after, _, overhead, lost = (
        mean and replace(mean, half_width=None) for mean in each.means.values()
    )
    return (
        tuple_name(each),
        each.way or "",
        str(each.runs) if each.valid == each.runs else f"{each.valid}/{each.runs}",
        outcome_words(each),
        _words(before, format_number),
        _words(overhead, format_percent),
        _detected(each, detected),
        "" if each.recovery_s is None else format_duration(each.recovery_s),
        _words(lost, format_number),
        _words(after, format_number),
    )


def _detected(each: "TupleSummary", detected: "Mean | None") -> str:
    return _words(detected, format_duration) or ("not in time" if each.censored else "")


def _words(mean: "Mean | None", format_value: Callable[[float], str]) -> str:
    if mean is None:
        return ""
    value = format_value(mean.value)
    return value if not mean.half_width else f"{value} ± {format_value(mean.half_width)}"
