"""`advisor tune`: mechanisms in tiers, intervals, replicas, timeout and spares, all together."""

from dataclasses import asdict
from pathlib import Path
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
from advisor.commands.output import echo, echo_json, echo_table
from advisor.errors import UserError
from advisor.inputs import scenario_input
from advisor.printable import printable
from advisor.tuning.limits import MOST_NODES, MOST_REPLICAS, MOST_SPARES, MOST_TIERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from advisor.recommendation import Excluded
    from advisor.simulation.run import Simulated
    from advisor.tuning.search import Choice, Tuned
    from advisor.tuning.stated import Stated

FORMAT, VERSION = "failbench-advisor-tuning", 1
LARGEST_FILE_BYTES = 50_000_000
"""Of hiccups."""


def _kinds(text: str) -> Any:
    from advisor.simulation.kinds import parse_kinds

    return parse_kinds(text, all_too=True)


@click.command(name="tune")
@input_options()
@click.option(
    "--kinds",
    type=Parsed("shares", _kinds),
    help="How many nodes failures take at once, as shares: 0:90%,1:8%,all:2%.  [default: 0:100%]",
)
@click.option(
    "--hiccup-every",
    "hiccup_every_s",
    type=DURATION,
    help="Mean time between hiccups of a healthy job, of which a timeout makes false alarms.",
)
@click.option(
    "--hiccup-length", "hiccup_length_s", type=DURATION, help="Their mean length, exponential."
)
@click.option(
    "--hiccups",
    "hiccups_file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="A file with one observed hiccup a line, such as 1.3s, instead of the two.",
)
@click.option(
    "--hiccups-over",
    "hiccups_over_s",
    type=DURATION,
    help="The time of training in which the file's hiccups were seen.",
)
@click.option(
    "--silent",
    type=FRACTION,
    help="Share of the failures that only the timeout finds; the others take --detection."
    "  [default: 100%]",
)
@click.option("--repair", "repair_s", type=DURATION, help="Mean time to repair a node.")
@click.option(
    "--spares-up-to",
    "most_spares",
    type=click.IntRange(0, MOST_SPARES),
    help="Spare nodes to consider at most, with --repair.  [default: 8]",
)
@click.option(
    "--nodes",
    type=click.IntRange(1, MOST_NODES),
    help="Nodes that the job needs.  [default: the cluster's]",
)
@click.option(
    "--tiers-up-to",
    "most_tiers",
    type=click.IntRange(1, MOST_TIERS),
    default=2,
    show_default=True,
    help="Mechanisms with intervals in one answer, beside an emergency save.",
)
@click.option(
    "--replicas-up-to",
    "most_replicas",
    type=click.IntRange(1, MOST_REPLICAS),
    help="Peers that hold a copy, at most.  [default: as many as --kinds calls for]",
)
@click.option(
    "--objective",
    type=click.Choice(["time", "node-hours"]),
    default="time",
    show_default=True,
    help="What is to be least; spares count as node-hours.",
)
@click.option(
    "--show",
    type=click.IntRange(1, 1000),
    default=8,
    show_default=True,
    help="Answers to list, the best first; each is simulated.",
)
@click.option(
    "--precision",
    type=FRACTION,
    default=2e-3,
    help="Half width of the simulated mean's 95 % interval, as a share of it.  [default: 0.2%]",
)
@click.option(
    "--most",
    type=click.IntRange(0),
    default=20_000,
    show_default=True,
    help="Jobs to simulate at most, of each answer; 0 simulates none.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the simulation."
)
@format_option(("table", "json"), "table")
@database_option
def command(
    show: int,
    precision: float,
    most: int,
    seed: int,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """Which mechanisms together, at which intervals, with which timeout and how many spares.

    Searches all at once: combinations of mechanisms for failures of several sizes, the interval of
    each, the number of peers, the detection timeout with its false alarms, and spares
    (docs/tuning.md). What is not stated is not searched.
    """
    from advisor.evidence import ask, opened
    from advisor.tuning.search import tune
    from advisor.tuning.stated import circumstances_of

    if options["interval"] is not None:
        raise UserError("--interval: intervals are searched here; advisor recommend takes one")
    if precision <= 0.0:
        raise UserError("the precision has to be above 0%")
    with opened(db_url) as engine:
        question = ask(engine, scenario_input(options))
    circumstances = circumstances_of(_stated(options), question.evidence.cluster.nodes)
    tuned = tune(question.evidence, question.scenario, circumstances)
    shown = tuned.choices[:show]
    found = [_simulated(tuned, each, seed, precision, most) for each in shown]
    if fmt == "json":
        echo_json(as_json(tuned, found, {"precision_fraction": precision, "seed": seed}))
    else:
        _print(tuned, found)


def as_json(
    tuned: "Tuned", found: "list[Simulated | None]", told: dict[str, Any]
) -> dict[str, Any]:
    """The document of tuning-1.schema.json; `found` are simulations of the first choices."""
    from advisor.reports.document import scenario_document

    circumstances = tuned.circumstances
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(tuned.scenario),
        "circumstances": {
            "nodes": circumstances.nodes,
            "kinds": [
                {"nodes": kind.nodes, "share_fraction": kind.share} for kind in circumstances.losses
            ],
            "hiccups": None if circumstances.hiccups is None else circumstances.hiccups.in_words(),
            "silent_fraction": None if circumstances.hiccups is None else circumstances.silent,
            "repair_s": circumstances.repair_s,
            "most_spares": None if circumstances.repair_s is None else circumstances.most_spares,
            "most_tiers": circumstances.most_tiers,
            "most_replicas": circumstances.most_replicas,
            "objective": circumstances.objective.value,
        },
        **told,
        "choices": [
            _choice(tuned, choice, simulated)
            for choice, simulated in zip(tuned.choices, found, strict=False)
        ],
        "goes_on": list(tuned.tiers.goes_on),
        "cautions": _reasons(tuned.tiers.cautions),
        "warnings": list(tuned.tiers.warnings),
        "left_out": _reasons((*tuned.tiers.excluded, *tuned.left_out)),
    }


def _reasons(excluded: "Iterable[Excluded]") -> list[dict[str, str]]:
    return [{"mechanism": each.mechanism, "reason": each.reason} for each in excluded]


def _choice(tuned: "Tuned", choice: "Choice", found: "Simulated | None") -> dict[str, Any]:
    from advisor.reports.tune_words import is_flagged

    emergency = choice.combination.emergency
    return {
        "settings": [asdict(each) for each in choice.settings],
        "emergency_mechanism": None if emergency is None else emergency.part.mechanism,
        "timeout_s": choice.timeout_s,
        "flat_timeouts_s": choice.flat_timeouts_s,
        "spares": choice.spares,
        "expected_completion_s": choice.expected_completion_s,
        "goodput": tuned.scenario.duration_s / choice.expected_completion_s,
        "overhead": choice.overhead,
        "false_alarms_per_day": choice.false_alarms_per_day,
        "waiting_fraction": choice.waiting_fraction,
        "restarts_per_day": choice.restarts_per_day,
        "node_hours": choice.node_hours,
        "host_bytes_per_rank": choice.host_bytes_per_rank,
        "evidence": choice.evidence.value,
        "is_superseded": choice.is_superseded,
        "at_stated_detection_s": choice.at_stated_s,
        "timeouts": [asdict(each) for each in choice.timeouts],
        "by_spares": [asdict(each) for each in choice.by_spares],
        "simulated": None if found is None else asdict(found),
        "is_flagged": None if found is None else is_flagged(choice, found),
    }


def _stated(options: dict[str, Any]) -> "Stated":
    from advisor.durations_file import text_of
    from advisor.small_file import read_small
    from advisor.tuning.circumstances import Objective
    from advisor.tuning.hiccups import parse_hiccups
    from advisor.tuning.stated import Stated

    file = options["hiccups_file"]

    def parse(content: bytes) -> tuple[float, ...]:
        return parse_hiccups(text_of(content, LARGEST_FILE_BYTES))

    observed = file and read_small(file, LARGEST_FILE_BYTES, parse)
    return Stated(
        kinds=options["kinds"],
        hiccup_every_s=options["hiccup_every_s"],
        hiccup_length_s=options["hiccup_length_s"],
        hiccups_s=observed,
        hiccups_over_s=options["hiccups_over_s"],
        silent=options["silent"],
        repair_s=options["repair_s"],
        most_spares=options["most_spares"],
        nodes=options["nodes"],
        most_tiers=options["most_tiers"],
        most_replicas=options["most_replicas"],
        objective=Objective(options["objective"]),
    )


def _simulated(
    tuned: "Tuned", choice: "Choice", seed: int, precision: float, most: int
) -> "Simulated | None":
    from advisor.tuning.simulated import simulated

    if most < 2:
        return None
    scenario, told = tuned.scenario, tuned.circumstances
    return simulated(scenario, told, choice, seed, narrow=precision, most=most)


def _print(tuned: "Tuned", found: "list[Simulated | None]") -> None:
    from advisor.reports.tune_words import (
        TUNE_HEADER,
        caution_lines,
        choice_cells,
        circumstance_lines,
        headline,
        left_out_lines,
        setting_lines,
        worth_lines,
    )

    echo(printable(headline(tuned)))
    for line in worth_lines(tuned):
        echo(printable(line))
    if tuned.choices:
        echo("")
        rows = [choice_cells(tuned, c, s) for c, s in zip(tuned.choices, found, strict=False)]
        echo_table(TUNE_HEADER, rows, numeric=range(2, 11))
        if any("*" in cell for row in rows for cell in row):
            echo(
                "*: the formula is more than 1 % off the simulated mean, in which failures strike "
                "recoveries and saves too."
            )
    for heading, lines in (
        ("Settings", () if tuned.best is None else setting_lines(tuned.best)),
        ("Cautions", caution_lines(tuned)),
        ("Stated", circumstance_lines(tuned.circumstances)),
        ("Left out", left_out_lines(tuned)),
    ):
        said = list(lines)
        if said:
            echo("")
            echo(heading)
            for line in said:
                echo(printable(f"  {line}"))
