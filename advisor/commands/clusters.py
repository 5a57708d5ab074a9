"""`advisor clusters`: what the database knows, and what one cluster's calibrations say."""

from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from db.records import ClusterEvidence

_HEADER = ("cluster", "nodes", "ranks", "device", "architectures", "operating points")
_NUMERIC = (1, 2, 5)


@click.command(name="clusters")
@click.argument("name", metavar="[NAME]", required=False)
@format_option(("table", "json", "csv"), "table")
@database_option
def command(name: str | None, fmt: str, db_url: str | None) -> None:
    """The clusters that the database knows, with what was measured on each.

    With NAME, that one with its calibrations: what each path takes, with its interval.
    """
    from advisor.evidence import load_evidence, opened
    from db.queries import cluster_names
    from db.session import reading

    with opened(db_url) as engine:
        if name is not None:
            _echo_one(load_evidence(engine, name), fmt)
            return
        with reading(engine) as connection:
            names = cluster_names(connection)
        found = [load_evidence(engine, each) for each in names]
    rows = [_row(evidence) for evidence in found]
    if fmt == "json":
        keys = tuple(title.replace(" ", "_") for title in _HEADER)
        echo_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif fmt == "csv":
        echo_csv(tuple(title.replace(" ", "_") for title in _HEADER), rows)
    else:
        echo_table(_HEADER, rows, numeric=_NUMERIC)


def _row(evidence: "ClusterEvidence") -> tuple[object, ...]:
    cluster = evidence.cluster
    return (
        cluster.cluster,
        cluster.nodes,
        cluster.nodes * cluster.ranks_per_node,
        cluster.device,
        " ".join(sorted({p.architecture for p in evidence.points})),
        len(evidence.points),
    )


def _echo_one(evidence: "ClusterEvidence", fmt: str) -> None:
    from advisor.commands.calibration_words import fit_json

    if fmt == "json":
        keys = tuple(title.replace(" ", "_") for title in _HEADER)
        document: dict[str, Any] = dict(zip(keys, _row(evidence), strict=True))
        echo_json(document | {"calibrations": [fit_json(fit) for fit in evidence.fits]})
    elif fmt == "csv":
        rows = [_flat(fit_json(fit)) for fit in evidence.fits]
        echo_csv(_CSV, [[row[title] for title in _CSV] for row in rows])
    else:
        echo_table(_HEADER, [_row(evidence)], numeric=_NUMERIC)
        _echo_calibrations(evidence)


def _echo_calibrations(evidence: "ClusterEvidence") -> None:
    from advisor.commands.calibration_words import echo_fits

    sessions = dict.fromkeys((fit.session, fit.started_at) for fit in evidence.fits)
    for session, started_at in reversed(sessions):
        echo("")
        echo(printable(f"calibration {session}, {started_at}"))
        echo_fits(fit for fit in evidence.fits if fit.session == session)
    if not sessions:
        name = printable(evidence.cluster.cluster)
        echo(f"\nno calibration of its own: `advisor calibrate --cluster {name}` makes one there")


_INTERVALS = ("latency_s", "s_per_byte", "s_per_rank")
_CSV = (
    *("session", "started_at", "path", "processes", "model", "n", "outliers", "spread_fraction"),
    *(f"{name}{end}" for name in _INTERVALS for end in ("", "_low", "_high")),
    *("smallest_bytes", "largest_bytes", "conditions"),
)


def _flat(fit: dict[str, Any]) -> dict[str, Any]:
    """Each interval as three columns, empty where there is none."""
    flat = dict(fit)
    for name in _INTERVALS:
        number = flat.pop(name) or dict.fromkeys(("value", "low", "high"))
        flat |= {name: number["value"], f"{name}_low": number["low"]}
        flat[f"{name}_high"] = number["high"]
    return flat
