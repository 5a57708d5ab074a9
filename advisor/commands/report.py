"""`advisor report`: an answer as a file for a meeting, or a saved one printed again."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import canvas, echo, echo_csv, echo_json, echo_table
from advisor.errors import UserError
from advisor.printable import printable
from advisor.reports import FORMATS, render

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from advisor.recommendation import Recommendation
    from advisor.report import Report
    from db.records import RecommendationSummary

_LIST_HEADER = ("id", "cluster", "saved_at", "advisor_version")


@click.command(name="report")
@click.argument("recommendation_id", metavar="[ID]", required=False)
@click.option("--id", "also_id", metavar="ID", help="The same as the argument.")
@click.option(
    "--scenario",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A TOML or JSON file with the options of `recommend`, instead of an ID.",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write a file; its ending decides: .html .pdf .md .json .csv .txt.",
)
@format_option(FORMATS, "table")
@database_option
def command(
    recommendation_id: str | None,
    also_id: str | None,
    scenario: Path | None,
    output: Path | None,
    fmt: str,
    db_url: str | None,
) -> None:
    """A report on a scenario or on a saved recommendation; without either, list the saved ones.

    A saved answer is printed as it was given, whatever was measured since. HTML is one file that
    works offline; a PDF is printed from it by an installed browser.
    """
    from advisor.evidence import opened

    if recommendation_id and also_id:
        raise UserError("give the ID once, as an argument or as --id")
    wanted = recommendation_id or also_id
    if wanted and scenario:
        raise UserError("give an ID or --scenario, not both")
    if output and not (wanted or scenario):
        raise UserError("what should the report be on? Give an ID or --scenario")
    if output:
        _require_ending(output)
    with opened(db_url) as engine:
        if not wanted and not scenario:
            _list(engine, fmt)
            return
        found = _answer(engine, scenario, wanted or "")
        if output is None:
            echo(render(found, fmt, canvas()))
            return
        report = _report(engine, found, is_saved=scenario is None)
    from advisor.reports.files import write_report

    write_report(report, output)
    echo(printable(f"{output} written"))


def _require_ending(output: Path) -> None:
    """Says at once that an ending is unknown, before anything is computed."""
    from advisor.reports.files import ENDINGS

    if output.suffix.lower() not in ENDINGS:
        raise UserError(f"{output} has no known ending: write one of {', '.join(ENDINGS)}")


def _answer(engine: "Engine", scenario: Path | None, recommendation_id: str) -> "Recommendation":
    from advisor.evidence import answer, ask
    from advisor.saved import load
    from advisor.scenario_file import read_scenario_file

    if scenario is None:
        return load(engine, recommendation_id)
    return answer(ask(engine, read_scenario_file(scenario)))


def _report(engine: "Engine", found: "Recommendation", *, is_saved: bool) -> "Report":
    from advisor.evidence import load_evidence, near_to
    from advisor.report import make_report, make_saved_report
    from db.queries import evidence_version

    evidence = load_evidence(engine, found.scenario.cluster, near_to(found.scenario))
    if is_saved:
        return make_saved_report(found, evidence, evidence_version(evidence))
    return make_report(found, evidence)


def _list(engine: "Engine", fmt: str) -> None:
    from advisor.saved import listed

    rows = [_row(summary) for summary in listed(engine)]
    if fmt == "json":
        echo_json([dict(zip(_LIST_HEADER, row, strict=True)) for row in rows])
    elif fmt == "csv":
        echo_csv(_LIST_HEADER, rows)
    elif not rows:
        echo("no recommendation is saved yet: `advisor recommend ... --save` saves one")
    else:
        echo_table(("id", "cluster", "saved at", "by advisor"), rows)


def _row(summary: "RecommendationSummary") -> tuple[str, str, str, str]:
    return (
        summary.recommendation_id,
        summary.cluster,
        summary.created_at,
        summary.advisor_version,
    )
