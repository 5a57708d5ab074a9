"""What a combination meets: where failures fall back to, and what failures and false alarms take.

Pure.
"""

from dataclasses import dataclass

import numpy as np

from advisor.scenario import Scenario
from advisor.tuning.circumstances import Circumstances, alarms_per_s, detections_s
from advisor.tuning.losses import Losses
from advisor.tuning.price import Load, Numbers, Saves
from advisor.tuning.tiers import Combination


@dataclass(frozen=True, slots=True)
class Shares:
    """Where failures fall back to: an emergency save, a tier each, or the beginning."""

    announced: float
    tiers: tuple[float, ...]
    restarts: float


def shares_of(losses: Losses, combination: Combination) -> Shares:
    """Shares of all failures; they add up to 1."""
    announced, restarts = 0.0, 0.0
    tiers = [0.0] * len(combination.tiers)
    for at_once, share in losses.shares.items():
        emergency = combination.emergency
        saved = emergency.coverage if emergency and emergency.survives >= at_once else 0.0
        announced += share * saved
        place = combination.tier_for(at_once)
        if place is None:
            restarts += share * (1.0 - saved)
        else:
            tiers[place] += share * (1.0 - saved)
    return Shares(announced, tuple(tiers), restarts)


def load_of(
    scenario: Scenario,
    circumstances: Circumstances,
    combination: Combination,
    timeouts_s: Numbers | None,
) -> Load:
    """What a combination meets, with one number a timeout (one number if they are not searched)."""
    real = 1.0 / scenario.mtbf_s
    alarms = alarms_per_s(circumstances, timeouts_s)
    detection_s = detections_s(scenario, circumstances, timeouts_s)
    regroup_s = scenario.regroup_s + scenario.init_s
    shares = shares_of(circumstances.losses, combination)
    falls_back = [
        shares.tiers[i] * real + np.zeros_like(alarms) for i in range(len(combination.tiers))
    ]
    restarts = shares.restarts * real + np.zeros_like(alarms)
    first = combination.tier_for(1.0)
    if first is None:
        restarts = restarts + alarms
    else:
        falls_back[first] = falls_back[first] + alarms
    recovers = real * (1.0 - shares.restarts)
    taken = 1.0 + recovers * (detection_s + regroup_s)
    if first is not None:
        taken = taken + alarms * regroup_s
    base = 1.0
    if combination.emergency is not None:
        base += combination.emergency.overhead
        spent_s = combination.emergency.save_s + combination.emergency.restore_s
        taken = taken + real * shares.announced * spent_s
    saves = []
    for tier, rate in zip(combination.tiers, falls_back, strict=True):
        model = tier.model
        taken = taken + rate * model.restore_s
        if model.is_periodic:
            saves.append(Saves(model.stall_s, rate, model.min_interval_steps, model.interval_steps))
        else:
            base += model.overhead
            taken = taken + rate * model.lost_steps * scenario.step_time_s
    return Load(
        duration_s=scenario.duration_s,
        step_time_s=scenario.step_time_s,
        base=base,
        taken=taken,
        saves=tuple(saves),
        restarts_per_s=restarts,
        restart_s=detection_s + regroup_s,
    )
