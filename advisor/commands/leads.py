"""`advisor leads`: how long ahead a fault has to be announced for an emergency save."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.units import format_duration

if TYPE_CHECKING:
    from advisor.leads import BreakEven, TriedLead

_HEADER = ("architecture", "mechanism", "lead", "in time", "saved after", "slowest", "break-even")
_CSV_HEADER = (
    *("architecture", "mechanism", "workload", "world_size", "lead_s", "warnings", "in_time"),
    *("median_s", "slowest_s", "fails_to_s", "holds_from_s"),
)


@click.command(name="leads")
@click.option("--cluster", metavar="NAME", help="Whose runs.  [default: all clusters together]")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(cluster: str | None, fmt: str, db_url: str | None) -> None:
    """How long ahead a fault has to be announced for an emergency save to be in time.

    From the runs in which faults were announced: what was tried, and between which leads the
    break-even lies. `saved after` is the median from the warning until all ranks had saved.
    """
    from advisor.coverage import require_cluster
    from advisor.evidence import opened
    from advisor.leads import break_evens
    from db.lead_queries import warning_answers
    from db.session import reading

    with opened(db_url) as engine, reading(engine) as connection:
        require_cluster(connection, cluster)
        found = break_evens(warning_answers(connection, cluster))
    if fmt == "json":
        echo_json({"cluster": cluster, "break_evens": [each.as_json() for each in found]})
    elif fmt == "csv":
        echo_csv(_CSV_HEADER, _csv_rows(found))
    elif found:
        rows = [_row(each, tried) for each in found for tried in each.tried]
        echo_table(_HEADER, rows, numeric=(2, 3, 4, 5))
    else:
        echo("No run with an announced fault is in the database.")
        echo("Some would come from: advisor measure --architecture a2 --mechanism ft4 --lead 500ms")


def _row(each: "BreakEven", tried: "TriedLead") -> tuple[str, ...]:
    is_first = tried is each.tried[0]
    return (
        each.architecture if is_first else "",
        each.mechanism if is_first else "",
        format_duration(tried.lead_s),
        f"{tried.in_time} of {tried.warnings}",
        _duration(tried.median_s),
        _duration(tried.slowest_s),
        _words(each) if is_first else "",
    )


def _words(each: "BreakEven") -> str:
    fails, holds = each.fails_to_s, each.holds_from_s
    if fails is None:
        return f"at most {_duration(holds)}"
    if holds is None:
        return f"more than {_duration(fails)}"
    return f"{_duration(fails)} to {_duration(holds)}"


def _duration(value_s: float | None) -> str:
    return "" if value_s is None else format_duration(value_s)


def _csv_rows(found: "Sequence[BreakEven]") -> Iterator[tuple[object, ...]]:
    for each in found:
        for tried in each.tried:
            yield (
                *(each.architecture, each.mechanism, each.workload, each.world_size),
                *(tried.lead_s, tried.warnings, tried.in_time, tried.median_s, tried.slowest_s),
                *(each.fails_to_s, each.holds_from_s),
            )
