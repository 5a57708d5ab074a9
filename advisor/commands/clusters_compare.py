"""`advisor clusters compare`: what was measured on several clusters, side by side."""

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import click

from advisor.commands.options import NAMES, database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.comparison.clusters import Comparison


@click.command()
@click.argument("names", metavar="BASELINE CLUSTER [CLUSTER ...]", nargs=-1)
@click.option(
    "--architecture",
    "architectures",
    type=NAMES,
    metavar="NAMES",
    help="Only cells of these, as in a2,a7.  [default: all]",
)
@click.option(
    "--mechanism",
    "mechanisms",
    type=NAMES,
    metavar="NAMES",
    help="Only cells of these, as in ft1,ft2.  [default: all]",
)
@click.option(
    "--common",
    is_flag=True,
    help="Print only the cells that all of them have numbers of; the others are counted only.",
)
@format_option(("table", "json", "csv"), "table")
@database_option
def compare(
    names: tuple[str, ...],
    architectures: tuple[str, ...] | None,
    mechanisms: tuple[str, ...] | None,
    common: bool,
    fmt: str,
    db_url: str | None,
) -> None:
    """What was measured on several clusters, side by side; the first is the baseline.

    Hardware and software, then every cell that one of them measured: overhead, stall per save,
    restore, recovery and detection, with n and dispersion, how many times the baseline's number
    the others' is, with its 95 % interval, and whether more than chance is between them. Then what
    each path takes, where several have a calibration.
    """
    from advisor.characterization import require_known_architectures, require_mechanisms
    from advisor.comparison.clusters import compare as compared
    from advisor.comparison.clusters import require_several
    from advisor.evidence import load_evidence, opened

    require_several(names)
    with opened(db_url) as engine:
        evidences = [load_evidence(engine, name) for name in names]
    require_known_architectures(evidences[0], architectures or ())
    require_mechanisms(evidences[0], mechanisms or ())
    found = compared(evidences, architectures, mechanisms)
    if fmt == "json":
        from advisor.reports.comparison_document import comparison_document

        echo_json(comparison_document(_printed(found, common)))
    elif fmt == "csv":
        _echo_csv(_printed(found, common))
    else:
        _echo_tables(found, common)


def _printed(found: "Comparison", common: bool) -> "Comparison":
    if not common:
        return found
    return replace(found, rows=tuple(row for row in found.rows if row.is_common))


def _echo_tables(found: "Comparison", common: bool) -> None:
    from advisor.reports import comparison_words as words

    echo_table(words.machine_header(found), words.machine_rows(found))
    rows = [words.row_cells(row) for row in _printed(found, common).rows]
    echo("")
    if rows:
        echo_table(words.row_header(found), rows, numeric=(3, 4))
        echo("")
    for line in words.count_lines(found):
        echo(printable(line))
    echo("")
    if found.fits:
        echo_table(words.fit_header(found), map(words.fit_cells, found.fits), numeric=(1,))
        echo(words.FIT_NOTE)
    uncalibrated = words.calibration_line(found)
    if uncalibrated is not None:
        echo(printable(uncalibrated))


_OF_DIFFERENCE = ("ratio", "low", "high", "is_more_than_chance", "why")


def _echo_csv(found: "Comparison") -> None:
    from advisor.reports.comparison_document import NUMBER_FIELDS

    of_point = {"interval_steps": "measured_interval_steps"}
    header = (
        *("architecture", "mechanism", "trace", "interval_steps", "quantity", "cluster"),
        *(of_point.get(name, name) for name in NUMBER_FIELDS),
        *_OF_DIFFERENCE,
        "unlike",
    )
    echo_csv(header, _csv_rows(found))


def _csv_rows(found: "Comparison") -> Iterator[tuple[object, ...]]:
    """A row a cell and cluster, the baseline first; its own columns of differences are empty."""
    from advisor.reports import comparison_document as document

    for row in found.rows:
        key = row.key
        cell = (key.architecture, key.mechanism, key.trace, key.interval_steps, key.compared.value)
        for place, (name, number) in enumerate(zip(found.names, row.numbers, strict=True)):
            fields = document.missing_fields() if number is None else document.number_fields(number)
            difference = row.differences[place - 1] if place else None
            told = document.difference_fields(difference)
            unlike = ", ".join(row.unlike[place - 1]) if place else ""
            numbers = (fields[each] for each in document.NUMBER_FIELDS)
            yield (*cell, name, *numbers, *(told[each] for each in _OF_DIFFERENCE), unlike)
