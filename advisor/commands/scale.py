"""`advisor scale`: the same job on more ranks, with goodput, GPU-hours and money."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import (
    DURATION,
    FRACTION,
    Parsed,
    database_option,
    format_option,
    input_options,
)
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.cost import PRICE_EXAMPLE, Price, parse_price
from advisor.inputs import scenario_input
from advisor.printable import printable
from advisor.reports.scale_words import (
    SCALE_HEADER,
    assumed_lines,
    exclusion_lines,
    point_cells,
    rule_lines,
    verdict_lines,
)
from advisor.scale.growth import Scaling, StatedGrowth, StateLayout
from advisor.scale.world_sizes import parse_world_size, parse_world_sizes
from db.records import FailureScope

if TYPE_CHECKING:
    from advisor.recommendation import Excluded
    from advisor.scale.answer import Scale, ScalePoint
    from advisor.scenario import Scenario

FORMAT, VERSION = "failbench-advisor-scale", 1


@click.command(name="scale")
@input_options()
@click.option(
    "--world-size",
    type=Parsed("ranks", parse_world_size),
    help="Ranks that the scenario describes.  [default: as the architecture was measured]",
)
@click.option(
    "--to",
    "to",
    type=Parsed("ranks", parse_world_sizes),
    help="World sizes to answer for: 8,16,64, or 8..1024, which doubles.  [default: six doublings]",
)
@click.option(
    "--ranks-per-node",
    type=Parsed("ranks", parse_world_size),
    help="Ranks (GPUs) on a node.  [default: the cluster's]",
)
@click.option(
    "--mtbf-scope",
    type=click.Choice([each.value for each in FailureScope]),
    help="What the MTBF counts: failures of nodes, unexpected interruptions of the job, or all "
    "interruptions.  [default: node]",
)
@click.option(
    "--node-share",
    type=FRACTION,
    help="Share of these failures that are of nodes and come with more of them.  [default: 100%, "
    "of scope node]",
)
@click.option(
    "--scaling",
    type=click.Choice([each.value for each in Scaling]),
    help="weak: each rank keeps its batch; strong: the job does.  [default: weak]",
)
@click.option(
    "--communication", type=FRACTION, help="Share of a step that is the all-reduce.  [default: 0%]"
)
@click.option(
    "--fixed",
    type=FRACTION,
    help="Share of a step that does not shrink with a rank's batch (strong).  [default: 0%]",
)
@click.option(
    "--state-layout",
    type=click.Choice([each.value for each in StateLayout]),
    help="Whether every rank has the whole state or its part.  [default: as the architecture has]",
)
@click.option(
    "--regroup-per-rank",
    type=DURATION,
    help="What one more rank adds to regrouping.  [default: as calibrated, else 0s]",
)
@click.option(
    "--price",
    type=Parsed("price", parse_price),
    help=f"Of a GPU-hour, such as {PRICE_EXAMPLE}.",
)
@format_option(("table", "json", "csv"), "table")
@database_option
def command(
    world_size: int | None,
    to: tuple[int, ...] | None,
    ranks_per_node: int | None,
    mtbf_scope: str | None,
    node_share: float | None,
    scaling: str | None,
    communication: float | None,
    fixed: float | None,
    state_layout: str | None,
    regroup_per_rank: float | None,
    price: Price | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """The same job on more GPUs: time, goodput, GPU-hours and money, and who is recommended.

    The scenario describes the job on --world-size ranks, its MTBF included; how each of its inputs
    follows the number of ranks is a stated rule (docs/scale.md). One rank has one GPU.
    """
    from advisor.evidence import ask, opened
    from advisor.scale.answer import default_world_sizes, scale
    from advisor.scale.growth import growth_of

    with opened(db_url) as engine:
        question = ask(engine, scenario_input(options))
    stated = StatedGrowth(
        world_size=world_size,
        ranks_per_node=ranks_per_node,
        scope=None if mtbf_scope is None else FailureScope(mtbf_scope),
        node_share=node_share,
        scaling=None if scaling is None else Scaling(scaling),
        communication_share=communication,
        fixed_share=fixed,
        layout=None if state_layout is None else StateLayout(state_layout),
        regroup_per_rank_s=regroup_per_rank,
    )
    growth = growth_of(question.evidence, question.scenario, stated)
    found = scale(question.evidence, question.scenario, growth, to or default_world_sizes(growth))
    if fmt == "json":
        echo_json(as_json(question.scenario, found, price))
    elif fmt == "csv":
        rows = [_row(point, price) for point in found.points]
        echo_csv(tuple(rows[0]), (tuple(row.values()) for row in rows))
    else:
        _print(question.scenario, found, price)


def as_json(scenario: "Scenario", found: "Scale", price: Price | None) -> dict[str, Any]:
    """The document of scale-1.schema.json."""
    from advisor.reports.document import scenario_document

    growth = asdict(found.growth)
    growth["assumed"] = list(found.growth.assumed)
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(scenario),
        "growth": growth,
        "price": None if price is None else asdict(price),
        "points": [
            _row(point, price)
            | {
                "rules": [asdict(rule) for rule in point.rules],
                "excluded": [_plain(excluded) for excluded in point.excluded],
            }
            for point in found.points
        ],
        "changes": [asdict(change) for change in found.changes],
        "soonest_world_size": None if found.soonest is None else found.soonest.world_size,
        "cheapest_world_size": None if found.cheapest is None else found.cheapest.world_size,
        "no_gain_beyond": found.no_gain_beyond,
    }


def _plain(excluded: "Excluded") -> dict[str, Any]:
    return {
        "mechanism": excluded.mechanism,
        "reason": excluded.reason,
        "shown": dict(excluded.shown),
    }


def _row(point: "ScalePoint", price: Price | None) -> dict[str, Any]:
    """One world size in plain numbers; None where there is none."""
    selected = point.selected
    return {
        "world_size": point.world_size,
        "nodes": point.nodes,
        "mtbf_s": point.scenario.mtbf_s,
        "step_time_s": point.scenario.step_time_s,
        "duration_s": point.scenario.duration_s,
        "state_bytes": point.scenario.state_bytes,
        "regroup_s": point.scenario.regroup_s,
        "mechanism": point.mechanism,
        "evidence": None if selected is None else selected.evidence.value,
        "interval_steps": None if selected is None else selected.interval_steps,
        "expected_completion_s": point.expected_s,
        "exact_completion_s": point.exact_s,
        "is_flagged": point.is_flagged,
        "goodput": point.goodput,
        "gpu_hours": point.gpu_hours,
        "cost": point.cost(price),
    }


def _print(scenario: "Scenario", found: "Scale", price: Price | None) -> None:
    echo(printable(_title(scenario, found)))
    echo("")
    echo_table(
        SCALE_HEADER,
        [point_cells(point, price) for point in found.points],
        numeric=(0, 1, 2, 3, 4, 7, 8, 9, 10, 11),
    )
    for line in verdict_lines(found):
        echo(line)
    for heading, lines in _sections(found):
        echo("")
        echo(heading)
        for line in lines:
            echo(printable(f"  {line}"))


def _sections(found: "Scale") -> Iterator[tuple[str, list[str]]]:
    for heading, lines in (
        (f"Rules, at {found.points[-1].world_size:,} ranks", rule_lines(found.points[-1])),
        ("Not stated", assumed_lines(found)),
        ("Where nobody is recommended", exclusion_lines(found)),
    ):
        said = list(lines)
        if said:
            yield heading, said


def _title(scenario: "Scenario", found: "Scale") -> str:
    return (
        f"{scenario.architecture.upper()} on {scenario.cluster}, the job of "
        f"{found.growth.world_size:,} ranks on others; one rank has one GPU"
    )
