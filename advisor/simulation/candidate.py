"""Candidates of a recommendation as processes, as Eq. (5) prices them, and their simulation.

With more than Eq. (5) knows (warnings, kinds of failures, tiers) it is setups.py.
"""

from dataclasses import dataclass, replace

from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import Scenario
from advisor.simulation.estimate import expected_events
from advisor.simulation.fallbacks import fallbacks_of
from advisor.simulation.laws import GapLaw, gaps
from advisor.simulation.process import Bursts, Process, Spares, Tier
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.times import Times
from advisor.units import format_percent

BLOCK = 2_048
"""Jobs a block: fewer than is fastest, so that what is known closely at once is not overdone."""
MOST_FAILURES = 100_000
"""Expected in one job, false alarms included; with more of them a simulation would take hours."""
MOST_IN_ALL = 30_000_000
"""Expected in all jobs of one candidate, but for a first block: a quarter of a minute or so. Jobs
that are put back to their beginning differ so much that no number of them is enough."""
OUTSIDE_EQUATION_5 = "it is outside Eq. (5)"


@dataclass(frozen=True, slots=True)
class Failures:
    """How failures come, and what is there to replace nodes; without spares there are enough.

    The scenario's MTBF is that of failures that no burst drew.
    """

    law: GapLaw
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
    arrivals = gaps(failures.law, scenario.mtbf_s)
    found, left_out = [], []
    for candidate in recommendation.candidates:
        process = process_of(scenario, candidate, arrivals)
        if process is None:
            left_out.append(NotSimulated(candidate.mechanism, OUTSIDE_EQUATION_5))
            continue
        process = replace(process, bursts=failures.bursts, spares=failures.spares)
        reason = too_many_failures(process)
        if reason is None:
            jobs = most_jobs(process, most)
            each = simulate(process, seed, narrow=narrow, most=jobs, block=BLOCK)
            found.append((candidate, each))
        else:
            left_out.append(NotSimulated(candidate.mechanism, reason))
    return SimulatedCandidates(tuple(found), tuple(left_out))


def too_many_failures(process: Process) -> str | None:
    """Why its jobs would not come to an end, or not soon enough; None: they do."""
    if expected_events(process) <= MOST_FAILURES:
        return None
    alarms = process.warnings is not None and process.warnings.false_alarms is not None
    what = "failures and false alarms" if alarms else "failures"
    reason = f"more than {MOST_FAILURES:,} {what} are expected in one job"
    shares = fallbacks_of(process)
    if shares.unsurvived:
        reason += (
            f"; {format_percent(shares.unsurvived)} of the failures put it back to its beginning"
        )
    if shares.missed:
        reason += f"; {format_percent(shares.missed)} of the failures are not announced in time"
    return reason


def most_jobs(process: Process, most: int) -> int:
    """How many jobs to simulate at most: `most`, or fewer that meet MOST_IN_ALL failures."""
    return min(most, max(BLOCK, int(MOST_IN_ALL / expected_events(process))))


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
