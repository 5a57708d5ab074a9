"""`advisor clusters recommend`: one scenario, answered from each cluster's own measurements."""

from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import database_option, format_option, input_options
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.inputs import scenario_input
from advisor.printable import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Engine

    from advisor.comparison.same_scenario import ClusterAnswer, Recommend
    from db.excerpt import Near
    from db.records import ClusterEvidence

_NUMERIC = (2, 3, 4, 5, 7, 8, 10, 11)
_NOT_IN_CSV = ("warnings", "scenario", "assumed")


@click.command()
@input_options(
    cluster={
        "metavar": "NAMES",
        "help": "Of which clusters, as in a,b.  [default: every one]",
    }
)
@click.option(
    "--no-uncertainty",
    is_flag=True,
    help="Do not say how sure each answer is (the probability that the pick is the best): faster.",
)
@format_option(("table", "json", "csv"), "table")
@database_option
def recommend(
    no_uncertainty: bool, fmt: str, db_url: str | None, cluster: str | None, **options: Any
) -> None:
    """The answer to one scenario on each cluster, a row each.

    What the scenario does not state (step time, state size, detection, rates, memory) comes from
    each cluster. A cluster that has no answer says why.
    """
    from advisor.comparison.same_scenario import answers
    from advisor.evidence import near_to, opened

    inputs = scenario_input(options)
    with opened(db_url) as engine:
        evidences = _evidences(engine, cluster, near_to(inputs))
    found = answers(evidences, inputs, _recommending(not no_uncertainty))
    if fmt == "table":
        _echo_table(found)
        return
    from advisor.reports.comparison_document import answer_document, answers_document

    if fmt == "json":
        echo_json(answers_document(found))
        return
    rows = [answer_document(answer) for answer in found]
    header = tuple(name for name in rows[0] if name not in _NOT_IN_CSV)
    echo_csv(header, [[row[name] for name in header] for row in rows])


def _evidences(engine: "Engine", cluster: str | None, near: "Near") -> "list[ClusterEvidence]":
    """Of the clusters named, in their order; of all, in order of name, without any."""
    from advisor.errors import UserError
    from advisor.evidence import every_evidence, load_evidence

    if cluster is None:
        found = every_evidence(engine, near)
        if not found:
            raise UserError("the database holds no cluster yet: run `advisor db load` first")
        return found
    names = tuple(dict.fromkeys(name.strip() for name in cluster.split(",") if name.strip()))
    if not names:
        raise UserError("no cluster is named: write names separated by commas")
    return [load_evidence(engine, name, near) for name in names]


def _recommending(uncertainty: bool) -> "Recommend":
    from advisor.evidence import Question, answer

    def plain(evidence: "ClusterEvidence", scenario: Any) -> Any:
        return answer(Question(evidence, scenario))

    def how_sure(evidence: "ClusterEvidence", scenario: Any) -> Any:
        # Imported here: draws need scipy, which an answer without them does not wait for.
        from advisor.uncertainty.answer import with_uncertainty

        return with_uncertainty(evidence, plain(evidence, scenario))

    return how_sure if uncertainty else plain


def _echo_table(found: "Sequence[ClusterAnswer]") -> None:
    from advisor.reports.comparison_words import ANSWER_HEADER, answer_cells, answer_lines

    echo_table(ANSWER_HEADER, map(answer_cells, found), numeric=_NUMERIC)
    for line in answer_lines(found):
        echo(printable(line))
