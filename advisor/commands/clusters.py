"""`advisor clusters`: what the database knows, one cluster in detail, and clusters side by side."""

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.clusters_compare import compare
from advisor.commands.clusters_recommend import recommend
from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from db.records import ClusterEvidence

_HEADER = ("cluster", "nodes", "ranks", "device", "architectures", "operating points")
_NUMERIC = (1, 2, 5)
_STACKS = (
    *("software stack", "points", "set aside"),
    *("torch", "cuda", "nccl", "python", "superseded by"),
)


class ClustersGroup(click.Group):
    """`show` needs not be written: `advisor clusters NAME` is `advisor clusters show NAME`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        known = {*self.commands, *ctx.help_option_names}
        shown = args if args and args[0] in known else ["show", *args]
        return super().parse_args(ctx, shown)


@click.group(cls=ClustersGroup, name="clusters")
def command() -> None:
    """The clusters that the database knows, with what was measured on each.

    `advisor clusters` lists them, and `advisor clusters NAME` says more of one of them.
    """


command.add_command(compare)
command.add_command(recommend)


@command.command()
@click.argument("name", metavar="[NAME]", required=False)
@format_option(("table", "json", "csv"), "table")
@database_option
def show(name: str | None, fmt: str, db_url: str | None) -> None:
    """The clusters, with what was measured on each; the word `show` may be left out.

    With NAME, that one with its software stacks, and with its calibrations: what each path takes,
    with its interval.
    """
    from advisor.evidence import every_evidence, load_evidence, opened

    with opened(db_url) as engine:
        if name is not None:
            _echo_one(load_evidence(engine, name), fmt)
            return
        rows = [_row(evidence) for evidence in every_evidence(engine)]
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
        document["set_aside"] = len(evidence.set_aside)
        document["software_stacks"] = [asdict(stack) for stack in evidence.stacks.values()]
        echo_json(document | {"calibrations": [fit_json(fit) for fit in evidence.fits]})
    elif fmt == "csv":
        rows = [_flat(fit_json(fit)) for fit in evidence.fits]
        echo_csv(_CSV, [[row[title] for title in _CSV] for row in rows])
    else:
        echo_table(_HEADER, [_row(evidence)], numeric=_NUMERIC)
        _echo_stacks(evidence)
        _echo_calibrations(evidence)


def _echo_stacks(evidence: "ClusterEvidence") -> None:
    """The software that the cluster ran, with how many points of it count."""
    counting = Counter(point.software_stack for point in evidence.points)
    aside = Counter(point.software_stack for point in evidence.set_aside)
    rows = [
        (name, counting[name], aside[name], s.torch, s.cuda, s.nccl, s.python, s.superseded_by)
        for name, s in evidence.stacks.items()
    ]
    if rows:
        echo("")
        echo_table(_STACKS, rows, numeric=(1, 2))


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
