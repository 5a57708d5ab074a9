"""`advisor coverage`: which tuples of architecture, mechanism and trace were observed."""

from typing import TYPE_CHECKING

import click

from advisor.commands.options import database_option, format_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.coverage import Coverage, CoveredPair, CoveredTuple

_LETTERS = {
    "observed": "o",
    "analytical": "a",
    "missing": "-",
    "infeasible": "S",
    "degenerate": "D",
}
_LEGEND = (
    "A letter for each of F1, F2, F3: o observed, a analytical (published, no run), - missing,\n"
    "S structurally infeasible, D degenerate."
)


@click.command(name="coverage")
@click.option("--cluster", metavar="NAME", help="Whose runs.  [default: all clusters together]")
@format_option(("table", "json"), "table")
@database_option
def command(cluster: str | None, fmt: str, db_url: str | None) -> None:
    """Which tuples of architecture, mechanism and trace were observed, and which were not.

    The paper's grid: seven architectures (A1 sync and async are one), nine mechanisms, F1 to F3. A
    tuple is observed if a valid run of it is in the database, or behind an operating point that
    came in a bundle.
    """
    from advisor.coverage import coverage
    from advisor.evidence import opened
    from db.session import reading

    with opened(db_url) as engine, reading(engine) as connection:
        found = coverage(connection, cluster)
    if fmt == "json":
        echo_json(found.as_json())
    else:
        _echo_table(found, cluster)


def _echo_table(found: "Coverage", cluster: str | None) -> None:
    from advisor.coverage import ARCHITECTURES, MECHANISMS

    counts = ", ".join(f"{count} {state}" for state, count in found.counts.items())
    where = "all clusters" if cluster is None else printable(cluster)
    echo(f"{counts} of {len(found.tuples)} tuples, on {where}")
    echo("")
    echo_table(
        ("", *(name.upper() for name in MECHANISMS)),
        [
            (name.upper(), *(_letters(found.of_pair(name, m)) for m in MECHANISMS))
            for name in ARCHITECTURES
        ],
    )
    echo("")
    echo(_LEGEND)
    for pair in found.pairs:
        if pair.status != "viable":
            echo(_pair_words(pair))


def _letters(tuples: "list[CoveredTuple]") -> str:
    return "".join(_LETTERS[each.state] for each in tuples)


def _pair_words(pair: "CoveredPair") -> str:
    names = f"{pair.architecture.upper()} with {pair.mechanism.upper()}"
    return printable(f"  {names}: {pair.status.value}: {pair.reason}")
