"""`advisor crossover`: the MTBF at which two mechanisms take equally long."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import click

from advisor.commands.options import database_option, format_option, input_option
from advisor.commands.output import echo, echo_beside, echo_csv, echo_json, echo_table
from advisor.errors import UserError
from advisor.recommendation import Candidate, Crossover
from advisor.scenario import RestoreBasis, Scenario
from advisor.units import format_bytes, format_duration, format_percent
from db.records import ClusterEvidence


@click.command(name="crossover")
@click.argument("a", metavar="MECHANISM")
@click.argument("b", metavar="MECHANISM")
@input_option("cluster")
@input_option("architecture", required=False, default="a2", default_words="a2")
@input_option("state-size", required=False, default_words="the smallest measured")
@input_option("interval", default_words="measured")
@input_option("mtbf", required=False, default_words="needed for auto: search near it")
@input_option("step-time")
@input_option("detection")
@input_option("regroup")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(a: str, b: str, fmt: str, db_url: str | None, **options: Any) -> None:
    """The MTBF at which two mechanisms take equally long, from Eq. (5).

    Beside it stands the paper's shortcut dC/dO, which leaves out that the number of failures grows
    with the overhead too; both for published and for calibrated restore times.
    """
    from advisor.characterization import what_was_read
    from advisor.commands.permissive import near_of, permissive_input
    from advisor.defaults import resolve
    from advisor.evidence import load_evidence, opened

    pair = (a.strip().lower(), b.strip().lower())
    if pair[0] == pair[1]:
        raise UserError(f"{pair[0]} against itself never crosses: name two mechanisms")
    with opened(db_url) as engine:
        evidence = load_evidence(engine, options["cluster"], near_of(options))
        inputs = permissive_input(options | {"mechanisms": pair}, evidence, needs_mtbf=False)
        scenario = resolve(inputs, evidence)
    rows = [_row(evidence, scenario, basis, pair) for basis in RestoreBasis]
    read = tuple(what_was_read(evidence))
    _print(scenario, pair, rows, read, fmt)
    echo_beside(read, fmt)


def _row(
    evidence: ClusterEvidence, scenario: Scenario, basis: RestoreBasis, pair: tuple[str, str]
) -> dict[str, Any]:
    from advisor.candidates import consider
    from advisor.decide import crossover_of

    considered = consider(evidence, replace(scenario, restore_basis=basis))
    found = {c.mechanism: c for c in considered.candidates}
    for name in pair:
        if name not in found:
            reason = next(e.reason for e in considered.excluded if e.mechanism == name)
            raise UserError(f"{name} cannot be compared: {reason}")
        if found[name].native is not None:
            raise UserError(
                f"{name} cannot be compared: {scenario.architecture} goes on by itself after a "
                "loss, which is outside Eq. (5)"
            )
    first, second = found[pair[0]], found[pair[1]]
    return _document(basis, first, second, crossover_of(scenario, first, second))


def _document(
    basis: RestoreBasis, a: Candidate, b: Candidate, crossover: Crossover
) -> dict[str, Any]:
    return {
        "restore_basis": basis.value,
        "a": a.mechanism,
        "b": b.mechanism,
        "a_overhead": a.overhead,
        "b_overhead": b.overhead,
        "a_restore_s": a.restore_s,
        "b_restore_s": b.restore_s,
        "a_lost_s": a.lost_s,
        "b_lost_s": b.lost_s,
        "mtbf_s": crossover.mtbf_s,
        "shortcut_mtbf_s": crossover.shortcut_mtbf_s,
        "faster_below": crossover.faster_below,
        "is_flagged": crossover.is_flagged,
    }


def _print(
    scenario: Scenario,
    pair: tuple[str, str],
    rows: list[dict[str, Any]],
    read: Sequence[str],
    fmt: str,
) -> None:
    if fmt == "json":
        echo_json(
            {
                "cluster": scenario.cluster,
                "architecture": scenario.architecture,
                "state_bytes": scenario.state_bytes,
                "detection_s": scenario.detection_s,
                "regroup_s": scenario.regroup_s,
                "crossovers": rows,
                "warnings": list(read),
            }
        )
        return
    if fmt == "csv":
        echo_csv(tuple(rows[0]), (tuple(row.values()) for row in rows))
        return
    a, b = (name.upper() for name in pair)
    echo(
        f"{a} and {b} on {scenario.architecture.upper()} of {scenario.cluster}, "
        f"{format_bytes(scenario.state_bytes)} a rank, "
        f"detection {format_duration(scenario.detection_s)}, "
        f"regrouping {format_duration(scenario.regroup_s)}"
    )
    echo("")
    echo_table(
        ("restores", f"overhead {a}", b, f"restore {a}", b, f"lost {a}", b, "shortcut", "Eq. (5)"),
        [_cells(row) for row in rows],
        numeric=range(1, 9),
    )
    for row in rows:
        echo(f"  {row['restore_basis']}: {_verdict(row)}")


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    return (
        row["restore_basis"],
        format_percent(row["a_overhead"]),
        format_percent(row["b_overhead"]),
        format_duration(row["a_restore_s"]),
        format_duration(row["b_restore_s"]),
        format_duration(row["a_lost_s"]),
        format_duration(row["b_lost_s"]),
        _mtbf(row["shortcut_mtbf_s"]),
        _mtbf(row["mtbf_s"]) + ("*" if row["is_flagged"] else ""),
    )


def _mtbf(value_s: float | None) -> str:
    return "never" if value_s is None else format_duration(value_s)


def _verdict(row: dict[str, Any]) -> str:
    from advisor.reports.words import off_words

    if row["faster_below"] is None:
        return "there is no MTBF at which both keep the limits"
    winner = row["faster_below"].upper()
    if row["mtbf_s"] is None:
        return f"by Eq. (5) they never cross, {winner} is faster at every MTBF"
    mark, off = ("*", f" (*: {off_words()} there)") if row["is_flagged"] else ("", "")
    below = f"{format_duration(row['mtbf_s'])}{mark}{off}"
    return f"by Eq. (5) {winner} is faster at an MTBF below {below}"
