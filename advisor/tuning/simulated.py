"""A choice as a process, and its simulation: what the formula leaves out is in it."""

from dataclasses import replace

import numpy as np

from advisor.arrivals import Law
from advisor.scenario import Scenario
from advisor.simulation.engine import NoEndError
from advisor.simulation.estimate import expected_events
from advisor.simulation.limits import BLOCK
from advisor.simulation.process import Kind, Process, Spares
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.setups import Beyond, Failures, process_of_parts
from advisor.simulation.times import Exponential
from advisor.tuning.circumstances import Circumstances, alarms_per_s, detections_s
from advisor.tuning.search import Choice
from db.records import Arrivals

MOST_EVENTS = 3_000_000
"""Failures and false alarms in all jobs of one choice: seconds."""
MOST_OF_ONE = 5_000
"""In one job: all jobs go on until the last one ends, which takes several times as long."""


def simulated(
    scenario: Scenario, told: Circumstances, choice: Choice, seed: int, *, narrow: float, most: int
) -> Simulated | None:
    """The distribution of the completion time over `most` jobs or fewer; None where more than
    `MOST_OF_ONE` failures are expected in one, or jobs have no end."""
    process = process_of(scenario, told, choice)
    events = expected_events(process)
    if not events <= MOST_OF_ONE:
        return None
    jobs = min(most, int(MOST_EVENTS / events) if events > 0.0 else most)
    try:
        return simulate(process, seed, narrow=narrow, most=jobs, block=min(BLOCK, jobs))
    except NoEndError:
        return None


def process_of(scenario: Scenario, told: Circumstances, choice: Choice) -> Process:
    """The job with the choice's settings, under failures and false alarms.

    A false alarm is a failure that takes no node. Both take the mean of their detections: Eq. (5)
    is linear in it.
    """
    timeouts_s = None if choice.timeout_s is None else np.array([choice.timeout_s])
    alarms = float(alarms_per_s(told, timeouts_s)[0])
    real = 1.0 / scenario.mtbf_s
    is_real = real / (real + alarms)
    struck = replace(
        scenario,
        mtbf_s=1.0 / (real + alarms),
        detection_s=is_real * float(detections_s(scenario, told, timeouts_s)[0]),
        warning_coverage=is_real * (scenario.warning_coverage or 0.0),
    )
    spares = None
    if told.repair_s is not None and choice.spares is not None:
        spares = Spares(choice.spares, Exponential(told.repair_s))
    emergency = choice.combination.emergency
    tiers = (
        replace(tier.part, interval_steps=setting.interval_steps)
        for tier, setting in zip(choice.combination.tiers, choice.settings, strict=True)
    )
    return process_of_parts(
        struck,
        (*(() if emergency is None else (emergency.part,)), *tiers),
        Failures(Law(Arrivals.POISSON), spares=spares),
        Beyond(_kinds(told, is_real)),
    )


def _kinds(told: Circumstances, is_real: float) -> tuple[Kind, ...]:
    kinds = [replace(kind, share=is_real * kind.share) for kind in told.losses]
    if is_real < 1.0:
        kinds.append(Kind(1.0 - is_real, 0, 0))
    return tuple(kinds)
