"""Candidates of a recommendation as processes, and their simulation."""

from dataclasses import dataclass, replace

from advisor.arrivals import Law
from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import Scenario
from advisor.simulation.process import Bursts, Process, Spares, Tier
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.times import Exponential, Times, Weibull
from db.records import Arrivals

BLOCK = 2_048
"""Jobs a block: fewer than is fastest, so that what is known closely at once is not overdone."""
MOST_FAILURES = 100_000
"""Expected in one job; with more of them a simulation would take hours."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How failures come, and what is there to replace nodes; without spares there are enough.

    The scenario's MTBF is that of failures that no burst drew.
    """

    law: Law
    bursts: Bursts | None = None
    spares: Spares | None = None


@dataclass(frozen=True, slots=True)
class NotSimulated:
    mechanism: str
    reason: str


@dataclass(frozen=True, slots=True)
class SimulatedCandidates:
    """Every candidate ends in exactly one of the two, in their order."""

    found: tuple[tuple[Candidate, Simulated], ...]
    left_out: tuple[NotSimulated, ...]


def simulate_candidates(
    recommendation: Recommendation, failures: Failures, seed: int, *, narrow: float, most: int
) -> SimulatedCandidates:
    """The distribution of each candidate's completion time. `narrow` and `most`: run.simulate."""
    scenario = recommendation.scenario
    arrivals = _times(failures.law, scenario.mtbf_s)
    found, left_out = [], []
    for candidate in recommendation.candidates:
        process = process_of(scenario, candidate, arrivals)
        exact_s = candidate.exact.completion_s if candidate.exact else None
        if process is None:
            left_out.append(NotSimulated(candidate.mechanism, "it is outside Eq. (5)"))
        elif exact_s is None or exact_s > MOST_FAILURES * scenario.mtbf_s:
            reason = f"more than {MOST_FAILURES:,} failures are expected in one job"
            left_out.append(NotSimulated(candidate.mechanism, reason))
        else:
            process = replace(process, bursts=failures.bursts, spares=failures.spares)
            each = simulate(process, seed, narrow=narrow, most=most, block=BLOCK)
            found.append((candidate, each))
    return SimulatedCandidates(tuple(found), tuple(left_out))


def process_of(scenario: Scenario, candidate: Candidate, arrivals: Times) -> Process | None:
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
    )


def _times(law: Law, mtbf_s: float) -> Times:
    if law.arrivals is Arrivals.POISSON:
        return Exponential(mtbf_s)
    return Weibull(mtbf_s, law.shape)
