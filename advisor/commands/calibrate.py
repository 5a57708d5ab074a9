"""`advisor calibrate`: what each path of this machine takes, measured, fitted and stored."""

import shlex
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.calibration_words import check_json, echo_checks, echo_fits, fit_json
from advisor.commands.measured_database import check_database, opened_once
from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_json
from advisor.commands.records_folder import folder_option, records_folder
from advisor.errors import AdvisorError, UserError
from advisor.harness import Event, Harness, InterruptedRunsError, harness_command
from advisor.printable import printable
from advisor.units import counted, format_duration, format_percent

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from advisor.calibration_fits import CheckedSize
    from db.records import CalibrationFit

_OPTIONS = ("cluster", "sizes", "repeats", "seed")


@click.command(name="calibrate")
@click.option("--cluster", metavar="NAME", help="Name of this machine.")
@click.option(
    "--sizes", metavar="SIZES", help="Bytes to move, such as 1MB,16MB.  [default: 1MB to 512MB]"
)
@click.option("--repeats", type=int, metavar="N", help="Samples of each size.  [default: 6]")
@click.option("--seed", type=int, metavar="N", help="Of the samples' order.  [default: drawn]")
@click.option("--quick", is_flag=True, help="Up to 16 MB, three times each: seconds.")
@click.option("--check", is_flag=True, help="Make real restores too, and compare.")
@folder_option("On the storage to measure.")
@click.option(
    "--record",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Measure nothing: store a calibration.json that was measured elsewhere.",
)
@format_option(("table", "json"), "table")
@database_option
def command(
    quick: bool,
    check: bool,
    folder: Path | None,
    record: Path | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """Measure what moving state takes on this machine, path by path, and keep it.

    Storage, memory, peers, serialisation, groups and process starts, by the operations that runs
    make. Afterwards restores are predicted from it. It needs the extra [measure].
    """
    from db.urls import database_url

    url = database_url(db_url)
    if record is not None:
        _refuse_beside_record({**options, "quick": quick, "check": check, "folder": folder})
        check_database(url)
        calibrated = Calibrated(record=record)
        with ExitStack() as stack:
            _store(opened_once(url, stack)(), calibrated)
    else:
        if not options["cluster"]:
            raise UserError("name this machine: --cluster NAME, as in `advisor measure`")
        place = records_folder(folder)
        arguments = [f"--{name}={options[name]}" for name in _OPTIONS if options[name] is not None]
        flags = [f"--{name}" for name, on in (("quick", quick), ("check", check)) if on]
        # The command goes into bundles: the place in it is as it was typed.
        said = [*arguments, *([] if folder is None else [f"--folder={folder}"]), *flags]
        told = [f"--folder={place}", *flags, f"--command=advisor calibrate {shlex.join(said)}"]
        child = harness_command([*arguments, *told], "calibrate")
        calibrated = calibrate(url, child)
    if fmt == "json":
        echo_json(calibrated.as_json())
    else:
        _echo(calibrated)


def _refuse_beside_record(options: dict[str, Any]) -> None:
    given = [f"--{name}" for name, value in options.items() if value not in (None, False)]
    if given:
        raise UserError(f"--record stores what was measured: leave {', '.join(given)} away")


@dataclass(slots=True)
class Calibrated:
    """What a calibration showed; filled while it runs."""

    record: Path | None = None
    cluster: str = ""
    session: str = ""
    seed: int = 0
    wall_s: float = 0.0
    is_new: bool = False
    samples: int = 0
    notes: list[str] = field(default_factory=list)
    fits: list["CalibrationFit"] = field(default_factory=list)
    checked: list["CheckedSize"] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        from advisor.calibration_fits import median_error

        return {
            "cluster": self.cluster,
            "session": self.session,
            "seed": self.seed,
            "wall_s": self.wall_s,
            "samples": self.samples,
            "stored": self.is_new,
            "record": str(self.record),
            "notes": self.notes,
            "fits": [fit_json(fit) for fit in self.fits],
            "checks": [check_json(each) for each in self.checked],
            "median_error_fraction": median_error(self.checked),
        }


def calibrate(url: str, child_command: Sequence[str]) -> Calibrated:
    """Measures, fits and stores.

    Raises UserError for what the harness refuses, InterruptedRunsError after Ctrl-C, AdvisorError
    if the harness fails: then nothing is stored.
    """
    from advisor.commands.calibration_progress import progress

    check_database(url)
    calibrated = Calibrated()
    with ExitStack() as stack:
        shown = stack.enter_context(progress())
        child = stack.enter_context(Harness(child_command))
        for event in child.events():
            shown.event(event)
            _take(event, calibrated, url)
        if child.interrupts or child.exit_code == InterruptedRunsError.exit_code:
            raise InterruptedRunsError("interrupted: nothing is stored")
        if child.exit_code not in (0, UserError.exit_code) and len(child.said) > 1:
            for line in child.said:  # a bug of the harness: its traceback is what helps
                click.echo(printable(line), err=True)
        child.require_success()
    if calibrated.record is None:
        raise AdvisorError("the measuring harness ended without a calibration")
    with ExitStack() as stack:
        _store(opened_once(url, stack)(), calibrated)
    return calibrated


def _take(event: Event, calibrated: Calibrated, url: str) -> None:
    if event["event"] == "plan":
        _check_hardware(event["hardware"], url)
    elif event["event"] == "calibrated":
        calibrated.record = Path(str(event["record"]))


def _check_hardware(hardware: object, url: str) -> None:
    """Before anything is measured: the name may be another machine's."""
    from db.calibration_store import check_cluster
    from db.run_record import ClusterPart
    from db.session import open_engine, sqlite_path

    path = sqlite_path(url)
    if path is not None and not path.exists():
        return
    engine = open_engine(url)
    try:
        check_cluster(engine, ClusterPart.model_validate(hardware))
    finally:
        engine.dispose()


def _store(engine: "Engine", calibrated: Calibrated) -> None:
    """Fits the record's samples and stores both. A record that is refused stays where it is."""
    from advisor.calibration_fits import Origin, checked_sizes, checks_of, fits_of
    from db.calibration_record import read_calibration
    from db.calibration_store import store_calibration
    from db.errors import DatabaseError
    from db.run_rows import source_id

    assert calibrated.record is not None
    file = read_calibration(calibrated.record)
    record, samples = file.record, file.record.measured()
    origin = Origin(
        record.session, record.started_at, source_id(record.cluster.cluster), record.conditions()
    )
    try:
        fits = fits_of(samples, origin)
    except ValueError as error:
        raise UserError(f"{file.path}: nothing can be fitted: {error}") from error
    checks = checks_of(samples, fits, origin)
    try:
        calibrated.is_new = store_calibration(engine, file, fits, checks)
    except DatabaseError as error:
        raise UserError(
            f"{error}; the record is kept: `advisor calibrate --record {file.path}` stores it"
        ) from error
    calibrated.cluster, calibrated.session = record.cluster.cluster, record.session
    calibrated.seed, calibrated.wall_s = record.seed, record.wall_s
    calibrated.samples, calibrated.fits = len(samples), fits
    calibrated.checked = checked_sizes(samples, checks)
    skipped = [f"{part.path.value} not measured: {part.reason}" for part in record.skipped]
    calibrated.notes = [*record.notes, *skipped]


def _echo(calibrated: Calibrated) -> None:
    from advisor.calibration_fits import TARGET_ERROR, median_error

    echo_fits(calibrated.fits)
    if calibrated.checked:
        echo("")
        echo_checks(calibrated.checked)
        error = median_error(calibrated.checked) or 0.0
        sizes = counted(len(calibrated.checked), "path and size")
        sizes = sizes.replace("path and sizes", "paths and sizes")
        echo(
            f"median error {format_percent(round(error, 4))} over {sizes}"
            f" (target: {format_percent(TARGET_ERROR)})"
        )
    echo("")
    for note in calibrated.notes:
        echo(printable(note))
    stored = "stored" if calibrated.is_new else "was stored already"
    echo(
        printable(
            f"{calibrated.cluster}: {calibrated.samples} samples in "
            f"{format_duration(calibrated.wall_s)} (seed {calibrated.seed}), {stored} as "
            f"calibration {calibrated.session}; record in {calibrated.record}"
        )
    )
