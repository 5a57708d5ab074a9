"""What a simulation of an answer's candidates says, in sentences and table rows."""

import shlex

from advisor.arrivals import Law
from advisor.inputs import written
from advisor.reports.words import steps
from advisor.scenario import Scenario
from advisor.simulation.run import Simulated
from advisor.simulation.setups import Setup
from advisor.units import format_duration, format_number

HEADER = ("mechanism", "interval", "P50", "P95", "P99", "mean", "±", "failures", "jobs")
_ABSENT = "–"


def row(setup: Setup, found: Simulated) -> tuple[str, ...]:
    """One candidate under `HEADER`."""
    times_s = (found.p50_s, found.p95_s, found.p99_s, found.mean_s, found.half_width_s)
    (part,) = setup.parts
    return (
        setup.name.upper(),
        _ABSENT if part.interval_steps is None else steps(part.interval_steps),
        *map(format_duration, times_s),
        format_number(found.failures),
        f"{found.replications:,}",
    )


def basis_line(law: Law, seed: int) -> str:
    """What the numbers are, and what they rest on."""
    return (
        f"Simulated, not measured: arrivals {law.in_words()}, seed {seed}. P95 is the time within "
        "which 95 % of the simulated jobs ended; ± is half the width of the mean's 95 % interval; "
        "failures are those of one job, in the mean. They strike recoveries and saves too, and "
        "there is always a node to replace a lost one."
    )


def command_line(scenario: Scenario, law: Law) -> str:
    """The command that simulates the same."""
    parts = ["advisor", "simulate"]
    for option, text in written(scenario).items():
        parts += [f"--{option}", text]
    return shlex.join([*parts, "--arrivals", law.in_words()])
