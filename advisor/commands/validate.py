"""`advisor validate`: runs a scenario's candidates live, and compares with what was predicted."""

import shlex
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from advisor.commands.options import Parsed, database_option, format_option
from advisor.commands.output import echo, echo_json, echo_table
from advisor.errors import AdvisorError

if TYPE_CHECKING:
    from advisor.validation import Validated


def _law(text: str) -> Any:
    from advisor.arrivals import parse_law

    return parse_law(text)


@click.command(name="validate")
@click.option(
    "--scenario",
    "scenarios",
    multiple=True,
    required=True,
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="A scenario, in TOML or JSON: the options of `advisor recommend`; several.",
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
@click.option("--every", is_flag=True, help="Run every candidate, not just the first two.")
@click.option("--profile", help="How large a run is: smoke, cpu or paper.  [default: cpu]")
@click.option("--world-size", type=int, metavar="N", help="Ranks.  [default: as it was measured]")
@click.option("--device", help="auto, cpu or cuda.  [default: auto]")
@click.option(
    "--check", is_flag=True, help="Exit code 1 where predictions or picks are off by too much."
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    help="Where records go.  [default: runs, beside your own database]",
)
@format_option(("table", "json"), "table")
@database_option
def command(
    scenarios: tuple[Path, ...],
    cluster: str | None,
    law: Any,
    seed: int,
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
    just before, unless the scenario states one; predictions are stored before their runs begin.
    It measures this machine, so the cluster has to be the one that this machine is.
    """
    from functools import partial

    from advisor.commands.measure import measure
    from advisor.evidence import opened
    from advisor.scenario_file import read_scenario_file
    from advisor.validation import shortcomings, validated
    from advisor.validation_run import Asked, Wanted, check_asked, validate
    from db.urls import database_url, default_path

    context = click.get_current_context()
    records = (folder or default_path().parent / "runs").absolute()
    wanted = Wanted(
        law, seed, every, records, _command_line(scenarios, law, seed, every, context.params),
        profile, world_size, device,
    )  # fmt: skip
    asked = [Asked(path.stem, read_scenario_file(path)) for path in scenarios]
    if cluster is not None:
        asked = [replace(each, inputs=replace(each.inputs, cluster=cluster)) for each in asked]
    with opened(db_url) as engine:
        for each in asked:
            check_asked(each, wanted, engine)
    found = []
    for each in asked:
        runs = validate(
            each,
            wanted,
            partial(opened, db_url),
            partial(measure, database_url(db_url), is_check=True),
            lambda line: click.echo(line, err=True),
        )
        found += validated(runs)
    wrong = shortcomings(found)
    if fmt == "json":
        echo_json(as_json(found, wrong))
    else:
        echo_validations(found)
        for line in wrong:
            echo(line)
    if check and wrong:
        raise AdvisorError(f"{len(wrong)} shortcomings, the first: {wrong[0]}")


def _command_line(
    scenarios: Sequence[Path], law: Any, seed: int, every: bool, told: dict[str, Any]
) -> str:
    words = [f"--scenario={path}" for path in scenarios]
    words += [f"--arrivals={law.in_words()}", f"--seed={seed}"]
    words += ["--every"] if every else []
    for name in ("cluster", "profile", "world_size", "device"):
        if told[name] is not None:
            words.append(f"--{name.replace('_', '-')}={told[name]}")
    return f"advisor validate {shlex.join(words)}"


def echo_validations(found: "Sequence[Validated]") -> None:
    """A row for each run, and the regret of each pick."""
    from advisor.reports import validation_words as words

    echo_table(words.HEADER, words.rows(found), numeric=words.NUMERIC)
    echo(words.LEGEND)
    for line in words.regret_lines(found):
        echo(line)


def as_json(found: "Sequence[Validated]", wrong: Sequence[str]) -> dict[str, Any]:
    """The contract of `advisor validate --format json`."""
    return {
        "validations": [
            {
                "validation": each.first.validation,
                "name": each.first.name,
                "architecture": each.first.architecture,
                "mtbf_s": each.first.mtbf_s,
                "arrivals": str(each.first.arrivals),
                "shape": each.first.shape,
                "seed": each.first.seed,
                "step_time_s": each.first.step_time_s,
                "steps": each.first.steps,
                "regret_fraction": each.regret_fraction,
                "soonest": None if each.best is None else each.best.mechanism,
                "runs": [
                    {
                        "mechanism": run.mechanism,
                        "role": str(run.role),
                        "interval_steps": run.interval_steps,
                        "run_id": run.run_id,
                        "predicted_s": run.predicted_s,
                        "observed_s": run.observed_s,
                        "error_fraction": run.error_fraction,
                        "failures_expected": run.failures_expected,
                        "failures": run.failures,
                        "outcome": run.outcome,
                    }
                    for run in each.runs
                ],
            }
            for each in found
        ],
        "shortcomings": list(wrong),
    }
