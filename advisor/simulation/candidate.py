"""A candidate of a recommendation as a process that can be simulated."""

from advisor.recommendation import Candidate
from advisor.scenario import Scenario
from advisor.simulation.process import Process, Spares, Tier
from advisor.simulation.times import Times


def process_of(
    scenario: Scenario, candidate: Candidate, arrivals: Times, spares: Spares | None = None
) -> Process | None:
    """The candidate under failures that come as `arrivals`; None outside Eq. (5).

    What Eq. (5) counts, with its numbers: a mechanism without an interval always has a state, its
    emergency save is in its restore, and doing its lost work again is part of each recovery.
    """
    model = candidate.model
    if model is None:
        return None
    step_s = scenario.step_time_s
    if model.is_periodic:
        tier = Tier((candidate.interval_steps or 0) * step_s, model.stall_s, model.restore_s)
    else:
        tier = Tier(0.0, 0.0, model.restore_s + model.lost_steps * step_s)
    return Process(
        work_s=scenario.duration_s,
        arrivals=arrivals,
        tiers=(tier,),
        detection_s=scenario.detection_s,
        regroup_s=scenario.regroup_s + scenario.init_s,
        overhead=0.0 if model.is_periodic else model.overhead,
        spares=spares,
    )
