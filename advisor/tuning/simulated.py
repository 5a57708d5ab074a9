"""A choice as a process, and its simulation: what the formula leaves out is in it."""

from dataclasses import replace

import numpy as np

from advisor.scenario import Scenario
from advisor.simulation.process import SURVIVES_ALL, Kind, Process, Spares, Warnings
from advisor.simulation.process import Tier as SimulatedTier
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.times import Constant, Exponential
from advisor.tuning.circumstances import Circumstances, alarms_per_s, detections_s
from advisor.tuning.search import Choice

MOST_FAILURES = 5_000
"""Expected in one job: with more of them a simulation of several answers would take minutes."""
BLOCK = 2_048


def simulated(
    scenario: Scenario,
    circumstances: Circumstances,
    choice: Choice,
    seed: int,
    *,
    narrow: float,
    most: int,
) -> Simulated | None:
    """The distribution of the completion time; None where too many failures come."""
    process = process_of(scenario, circumstances, choice)
    if choice.expected_completion_s > MOST_FAILURES * process.arrivals.mean_s:
        return None
    return simulate(process, seed, narrow=narrow, most=most, block=BLOCK)


def process_of(scenario: Scenario, circumstances: Circumstances, choice: Choice) -> Process:
    """The job with the choice's settings, under failures and false alarms.

    A false alarm is a failure that takes no node. Both take the mean of their detections: Eq. (5)
    is linear in it.
    """
    timeouts_s = None if choice.timeout_s is None else np.array([choice.timeout_s])
    alarms = float(alarms_per_s(circumstances, timeouts_s)[0])
    real = 1.0 / scenario.mtbf_s
    is_real = real / (real + alarms)
    detection_s = is_real * float(detections_s(scenario, circumstances, timeouts_s)[0])
    combination = choice.combination
    continuous = [tier for tier in combination.tiers if not tier.model.is_periodic]
    process = Process(
        work_s=scenario.duration_s,
        arrivals=Exponential(1.0 / (real + alarms)),
        tiers=_tiers(scenario, choice),
        detection_s=detection_s,
        regroup_s=scenario.regroup_s + scenario.init_s,
        overhead=sum(tier.model.overhead for tier in continuous)
        + (combination.emergency.overhead if combination.emergency else 0.0),
        kinds=_kinds(circumstances, is_real),
    )
    if combination.emergency is not None:
        emergency = combination.emergency
        process = replace(
            process,
            warnings=Warnings(
                coverage=is_real * emergency.coverage,
                lead=Constant(emergency.save_s),
                save_s=emergency.save_s,
                restore_s=emergency.restore_s,
                survives=_severity(emergency.survives),
            ),
        )
    if circumstances.repairs is not None and choice.spares is not None:
        repair = Exponential(circumstances.repairs.mean_s)
        process = replace(process, spares=Spares(choice.spares, repair))
    return process


def _tiers(scenario: Scenario, choice: Choice) -> tuple[SimulatedTier, ...]:
    tiers = []
    for tier, setting in zip(choice.combination.tiers, choice.settings, strict=True):
        model = tier.model
        interval_s = 0.0 if setting.interval_s is None else setting.interval_s
        lost_s = 0.0 if model.is_periodic else model.lost_steps * scenario.step_time_s
        stall_s = model.stall_s if model.is_periodic else 0.0
        tiers.append(
            SimulatedTier(interval_s, stall_s, model.restore_s + lost_s, _severity(tier.survives))
        )
    return tuple(tiers)


def _kinds(circumstances: Circumstances, is_real: float) -> tuple[Kind, ...]:
    nodes = circumstances.repairs.nodes if circumstances.repairs else 1
    kinds = [
        Kind(is_real * share, _severity(at_once), int(min(at_once, nodes)))
        for at_once, share in circumstances.losses.shares.items()
    ]
    if is_real < 1.0:
        kinds.append(Kind(1.0 - is_real, 1, 0))
    return tuple(kinds)


def _severity(at_once: float) -> int:
    """As a whole number: all nodes are more than any number of them that is told apart."""
    return int(min(at_once, SURVIVES_ALL))
