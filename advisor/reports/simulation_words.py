"""What a simulation of an answer's candidates says, in sentences and table rows."""

import shlex
from collections.abc import Iterator

from advisor.arrivals import Law
from advisor.inputs import written
from advisor.recommendation import Candidate
from advisor.reports.words import steps
from advisor.scenario import Scenario
from advisor.simulation.candidate import SimulatedCandidates
from advisor.simulation.run import Simulated
from advisor.units import format_duration, format_number, format_percent
from db.records import Arrivals

HEADER = ("mechanism", "interval", "P50", "P95", "P99", "mean", "±", "failures", "jobs")
_ABSENT = "–"


def row(candidate: Candidate, found: Simulated) -> tuple[str, ...]:
    """One candidate under `HEADER`."""
    times_s = (found.p50_s, found.p95_s, found.p99_s, found.mean_s, found.half_width_s)
    return (
        candidate.mechanism.upper(),
        _ABSENT if candidate.interval_steps is None else steps(candidate.interval_steps),
        *map(format_duration, times_s),
        format_number(found.failures),
        f"{found.replications:,}",
    )


def basis_line(law: Law, seed: int) -> str:
    """What the numbers are, and what they rest on."""
    return (
        f"Simulated, not measured: arrivals {_law_words(law)}, seed {seed}. P95 is the time within "
        "which 95 % of the simulated jobs ended; ± is half the width of the mean's 95 % interval; "
        "failures are those of one job, in the mean. They strike recoveries and saves too, and "
        "there is always a node to replace a lost one."
    )


def notes(simulated: SimulatedCandidates) -> Iterator[str]:
    """Which means are not known closely, and which candidates were not simulated."""
    for candidate, each in simulated.found:
        if not each.is_narrow:
            off = format_percent(each.half_width_s / each.mean_s)
            yield (
                f"{candidate.mechanism.upper()}: {each.replications:,} jobs are too few, the mean "
                f"is known within {off}"
            )
    for other in simulated.left_out:
        yield f"{other.mechanism.upper()}: not simulated, {other.reason}"


def command_line(scenario: Scenario, law: Law) -> str:
    """The command that simulates the same."""
    parts = ["advisor", "simulate"]
    for option, text in written(scenario).items():
        parts += [f"--{option}", text]
    return shlex.join([*parts, "--arrivals", _law_words(law)])


def _law_words(law: Law) -> str:
    """As a person writes it, without loss."""
    if law.arrivals is Arrivals.POISSON:
        return law.arrivals.value
    return f"{law.arrivals.value}:{law.shape!r}"
