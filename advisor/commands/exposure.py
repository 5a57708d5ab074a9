"""`advisor exposure`: what a lost worker does to each architecture."""

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option, input_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.exposure import ClusterExposure, LearningRow


@click.command(name="exposure")
@input_option("cluster")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(cluster: str | None, fmt: str, db_url: str | None) -> None:
    """Which architectures survive a lost worker, how soon it is known, and what it costs.

    Without any mechanism, as in the paper's Table V; for architectures that go on, whether they
    learn faster afterwards than runs without a fault.
    """
    from advisor.evidence import load_evidence, opened
    from advisor.exposure import cluster_exposure
    from db.session import reading

    with opened(db_url) as engine:
        name = load_evidence(engine, cluster).cluster.cluster
        with reading(engine) as connection:
            found = cluster_exposure(connection, name)
    if fmt == "json":
        echo_json(_json(name, found))
    elif fmt == "csv":
        _echo_csv(found)
    else:
        _echo_table(name, found)


def _echo_table(cluster: str, found: "ClusterExposure") -> None:
    from advisor.reports.run_words import (
        EXPOSURE_HEADER,
        exposure_rows,
        exposure_software_lines,
        shared_conditions,
    )

    if not found.exposures:
        echo(f"Nothing is known of it on {cluster}: no run without a mechanism.")
        echo("Some would come from: advisor measure --architecture all --trace f1")
        return
    everywhere = "".join(f", {words}" for words in shared_conditions(found.exposures))
    echo(f"{cluster}, no mechanism{everywhere}; throughput in samples/s/rank; ± is 95 %, n runs")
    echo_table(EXPOSURE_HEADER, exposure_rows(found.exposures, found.first_detections))
    for line in exposure_software_lines(found.exposures, found.set_aside):
        echo(printable(f"warning: {line}"))
    for row in found.learning:
        echo("")
        echo(_learning_words(row, found.learning))


def _learning_words(row: "LearningRow", every: Iterable["LearningRow"]) -> str:
    from advisor.reports.run_words import mean_words
    from advisor.units import format_duration, format_number

    learning = row.learning
    struck, calm = learning.with_fault, learning.without_fault
    verdict = "a difference" if learning.differs else "no detectable difference"
    p_value = "" if learning.p_value is None else f" (Welch, p = {format_number(learning.p_value)})"
    several = len({each.software_stack for each in every}) > 1
    under = f" under {row.software_stack}" if several else ""
    return printable(
        f"{row.architecture.upper()} on {row.workload}{under}: in the "
        f"{format_duration(learning.window_s)}"
        f" after the fault the loss went down by {mean_words(struck)} (n = {struck.n}), in runs"
        f" without a fault by {mean_words(calm)} (n = {calm.n}): {verdict}{p_value}."
    )


def _echo_csv(found: "ClusterExposure") -> None:
    rows = [_row(found, exposure) for exposure in found.exposures]
    header = tuple(rows[0]) if rows else ("architecture",)
    echo_csv(header, (tuple(row.values()) for row in rows))


def _row(found: "ClusterExposure", exposure: Any) -> dict[str, Any]:
    """One row of plain numbers; None where there is none."""
    first = found.first_detections.get(exposure.point_id)
    names = ("throughput", "detection", "post_failure_throughput", "aggregate_slowdown")
    values = {name: getattr(exposure, name) for name in names}
    return {
        "architecture": exposure.architecture,
        "trace": exposure.trace,
        "workload": exposure.workload,
        "world_size": exposure.world_size,
        "backend": exposure.backend,
        "detector": exposure.detector,
        "group_timeout_s": exposure.group_timeout_s,
        "n": exposure.n,
        "halts": exposure.halts,
        "superseded_by": exposure.superseded_by,
        "first_detection_s": first.value if first else None,
        **{name: value.value if value else None for name, value in values.items()},
    }


def _json(cluster: str, found: "ClusterExposure") -> dict[str, Any]:
    return {
        "cluster": cluster,
        "exposures": [
            {
                **asdict(exposure),
                "first_detection": asdict(first)
                if (first := found.first_detections.get(exposure.point_id))
                else None,
            }
            for exposure in found.exposures
        ],
        "set_aside": found.set_aside,
        "learning": [{**asdict(row), "differs": row.learning.differs} for row in found.learning],
    }
