"""`advisor simulate`: the distribution of each candidate's completion time."""

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
from advisor.commands.output import echo, echo_csv, echo_json, echo_table
from advisor.errors import UserError
from advisor.inputs import scenario_input
from advisor.printable import printable
from advisor.scenario import ScenarioInput
from advisor.units import format_duration

if TYPE_CHECKING:
    from advisor.simulation.laws import GapLaw

_FILE = "file:"
_WIDEST_SPREAD = 3.0
"""Of leads: beyond it most of them are a small part of their mean."""


def _law(text: str) -> Any:
    from advisor.gaps_file import read_gaps
    from advisor.simulation.laws import ObservedLaw, parse_gap_law

    stripped = text.strip()
    if not stripped.lower().startswith(_FILE):
        return parse_gap_law(text)
    path = stripped[len(_FILE) :].strip()
    if not path:
        raise UserError("which file? Write file:PATH, one with a duration on each line")
    return ObservedLaw(path, read_gaps(Path(path)))


def _kinds(text: str) -> Any:
    from advisor.simulation.kinds import parse_kinds

    return parse_kinds(text)


def _tiers(text: str) -> Any:
    from advisor.simulation.composed import parse_tiers

    return parse_tiers(text)


@click.command(name="simulate")
@input_options()
@click.option(
    "--arrivals",
    "law",
    type=Parsed("law", _law),
    default="poisson",
    help="How failures follow each other: poisson; weibull:SHAPE, below 1 for bursts; "
    "lognormal:SIGMA; or file:PATH, gaps that were observed, one duration a line, scaled to "
    "--mtbf.  [default: poisson]",
)
@click.option(
    "--kinds",
    type=Parsed("shares", _kinds),
    help="How many nodes failures take at once, as in 0:90%,1:8%,2:2%.  "
    "[default: as many as each mechanism survives]",
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
    "--lead-spread",
    type=FRACTION,
    help="How far leads scatter: their standard deviation as a share of --warning-lead, which is "
    "their mean.  [default: 0%]",
)
@click.option(
    "--false-alarms",
    "false_alarms_s",
    type=DURATION,
    help="Mean time between two warnings that no failure follows.  [default: none comes]",
)
@click.option(
    "--tiers",
    "stacks",
    metavar="NAME+NAME[,...]",
    type=Parsed("text", _tiers),
    help="Also candidates that work together, the most frequent first, as in ft2+ft1, or with "
    "intervals in steps as in ft2:100+ft1:1000.",
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
    kinds: Any,
    burst_share: float | None,
    burst_more: int | None,
    spacing_s: float | None,
    lead_spread: float | None,
    false_alarms_s: float | None,
    stacks: Any,
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

    The candidates are those of `advisor recommend` with the same options, and what saves on a
    warning even if not every failure is announced in time. Failures may also strike recoveries and
    saves, need not be Poisson, may take several nodes, may come in bursts, and may have to wait for
    a spare.
    """
    from advisor.evidence import answer, ask, opened
    from advisor.reports import simulation_document as report
    from advisor.simulation.process import Bursts, Kind, Spares
    from advisor.simulation.setups import Beyond, Failures, setups_of, simulate_setups
    from advisor.simulation.times import Exponential

    inputs = scenario_input(options)
    _require_together(spares, repair_s, burst_share, burst_more, spacing_s)
    _require_warned(inputs, lead_spread, false_alarms_s)
    if not precision > 0.0:
        raise UserError("--precision is a share of the mean above 0%, such as 0.1%")
    with opened(db_url) as engine:
        question = ask(engine, inputs)
        recommendation = answer(question)
    bursts = None
    if burst_share is not None and burst_more is not None and spacing_s is not None:
        bursts = Bursts(burst_share, burst_more, Exponential(spacing_s))
    pool = None if spares is None or repair_s is None else Spares(spares, Exponential(repair_s))
    setups = setups_of(
        question.evidence,
        recommendation,
        Failures(law, bursts, pool),
        Beyond(kinds or (Kind(),), lead_spread or 0.0, false_alarms_s),
        stacks or (),
    )
    if not setups.found and not setups.left_out:
        raise UserError("there is no candidate to simulate: advisor recommend says why")
    simulated = simulate_setups(setups, seed, narrow=precision, most=most)
    unused = None
    if (lead_spread or false_alarms_s) and not any(s.process.warnings for s in setups.found):
        unused = "nothing here saves on a warning: --lead-spread and --false-alarms change nothing"
    if fmt != "table" and unused is not None:
        click.echo(unused, err=True)
    if fmt == "csv":
        echo_csv(report.CSV_HEADER, report.csv_rows(simulated))
        for line in report.left_out_lines(simulated):
            click.echo(printable(line), err=True)
        return
    if fmt == "json":
        told = {
            **_told_arrivals(law),
            "kinds": kinds and [{"nodes": k.nodes, "share_fraction": k.share} for k in kinds],
            "burst_share_fraction": burst_share,
            "burst_more": burst_more,
            "burst_spacing_s": spacing_s,
            "lead_spread_fraction": lead_spread,
            "false_alarms_s": false_alarms_s,
            "spares": spares,
            "repair_s": repair_s,
            "precision_fraction": precision,
            "most": most,
            "seed": seed,
        }
        echo_json(report.to_document(recommendation.scenario, told, simulated))
        return
    rows = [report.row(*each) for each in simulated.found]
    echo_table(report.HEADER, rows, numeric=range(2, len(report.HEADER)))
    for line in (*_arrivals_words(law, recommendation.scenario.mtbf_s), *report.remarks(simulated)):
        echo(printable(line))
    if unused is not None:
        echo(unused)


def _require_together(
    spares: int | None,
    repair_s: float | None,
    burst_share: float | None,
    burst_more: int | None,
    spacing_s: float | None,
) -> None:
    """Raises UserError where an option lacks what it needs."""
    if (spares is None) != (repair_s is None):
        raise UserError("--spares and --repair belong together: give both or neither")
    if len({burst_share is None, burst_more is None, spacing_s is None}) > 1:
        raise UserError(
            "--burst-share, --burst-more and --burst-spacing belong together: give all or none"
        )
    if burst_share is not None and burst_share > 1.0:
        raise UserError("--burst-share is a share of the failures: at most 100%")


def _require_warned(
    inputs: ScenarioInput, lead_spread: float | None, false_alarms_s: float | None
) -> None:
    """Raises UserError where warnings are described that do not come, or cannot."""
    asked = [
        name
        for name, value in (("--lead-spread", lead_spread), ("--false-alarms", false_alarms_s))
        if value is not None
    ]
    if asked and not inputs.warning_lead_s:
        raise UserError(
            f"no warning comes: {' and '.join(asked)} go with a --warning-lead above 0s"
        )
    if lead_spread is not None and lead_spread > _WIDEST_SPREAD:
        raise UserError(f"--lead-spread is a share of the lead: at most {_WIDEST_SPREAD:.0%}")
    if false_alarms_s == 0.0:
        raise UserError("--false-alarms is the mean time between two: above 0s, such as 12h")


def _told_arrivals(law: "GapLaw") -> dict[str, Any]:
    from advisor.simulation.laws import ObservedLaw

    observed = law if isinstance(law, ObservedLaw) else None
    return {
        "arrivals": law.in_words(),
        "observed_gaps": len(observed.gaps_s) if observed else None,
        "observed_mean_s": observed.mean_s if observed else None,
    }


def _arrivals_words(law: "GapLaw", mtbf_s: float) -> list[str]:
    """What became of observed gaps; nothing of other laws."""
    from advisor.simulation.laws import ObservedLaw

    if not isinstance(law, ObservedLaw):
        return []
    return [
        f"{law.name}: {len(law.gaps_s):,} gaps of {format_duration(law.mean_s)} in the mean, "
        f"scaled to the MTBF of {format_duration(mtbf_s)}"
    ]
