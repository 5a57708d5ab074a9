"""A choice as a process, and its simulation: what the formula leaves out is in it."""

from dataclasses import replace

import numpy as np

from advisor.scenario import Scenario
from advisor.simulation.engine import NoEndError
from advisor.simulation.estimate import expected_events
from advisor.simulation.process import Kind, Process, Spares, Warnings
from advisor.simulation.process import Tier as SimulatedTier
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.times import Constant, Exponential
from advisor.tuning.circumstances import Circumstances, alarms_per_s, detections_s
from advisor.tuning.search import Choice
from advisor.tuning.tiers import Tier

MOST_EVENTS = 3_000_000
"""Failures and false alarms in all jobs of one choice: seconds."""
MOST_OF_ONE = 5_000
"""In one job: all jobs go on until the last one ends, which takes several times as long."""
BLOCK = 2_048


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
    combination = choice.combination
    process = Process(
        work_s=scenario.duration_s,
        arrivals=Exponential(1.0 / (real + alarms)),
        tiers=tuple(
            _tier(scenario, tier, setting.interval_steps)
            for tier, setting in zip(combination.tiers, choice.settings, strict=True)
        ),
        detection_s=is_real * float(detections_s(scenario, told, timeouts_s)[0]),
        regroup_s=scenario.regroup_s + scenario.init_s,
        overhead=sum(part.overhead for part in combination.parts),
        kinds=_kinds(told, is_real),
    )
    if combination.emergency is not None:
        emergency = combination.emergency
        process = replace(
            process,
            warnings=Warnings(
                coverage=is_real * emergency.coverage,
                lead=Constant(emergency.emergency.save_s),
                save_s=emergency.emergency.save_s,
                restore_s=emergency.emergency.restore_s,
                survives=emergency.part.survives,
            ),
        )
    if told.repair_s is not None and choice.spares is not None:
        process = replace(process, spares=Spares(choice.spares, Exponential(told.repair_s)))
    return process


def _tier(scenario: Scenario, tier: Tier, interval_steps: int | None) -> SimulatedTier:
    found = replace(tier.part, interval_steps=interval_steps).tier(scenario.step_time_s)
    assert found is not None, "what saves on a warning only is no tier"
    return found


def _kinds(told: Circumstances, is_real: float) -> tuple[Kind, ...]:
    kinds = [replace(kind, share=is_real * kind.share) for kind in told.losses]
    if is_real < 1.0:
        kinds.append(Kind(1.0 - is_real, 0, 0))
    return tuple(kinds)
