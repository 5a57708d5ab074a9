"""`advisor validate`: runs a scenario's candidates live, and compares with what was predicted."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import Parsed, database_option, format_option, kept_name
from advisor.commands.output import echo, echo_json, echo_table
from advisor.commands.records_folder import folder_option, records_folder
from advisor.errors import AdvisorError
from advisor.printable import printable

if TYPE_CHECKING:
    from advisor.validated import Repeated, Validated
    from advisor.validation_run import Asked, Wanted


FORMAT = "failbench-advisor-validations"
VERSION = 1


def _law(text: str) -> Any:
    from advisor.arrivals import parse_law

    return parse_law(text)


@click.command(name="validate")
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=kept_name,
    help="A scenario, in TOML or JSON: options of `advisor recommend`; several. Without one, what"
    " was validated before is shown.",
)
@click.option("--cluster", metavar="NAME", help="What this machine is.  [default: the scenario's]")
@click.option(
    "--arrivals",
    "law",
    type=Parsed("law", _law),
    default="poisson",
    show_default=True,
    help="How failures follow each other: poisson, or weibull:SHAPE.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**31),
    default=0,
    metavar="N",
    show_default=True,
    help="Of the failures and of the order of the runs.",
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 1000),
    default=1,
    metavar="N",
    show_default=True,
    help="Try all scenarios so often, with the seeds that follow --seed; judged by the means.",
)
@click.option("--every", is_flag=True, help="Run every candidate, not just the first two.")
@click.option(
    "--profile", help="How large a run is: smoke, cpu or paper.  [default: as it was measured]"
)
@click.option(
    "--world-size",
    type=click.IntRange(2, 512),
    metavar="N",
    help="Ranks.  [default: as it was measured]",
)
@click.option("--device", help="auto, cpu or cuda.  [default: auto]")
@click.option(
    "--check", is_flag=True, help="Exit code 1 where predictions or picks are off by too much."
)
@folder_option("Where records go.")
@format_option(("table", "json"), "table")
@database_option
def command(
    scenarios: tuple[Path, ...],
    cluster: str | None,
    law: Any,
    seed: int,
    repeats: int,
    every: bool,
    profile: str | None,
    world_size: int | None,
    device: str | None,
    check: bool,
    folder: Path | None,
    fmt: str,
    db_url: str | None,
) -> None:
    """Is the advice right? Runs what is recommended, the runner-up and no mechanism at all, live.

    All under the same failures, drawn at the scenario's MTBF from a seed. The step time is measured
    before each run that is predicted, and the prediction stored before it begins.
    It measures this machine, so the cluster has to be the one that this machine is.
    """
    from advisor.scenario_file import read_scenario_file
    from advisor.validation_run import Asked, Wanted

    records = records_folder(folder)
    told = click.get_current_context().params
    line = _command_line(scenarios, law, every, told)
    wanted = Wanted(law, seed, every, records, line, profile, world_size, device)
    asked = [Asked(_name(path), read_scenario_file(path)) for path in scenarios]
    if cluster is not None:
        asked = [replace(each, inputs=replace(each.inputs, cluster=cluster)) for each in asked]
    found: list[Validated] = []
    try:
        if asked:
            _validate(asked, wanted, repeats, db_url, found)
        else:
            found += _stored(cluster, db_url)
    except BaseException:
        # Whatever this one ran into, what the ones before it showed is told.
        if found:
            _report(found, fmt)
        raise
    wrong = _report(found, fmt)
    if check and wrong:
        raise AdvisorError(f"{len(wrong)} shortcomings, the first: {wrong[0]}")


def _validate(
    asked: "Sequence[Asked]",
    wanted: "Wanted",
    repeats: int,
    db_url: str | None,
    into: "list[Validated]",
) -> None:
    """One scenario after the other, then all of them again: what changes slowly on the machine then
    meets all of them. Each is looked at before the first one runs."""
    from functools import partial
    from itertools import product

    from advisor.commands.measure import measure
    from advisor.evidence import opened
    from advisor.validated import validated
    from advisor.validation_run import prepared, validate
    from db.urls import database_url

    with opened(db_url) as engine:
        jobs = [prepared(each, wanted, engine) for each in asked]
    for number, job in product(range(repeats), jobs):
        runs = validate(
            replace(job, wanted=replace(wanted, seed=wanted.seed + number)),
            partial(opened, db_url),
            partial(measure, database_url(db_url), is_check=True),
            lambda line: click.echo(printable(line), err=True),
        )
        into += validated(runs)


def _stored(cluster: str | None, db_url: str | None) -> "list[Validated]":
    from advisor.evidence import load_evidence, opened
    from advisor.validated import validated

    with opened(db_url) as engine:
        return validated(load_evidence(engine, cluster).validations)


def _report(found: "list[Validated]", fmt: str) -> list[str]:
    """Prints what is known; returns what is worse than promised."""
    from advisor.validated import repeated, shortcomings

    scenarios = repeated(found)
    wrong = shortcomings(scenarios)
    if fmt == "json":
        echo_json(as_json(scenarios, wrong))
    elif not found:
        echo("No scenario was tried live on this cluster. --scenario FILE does.")
    else:
        echo_validations(found, scenarios)
        for line in wrong:
            echo(printable(line))
    return wrong


def _name(path: Path) -> str:
    """The file's name without its ending, as it can be stored and shown."""
    return printable(path.stem).strip()[:80] or "scenario"


def _command_line(scenarios: Sequence[Path], law: Any, every: bool, told: dict[str, Any]) -> str:
    words = [f"--scenario={path}" for path in scenarios]
    words += [f"--arrivals={law.in_words()}", f"--seed={told['seed']}"]
    words += [f"--repeats={told['repeats']}"] if told["repeats"] > 1 else []
    words += ["--every"] if every else []
    for name in ("cluster", "profile", "world_size", "device"):
        if told[name] is not None:
            words.append(f"--{name.replace('_', '-')}={told[name]}")
    return f"advisor validate {shlex.join(words)}"


def echo_validations(found: "Sequence[Validated]", scenarios: "Sequence[Repeated]") -> None:
    """A row for each run, the means of scenarios that were tried several times, and regrets."""
    from advisor.reports import validation_words as words

    echo_table(words.HEADER, words.rows(found), numeric=words.NUMERIC)
    echo(words.LEGEND)
    several = [each for each in scenarios if len(each.validations) > 1]
    if several:
        echo_table(words.MEANS_HEADER, words.mean_rows(several), numeric=words.MEANS_NUMERIC)
        echo(words.MEANS_LEGEND)
    for line in words.regret_lines(scenarios):
        echo(line)


def as_json(found: "Sequence[Repeated]", wrong: Sequence[str]) -> dict[str, Any]:
    """The contract of docs/json.md; its schema is `validations-1.schema.json`."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "scenarios": [_scenario_json(each) for each in found],
        "shortcomings": list(wrong),
    }


def _scenario_json(scenario: "Repeated") -> dict[str, Any]:
    first = scenario.validations[0].first
    return {
        "name": scenario.name,
        "architecture": first.architecture,
        "mtbf_s": first.mtbf_s,
        "arrivals": str(first.arrivals),
        "shape": first.shape,
        "regret_fraction": scenario.regret_fraction,
        "soonest": None if scenario.best is None else scenario.best.mechanism,
        "means": [
            {
                "mechanism": run.mechanism,
                "n": run.n,
                "predicted_s": run.predicted_s,
                "observed_s": run.observed_s,
                "error_fraction": run.error_fraction,
                "failures_expected": run.failures_expected,
                "failures": run.failures,
            }
            for run in scenario.runs
        ],
        "validations": [_validation_json(each) for each in scenario.validations],
    }


def _validation_json(found: "Validated") -> dict[str, Any]:
    return {
        "validation": found.first.validation,
        "seed": found.first.seed,
        "step_time_s": found.first.planned_step_time_s,
        "steps": found.first.steps,
        "runs": [
            {
                "mechanism": run.mechanism,
                "role": str(run.role),
                "interval_steps": run.interval_steps,
                "step_time_s": run.step_time_s,
                "run_id": run.run_id,
                "predicted_s": run.predicted_s,
                "observed_s": run.observed_s,
                "error_fraction": run.error_fraction,
                "failures_expected": run.failures_expected,
                "failures": run.failures,
                "outcome": run.outcome,
            }
            for run in found.runs
        ],
    }
