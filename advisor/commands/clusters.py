"""`advisor clusters`: what the database knows."""

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo_csv, echo_json, echo_table

_HEADER = ("cluster", "nodes", "ranks", "device", "architectures", "operating points")


@click.command(name="clusters")
@format_option(("table", "json", "csv"), "table")
@database_option
def command(fmt: str, db_url: str | None) -> None:
    """The clusters that the database knows, with what was measured on each."""
    from advisor.evidence import load_evidence, opened
    from db.queries import cluster_names
    from db.session import reading

    with opened(db_url) as engine:
        with reading(engine) as connection:
            names = cluster_names(connection)
        found = [load_evidence(engine, name) for name in names]
    rows = [
        (
            e.cluster.cluster,
            e.cluster.nodes,
            e.cluster.nodes * e.cluster.ranks_per_node,
            e.cluster.device,
            " ".join(sorted({p.architecture for p in e.points})),
            len(e.points),
        )
        for e in found
    ]
    if fmt == "json":
        keys = tuple(title.replace(" ", "_") for title in _HEADER)
        echo_json([dict(zip(keys, row, strict=True)) for row in rows])
    elif fmt == "csv":
        echo_csv(tuple(title.replace(" ", "_") for title in _HEADER), rows)
    else:
        echo_table(_HEADER, rows, numeric=(1, 2, 5))
