"""`advisor plan`: a mechanism, its interval, monitors and kept saves, against failures by class."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import (
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

if TYPE_CHECKING:
    from advisor.failure_classes.search import Plan, Plans
    from advisor.failure_classes.stated import Stated

FORMAT, VERSION = "failbench-advisor-plan", 1


def _class(text: str) -> Any:
    from advisor.failure_classes.stated import parse_class

    return parse_class(text)


def _monitor(text: str) -> Any:
    from advisor.failure_classes.stated import parse_monitor

    return parse_monitor(text)


@click.command(name="plan")
@input_options()
@click.option(
    "--class",
    "classes",
    multiple=True,
    metavar="CLASS=RATE[,KEY=VALUE...]",
    type=Parsed("class", _class),
    help="Failures beside the crashes of --mtbf: hang, coordinator-loss, straggler, divergence or "
    "silent-corruption, with the time between two or a rate, as in silent-corruption=30d or "
    "hang=0.1/day. Again for each class.",
)
@click.option(
    "--monitor",
    "monitors",
    multiple=True,
    metavar="NAME:KEY=VALUE[,...]",
    type=Parsed("monitor", _monitor),
    help="A monitor that a plan may have, with its figures: "
    "digest:interval=10,cost=12ms,miss=1%,false=0.1/day; without interval it is searched.",
)
@click.option(
    "--failures",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Classes and monitors in a TOML file, beside those of the options.",
)
@click.option(
    "--kept-up-to",
    "kept",
    type=click.IntRange(1, 1000),
    help="Saves that may be kept at once.  [default: 3]",
)
@click.option(
    "--max-wrong",
    type=FRACTION,
    help="Highest acceptable probability that the result is wrong.  [default: no limit]",
)
@format_option(("table", "json"), "table")
@database_option
def command(
    classes: tuple[Any, ...],
    monitors: tuple[Any, ...],
    file: Path | None,
    kept: int | None,
    max_wrong: float | None,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """Which mechanism, interval, monitors and kept saves, if failures are not only crashes.

    Hangs, stragglers, divergence and silent corruption have rates of their own, and are noticed, or
    not, by monitors that cost time and raise false alarms. The best plan is the one with the least
    expected time until a right result (docs/failure_classes.md). All of it is modelled: rates and
    the figures of monitors have to be stated.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.failure_classes.search import USUAL_KEPT, Limits, plan
    from advisor.failure_classes.stated import Stated, read_stated, together

    parts = [Stated(classes, monitors)] + ([] if file is None else [read_stated(file)])
    stated = together(parts)
    _require_watched(stated)
    if max_wrong is not None and max_wrong > 1.0:
        raise UserError("--max-wrong is a probability: at most 100%")
    with opened(db_url) as engine:
        question = ask(engine, scenario_input(options))
        recommendation = answer(question)
    limits = Limits(1.0 if max_wrong is None else max_wrong, kept or USUAL_KEPT)
    plans = plan(recommendation, stated, limits, question.evidence.cluster.ranks_per_node)
    if fmt == "json":
        echo_json(as_json(plans))
    else:
        _print(plans)


def as_json(plans: "Plans") -> dict[str, Any]:
    """The document of plan-1.schema.json."""
    from advisor.reports.document import scenario_document

    return {
        "format": FORMAT,
        "version": VERSION,
        "scenario": scenario_document(plans.scenario),
        "basis": "modelled",
        "classes": [
            {
                "class": each.kind.value,
                "every_s": each.every_s,
                "detection_s": each.detection_s,
                "recovery_s": each.recovery_s,
                "factor": each.factor,
                "length_s": each.length_s,
            }
            for each in plans.stated.classes
        ],
        "monitors": [
            {
                "monitor": each.name,
                "interval_steps": each.interval_steps,
                "cost_s": each.cost_s,
                "delay_s": each.delay_s,
                "misses": [
                    {"class": kind.value, "miss_fraction": share}
                    for kind, share in each.miss.items()
                ],
                "false_alarms_per_day": 86400.0 * each.false_per_s,
                "false_alarms_per_check": each.false_per_check,
            }
            for each in plans.stated.monitors
        ],
        "most_kept": plans.limits.kept,
        "max_wrong_probability": plans.limits.wrong if plans.limits.wrong < 1.0 else None,
        "choices": [_choice(plans, each) for each in plans.choices],
        "left_out": [
            {"mechanism": each.mechanism, "reason": each.reason} for each in plans.left_out
        ],
    }


def _choice(plans: "Plans", plan: "Plan") -> dict[str, Any]:
    from advisor.failure_classes.breakdown import breakdown

    found = breakdown(plans.scenario, plans.stated, plan)
    return _settings(plan) | {
        "evidence": plan.evidence.value,
        "is_superseded": plan.candidate.is_superseded,
        "begins_anew": plan.begins_anew,
        "goodput": plans.scenario.duration_s / plan.expected_completion_s,
        "overhead": plan.overhead,
        "first_order_s": found.total_s,
        "saves_s": found.saves_s,
        "by_class": [
            {
                "class": each.kind.value,
                "every_s": each.every_s,
                "expected_failures": each.expected,
                "noticed_fraction": each.noticed,
                "noticed_after_s": each.noticed_after_s,
                "recovery_s": each.recovery_s,
                "lost_s": each.lost_s,
                "cost_s": each.cost_s,
            }
            for each in found.classes
        ],
        "by_monitor": [
            {
                "monitor": each.name,
                "checks_s": each.checks_s,
                "false_alarms": each.false_alarms,
                "false_alarms_s": each.false_alarms_s,
            }
            for each in found.monitors
        ],
        "others": [_settings(other) for other in plans.others_of(plan)],
    }


def _settings(plan: "Plan") -> dict[str, Any]:
    return {
        "mechanism": plan.mechanism,
        "interval_steps": plan.interval_steps,
        "monitors": [
            {"monitor": each.name, "interval_steps": each.interval_steps} for each in plan.monitors
        ],
        "kept": plan.kept,
        "expected_completion_s": plan.expected_completion_s,
        "wrong_probability": plan.wrong_probability,
        "right_s": plan.right_s,
    }


def _require_watched(stated: "Stated") -> None:
    """Raises UserError for a monitor that none of the stated classes needs."""
    kinds = {each.kind for each in stated.classes}
    for monitor in stated.monitors:
        if not kinds & set(monitor.watches):
            watched = " or ".join(f"--class {each}=RATE" for each in monitor.watches)
            raise UserError(f"the monitor {monitor.name} has nothing to watch for: add {watched}")


def _print(plans: "Plans") -> None:
    from advisor.failure_classes.breakdown import breakdown
    from advisor.reports.plan_words import (
        CLASS_HEADER,
        MODELLED,
        PLAN_HEADER,
        breakdown_lines,
        caution_lines,
        class_cells,
        headline,
        plan_cells,
        reason_lines,
        stated_lines,
    )

    echo(printable(headline(plans)))
    echo(MODELLED)
    more: list[str] = []
    if plans.best is not None:
        echo("")
        rows = [plan_cells(each) for each in plans.choices]
        echo_table(PLAN_HEADER, rows, numeric=(1, 3, 4, 5, 6, 7))
        found = breakdown(plans.scenario, plans.stated, plans.best)
        echo("")
        echo(f"Failures under the plan with {plans.best.mechanism.upper()}")
        cells = [class_cells(each) for each in found.classes]
        echo_table(CLASS_HEADER, cells, numeric=range(1, len(CLASS_HEADER)))
        more = list(breakdown_lines(found))
    for heading, lines in (
        ("Over the whole job", more),
        ("Instead", reason_lines(plans)),
        ("Cautions", caution_lines(plans)),
        ("Stated", stated_lines(plans)),
        ("Left out", (f"{e.mechanism.upper()}: {e.reason}" for e in plans.left_out)),
    ):
        said = list(lines)
        if said:
            echo("")
            echo(heading)
            for line in said:
                echo(printable(f"  {line}"))
