"""`advisor pareto`: an architecture's measured trade-off."""

from typing import Any

import click

from advisor.commands.options import (
    DURATION,
    INTERVAL,
    NAMES,
    SIZE,
    cluster_option,
    database_option,
    format_option,
    machine_options,
)
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.decide import AXES, DEFAULT_AXES
from advisor.recommendation import Candidate, Recommendation
from advisor.reports.words import steps
from advisor.units import format_bytes, format_duration, format_percent


@click.command(name="pareto")
@cluster_option
@click.option("--architecture", required=True, metavar="NAME", help="a1-sync, a1-async, a2 ... a7.")
@click.option(
    "--state-size",
    "state_bytes",
    type=SIZE,
    help="State of one rank.  [default: the smallest measured]",
)
@click.option(
    "--axes",
    type=NAMES,
    default=",".join(DEFAULT_AXES),
    show_default=True,
    help=f"Which to compare: {', '.join(AXES)}.",
)
@click.option("--interval", type=INTERVAL, help="Steps, auto or measured.  [default: measured]")
@click.option("--mtbf", "mtbf_s", type=DURATION, help="Needed for expected-time and auto.")
@click.option("--step-time", "step_time_s", type=DURATION, help="Time of one training step.")
@click.option(
    "--warning-lead",
    "warning_lead_s",
    type=DURATION,
    help="How long before a failure a warning comes.  [default: always in time]",
)
@machine_options
@format_option(("table", "json", "csv"), "table")
@database_option
def command(axes: tuple[str, ...], fmt: str, db_url: str | None, **options: Any) -> None:
    """Who is on the Pareto frontier, and who dominates the rest.

    Every mechanism that saves state and was measured takes part, at the interval at which it was
    measured. Lower is better on every axis.
    """
    from advisor.commands.permissive import permissive_input
    from advisor.defaults import resolve
    from advisor.evidence import Question, answer, load_evidence, opened

    with opened(db_url) as engine:
        evidence = load_evidence(engine, options["cluster"])
        inputs = permissive_input(options, evidence, needs_mtbf="expected-time" in axes)
        found = answer(Question(evidence, resolve(inputs, evidence)), axes)
    _print(found, fmt)


def _print(found: Recommendation, fmt: str) -> None:
    rows = [_row(found, c) for c in found.candidates]
    axes = found.frontier.axes
    if fmt == "json":
        echo_json(
            {
                "cluster": found.scenario.cluster,
                "architecture": found.scenario.architecture,
                "state_bytes": found.scenario.state_bytes,
                "axes": list(axes),
                "points": rows,
                "excluded": [
                    {"mechanism": e.mechanism, "reason": e.reason} for e in found.excluded
                ],
            }
        )
        return
    if fmt == "csv":
        header = tuple(rows[0]) if rows else ("mechanism",)
        echo_csv(header, (tuple(row.values()) for row in rows))
        return
    echo(
        f"{found.scenario.architecture} on {found.scenario.cluster}, "
        f"{format_bytes(found.scenario.state_bytes)} a rank: frontier over {' and '.join(axes)}\n"
    )
    echo_table(
        ("mechanism", "interval", *axes, "ev.", ""),
        [_cells(c, row, axes) for c, row in zip(found.candidates, rows, strict=True)],
        numeric=range(1, len(axes) + 2),
    )
    for excluded in found.excluded:
        echo(f"  {excluded.mechanism.upper()} takes no part: {excluded.reason}")


def _row(found: Recommendation, candidate: Candidate) -> dict[str, Any]:
    dominated = {d.mechanism: d.dominated_by for d in found.frontier.dominated}
    return {
        "mechanism": candidate.mechanism,
        "interval_steps": candidate.interval_steps,
        "evidence": candidate.evidence.value,
        **{AXES[axis]: getattr(candidate, AXES[axis]) for axis in found.frontier.axes},
        "on_frontier": candidate.mechanism in found.frontier.members,
        "dominated_by": dominated.get(candidate.mechanism),
    }


def _cells(candidate: Candidate, row: dict[str, Any], axes: tuple[str, ...]) -> tuple[str, ...]:
    interval = "" if candidate.interval_steps is None else steps(candidate.interval_steps)
    verdict = "on the frontier" if row["on_frontier"] else "not comparable: a value is missing"
    if row["dominated_by"]:
        verdict = f"dominated by {row['dominated_by'].upper()}"
    return (
        f"{candidate.mechanism.upper()} {candidate.name}",
        interval,
        *(_human(AXES[axis], row[AXES[axis]]) for axis in axes),
        candidate.evidence.value,
        verdict,
    )


def _human(field: str, value: float | None) -> str:
    if value is None:
        return "–"
    if field.endswith("_s"):
        return format_duration(value)
    return format_bytes(value) if field.endswith("_bytes") else format_percent(value)
