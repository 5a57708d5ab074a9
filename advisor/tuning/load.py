"""What a combination meets: where failures fall back to, and what failures and false alarms take.

Pure.
"""

import numpy as np

from advisor.scenario import Scenario
from advisor.simulation.fallbacks import Fallbacks, fallbacks
from advisor.tuning.circumstances import Circumstances, alarms_per_s, detections_s
from advisor.tuning.price import Load, Numbers, Saves
from advisor.tuning.tiers import Combination


def load_of(
    scenario: Scenario, told: Circumstances, combination: Combination, timeouts_s: Numbers | None
) -> Load:
    """What a combination meets, with one number a timeout (one number if they are not searched)."""
    real = 1.0 / scenario.mtbf_s
    alarms = alarms_per_s(told, timeouts_s)
    regroup_s = scenario.regroup_s + scenario.init_s
    back_s = detections_s(scenario, told, timeouts_s) + regroup_s
    shares = shares_of(told, combination)
    falls_back = [share * real + np.zeros_like(alarms) for share in shares.tiers]
    missed = shares.missed * real + np.zeros_like(alarms)
    taken = 1.0 + real * (sum(shares.tiers) + shares.saved) * back_s
    if falls_back:
        falls_back[0] = falls_back[0] + alarms
        taken = taken + alarms * regroup_s
    else:
        missed = missed + alarms
    base, missed_s = 1.0, back_s
    emergency = combination.emergency
    if emergency is not None:
        base += emergency.part.overhead
        taken = taken + real * shares.saved * emergency.spent_s
        missed_s = missed_s + emergency.emergency.restore_s
    saves = []
    for tier, rate in zip(combination.tiers, falls_back, strict=True):
        part = tier.part
        base += part.overhead
        taken = taken + rate * part.restore_s
        if part.interval_steps is not None:
            fixed = None if part.can_vary else part.interval_steps
            saves.append(Saves(part.stall_s, rate, part.least_steps, fixed))
    return Load(
        duration_s=scenario.duration_s,
        step_time_s=scenario.step_time_s,
        base=base,
        taken=taken,
        saves=tuple(saves),
        saved_per_s=shares.saved * real + np.zeros_like(alarms),
        missed_per_s=missed,
        missed_s=missed_s,
        restarts_per_s=shares.unsurvived * real + np.zeros_like(alarms),
        restart_s=back_s,
    )


def shares_of(told: Circumstances, combination: Combination) -> Fallbacks:
    """Where failures fall back to, as shares of all of them; false alarms are no failures."""
    emergency = combination.emergency
    return fallbacks(
        told.losses,
        [tier.part.survives for tier in combination.tiers],
        None if emergency is None else (emergency.coverage, emergency.part.survives),
    )
