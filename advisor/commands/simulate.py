"""`advisor simulate`: the distribution of each candidate's completion time."""

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
from advisor.errors import UserError
from advisor.inputs import scenario_input
from advisor.units import format_duration, format_number

if TYPE_CHECKING:
    from advisor.recommendation import Candidate, Recommendation
    from advisor.simulation.candidate import SimulatedCandidates
    from advisor.simulation.run import Simulated

_HEADER = (
    "mechanism",
    "interval",
    "mean",
    "±",
    "P50",
    "P95",
    "P99",
    "exact",
    "Eq. (5)",
    "failures",
)
_CSV_HEADER = (
    *("mechanism", "interval_steps", "expected_completion_s", "exact_completion_s"),
    *("replications", "mean_s", "half_width_s", "is_narrow", "p50_s", "p95_s", "p99_s", "failures"),
    *("spent_work_s", "spent_saves_s", "spent_detection_s", "spent_waiting_s", "spent_recovery_s"),
    *("spent_emergency_s", "spent_lost_s"),
)


def _law(text: str) -> Any:
    from advisor.arrivals import parse_law

    return parse_law(text)


@click.command(name="simulate")
@input_options()
@click.option(
    "--arrivals",
    "law",
    type=Parsed("law", _law),
    default="poisson",
    help="How failures follow each other: poisson, or weibull:SHAPE, below 1 for bursts."
    "  [default: poisson]",
)
@click.option(
    "--burst-share",
    type=FRACTION,
    help="Share of the failures that draw others after them; --mtbf does not count these.",
)
@click.option("--burst-more", type=click.IntRange(1, 1000), help="How many others each draws.")
@click.option(
    "--burst-spacing", "spacing_s", type=DURATION, help="Mean time from one to the next of them."
)
@click.option(
    "--spares",
    type=click.IntRange(0, 1000),
    help="Nodes that wait to replace others; one that failed is a spare again after its repair."
    "  [default: as many as are needed]",
)
@click.option(
    "--repair", "repair_s", type=DURATION, help="Mean time to repair a node, with --spares."
)
@click.option(
    "--precision",
    type=FRACTION,
    default=1e-3,
    help="Jobs are added until the 95 % interval of the mean is so narrow, on either side."
    "  [default: 0.1%]",
)
@click.option(
    "--most",
    type=click.IntRange(2),
    default=100_000,
    show_default=True,
    help="Jobs to simulate at most, of each candidate.",
)
@click.option(
    "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of all that is random."
)
@format_option(("table", "json", "csv"), "table")
@database_option
def command(
    law: Any,
    burst_share: float | None,
    burst_more: int | None,
    spacing_s: float | None,
    spares: int | None,
    repair_s: float | None,
    precision: float,
    most: int,
    seed: int,
    fmt: str,
    db_url: str | None,
    **options: Any,
) -> None:
    """How late a job may end: mean and percentiles of each candidate's completion time.

    The candidates are those of `advisor recommend` with the same options. Failures may also strike
    recoveries and saves, need not be Poisson, may come in bursts, and may have to wait for a spare.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.simulation.candidate import Failures, simulate_candidates
    from advisor.simulation.process import Bursts, Spares
    from advisor.simulation.times import Exponential

    if (spares is None) != (repair_s is None):
        raise UserError("--spares and --repair belong together: give both or neither")
    if len({burst_share is None, burst_more is None, spacing_s is None}) > 1:
        raise UserError(
            "--burst-share, --burst-more and --burst-spacing belong together: give all or none"
        )
    if burst_share is not None and burst_share > 1.0:
        raise UserError("--burst-share is a share of the failures: at most 100%")
    inputs = scenario_input(options)
    with opened(db_url) as engine:
        recommendation = answer(ask(engine, inputs))
    if not recommendation.candidates:
        raise UserError("there is no candidate to simulate: advisor recommend says why")
    told = {
        "arrivals": law.in_words(),
        "burst_share_fraction": burst_share,
        "burst_more": burst_more,
        "burst_spacing_s": spacing_s,
        "spares": spares,
        "repair_s": repair_s,
        "precision_fraction": precision,
        "seed": seed,
    }
    bursts = None
    if burst_share is not None and burst_more is not None and spacing_s is not None:
        bursts = Bursts(burst_share, burst_more, Exponential(spacing_s))
    pool = None if spares is None or repair_s is None else Spares(spares, Exponential(repair_s))
    simulated = simulate_candidates(
        recommendation, Failures(law, bursts, pool), seed, narrow=precision, most=most
    )
    found = simulated.found
    if fmt == "json":
        echo_json(_document(recommendation, told, simulated))
    elif fmt == "csv":
        echo_csv(_CSV_HEADER, (_cells(_numbers(*each)) for each in found))
    else:
        echo_table(_HEADER, [_row(*each) for each in found], numeric=range(2, len(_HEADER)))
        for candidate, each in found:
            if not each.is_narrow:
                echo(f"{candidate.mechanism.upper()}: {each.replications:,} jobs are too few")
        for other in simulated.left_out:
            echo(f"{other.mechanism.upper()}: not simulated, {other.reason}")


def _row(candidate: "Candidate", found: "Simulated") -> tuple[str, ...]:
    from advisor.reports.words import steps

    exact_s = candidate.exact.completion_s if candidate.exact else None
    times_s = (found.mean_s, found.half_width_s, found.p50_s, found.p95_s, found.p99_s)
    interval = "–" if candidate.interval_steps is None else steps(candidate.interval_steps)
    return (
        candidate.mechanism.upper(),
        interval,
        *map(format_duration, times_s),
        format_duration(exact_s or 0.0),
        format_duration(candidate.expected_completion_s or 0.0),
        format_number(found.failures),
    )


def _numbers(candidate: "Candidate", found: "Simulated") -> dict[str, Any]:
    known = {
        "mechanism": candidate.mechanism,
        "interval_steps": candidate.interval_steps,
        "expected_completion_s": candidate.expected_completion_s,
        "exact_completion_s": candidate.exact.completion_s if candidate.exact else None,
    }
    return known | {name: value for name, value in asdict(found).items() if name != "seed"}


def _cells(numbers: dict[str, Any]) -> tuple[object, ...]:
    spent = {f"spent_{name}": value for name, value in numbers["spent"].items()}
    return tuple((numbers | spent)[name] for name in _CSV_HEADER)


def _document(
    recommendation: "Recommendation", told: dict[str, Any], simulated: "SimulatedCandidates"
) -> dict[str, Any]:
    from advisor.reports.document import scenario_document

    return {
        "scenario": scenario_document(recommendation.scenario),
        **told,
        "candidates": [_numbers(*each) for each in simulated.found],
        "not_simulated": [asdict(other) for other in simulated.left_out],
    }
