"""`advisor campaigns`: which there are, and how far one is, from any terminal."""

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.campaign_view import CampaignView
    from db.campaign_queries import CampaignSummary

_LOOK_EVERY_S = 1.0


@click.group(name="campaigns", invoke_without_command=True)
@format_option(("table", "json", "csv"), "table")
@database_option
@click.pass_context
def command(context: click.Context, fmt: str, db_url: str | None) -> None:
    """The campaigns of the database, the newest first; `show` for one of them."""
    if context.invoked_subcommand is not None:
        return
    from advisor.campaign_view import as_it_stands
    from advisor.evidence import opened
    from advisor.reports.campaign_words import LIST_HEADER, list_row
    from db.campaign_queries import list_campaigns
    from db.session import reading

    with opened(db_url) as engine, reading(engine) as connection:
        found = [as_it_stands(each) for each in list_campaigns(connection)]
    rows = [list_row(each) for each in found]
    if fmt == "json":
        echo_json([summary_json(each) for each in found])
    elif fmt == "csv":
        echo_csv(LIST_HEADER, rows)
    elif rows:
        echo_table(LIST_HEADER, rows, numeric=(3, 4, 5, 6))
    else:
        echo("No campaign is in the database. Some would come from: advisor measure --matrix")


@command.command()
@click.argument("campaign", metavar="CAMPAIGN")
@click.option("--follow", is_flag=True, help="Go on showing, until nobody runs it any more.")
@format_option(("table", "json"), "table")
@database_option
def show(campaign: str, follow: bool, fmt: str, db_url: str | None) -> None:
    """How far a campaign is: cells, failures, the time that is left, what the runs showed so far.

    With --follow one line (or one JSON document) whenever something changed. It only reads.
    """
    from advisor.campaign_view import campaign_view
    from advisor.evidence import opened
    from advisor.reports.campaign_words import progress_line
    from db.records import CampaignStatus
    from db.session import reading

    said = ""
    with opened(db_url) as engine:
        while True:
            with reading(engine) as connection:
                view = campaign_view(connection, campaign)
            is_over = not follow or view.summary.status is not CampaignStatus.RUNNING
            line = printable(progress_line(view))
            if follow and line != said:
                _echo_line(view, line, fmt)
                said = line
            if is_over:
                break
            time.sleep(_LOOK_EVERY_S)
    if fmt == "json":
        if not follow:
            echo_json(view_json(view))
    else:
        _echo_view(view)


def _echo_line(view: "CampaignView", line: str, fmt: str) -> None:
    if fmt == "json":
        import json

        line = json.dumps(view_json(view), allow_nan=False)
    echo(line)


def summary_json(each: "CampaignSummary") -> dict[str, Any]:
    told = asdict(each)
    return {**told, "counts": {str(status): n for status, n in each.counts.items()}}


def view_json(view: "CampaignView") -> dict[str, Any]:
    """The contract of `advisor campaigns show --format json`."""
    return {
        **summary_json(view.summary),
        "time_left_s": view.time_left_s,
        "drift": None if view.drift is None else view.drift.as_json(),
        "cells": [asdict(cell) for cell in view.cells],
        "tuples": [each.as_json() for each in view.tuples],
    }


def _echo_view(view: "CampaignView") -> None:
    from advisor.commands.measure import echo_tuples
    from advisor.reports.campaign_words import (
        drift_words,
        order_words,
        origin_line,
        progress_line,
    )
    from db.records import CellStatus

    summary = view.summary
    echo(printable(progress_line(view)))
    echo(printable(origin_line(summary)))
    if summary.cells:
        echo(f"{order_words(summary)}; {drift_words(view.drift)}")
    if view.tuples:
        echo("")
        echo_tuples(view.tuples)
    failed = [cell for cell in view.cells if cell.status is CellStatus.FAILED]
    for cell in failed:
        echo(printable(f"failed: {cell.run_id}: {cell.reason}"))
