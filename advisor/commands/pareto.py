"""`advisor pareto`: an architecture's measured trade-off."""

from collections.abc import Sequence
from typing import Any

import click

from advisor.commands.options import NAMES, database_option, format_option, input_option
from advisor.commands.output import echo, echo_beside, echo_csv, echo_json, echo_table
from advisor.decide import AXES, DEFAULT_AXES
from advisor.recommendation import Candidate, Recommendation
from advisor.reports.words import axis_words, evidence_code, steps
from advisor.units import format_bytes


@click.command(name="pareto")
@input_option("cluster")
@input_option("architecture")
@input_option("state-size", required=False, default_words="the smallest measured")
@click.option(
    "--axes",
    type=NAMES,
    default=",".join(DEFAULT_AXES),
    show_default=True,
    help=f"Which to compare: {', '.join(AXES)}.",
)
@input_option("interval", default_words="measured")
@input_option("mtbf", required=False, default_words="needed for expected-time and auto")
@input_option("step-time")
@input_option("warning-lead", default_words="always in time")
@input_option("storage-write")
@input_option("storage-read")
@input_option("host-memory")
@input_option("device-memory")
@input_option("restore-basis")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(axes: tuple[str, ...], fmt: str, db_url: str | None, **options: Any) -> None:
    """Who is on the Pareto frontier, and who dominates the rest.

    Every mechanism that saves state and was measured takes part, at the interval at which it was
    measured. Lower is better on every axis.
    """
    from advisor.characterization import what_was_read
    from advisor.commands.permissive import near_of, permissive_input
    from advisor.defaults import resolve
    from advisor.evidence import Question, answer, load_evidence, opened

    with opened(db_url) as engine:
        evidence = load_evidence(engine, options["cluster"], near_of(options))
        inputs = permissive_input(options, evidence, needs_mtbf="expected-time" in axes)
        found = answer(Question(evidence, resolve(inputs, evidence)), axes)
    read = tuple(what_was_read(evidence))
    _print(found, read, fmt)
    echo_beside(read, fmt)


def _print(found: Recommendation, read: Sequence[str], fmt: str) -> None:
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
                "warnings": list(read),
            }
        )
        return
    if fmt == "csv":
        header = tuple(rows[0]) if rows else ("mechanism",)
        echo_csv(header, (tuple(row.values()) for row in rows))
        return
    echo(
        f"{found.scenario.architecture.upper()} on {found.scenario.cluster}, "
        f"{format_bytes(found.scenario.state_bytes)} a rank: frontier over {' and '.join(axes)}"
    )
    echo("")
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
    interval = "–" if candidate.interval_steps is None else steps(candidate.interval_steps)
    verdict = "on the frontier" if row["on_frontier"] else "not comparable: a value is missing"
    if row["dominated_by"]:
        verdict = f"dominated by {row['dominated_by'].upper()}"
    return (
        f"{candidate.mechanism.upper()} {candidate.name}",
        interval,
        *(_human(axis, row[AXES[axis]]) for axis in axes),
        evidence_code(candidate),
        verdict,
    )


def _human(axis: str, value: float | None) -> str:
    return "–" if value is None else axis_words(axis)(value)
