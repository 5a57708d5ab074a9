"""What `advisor simulate` simulates: the candidates of an answer and composed tiers, under kinds of
failures and real warnings. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import log1p, sqrt

from advisor.candidates import consider
from advisor.characterization import require_mechanisms
from advisor.errors import UserError
from advisor.recommendation import Candidate, Recommendation
from advisor.scenario import RANGES, Scenario
from advisor.simulation.composed import AskedTier, composed, name_of, over_limits
from advisor.simulation.engine import NoEndError
from advisor.simulation.laws import GapLaw, gaps
from advisor.simulation.limits import MOST_IN_ALL, block_size, most_jobs, too_many_failures
from advisor.simulation.parts import Part, part_of
from advisor.simulation.process import Bursts, Kind, Process, Spares, Warnings
from advisor.simulation.run import Simulated, simulate
from advisor.simulation.times import Constant, Exponential, Lognormal, Times
from db.records import Cadence, ClusterEvidence

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
class Beyond:
    """What Eq. (5) and the scenario do not know of failures.

    `kinds` are shares of how many nodes one takes at once, as their severities. Leads scatter by
    `lead_spread`, the standard deviation as a share of the scenario's lead, which is their mean; a
    false alarm comes every `false_alarms_s` in the mean, or never (None).
    """

    kinds: tuple[Kind, ...] = (Kind(),)
    lead_spread: float = 0.0
    false_alarms_s: float | None = None


@dataclass(frozen=True, slots=True)
class Setup:
    """One mechanism, or several as tiers, with the process that they make.

    `candidate` is the answer's; None where it has none.
    """

    parts: tuple[Part, ...]
    process: Process
    candidate: Candidate | None = None

    @property
    def name(self) -> str:
        """`ft1`, or `ft2+ft1`."""
        return name_of(self.parts)

    @property
    def expected_completion_s(self) -> float | None:
        """What Eq. (5) says; None where the answer has no such candidate."""
        return self.candidate.expected_completion_s if self.candidate else None

    @property
    def exact_completion_s(self) -> float | None:
        """The exact time with Poisson failures, each of which its state survives; None also where
        no number is large enough."""
        if self.candidate is None or self.candidate.exact is None:
            return None
        return self.candidate.exact.completion_s


@dataclass(frozen=True, slots=True)
class NotSimulated:
    mechanism: str
    reason: str


@dataclass(frozen=True, slots=True)
class Setups:
    """What there is to simulate, and what cannot be."""

    found: tuple[Setup, ...]
    left_out: tuple[NotSimulated, ...]


@dataclass(frozen=True, slots=True)
class SimulatedSetups:
    """Every setup ends in exactly one of the two."""

    found: tuple[tuple[Setup, Simulated], ...]
    left_out: tuple[NotSimulated, ...]


def setups_of(
    evidence: ClusterEvidence,
    recommendation: Recommendation,
    failures: Failures,
    beyond: Beyond,
    stacks: Sequence[Sequence[AskedTier]] = (),
) -> Setups:
    """Every candidate of the answer by itself, what saves on a warning even if not all failures are
    announced, and each of the stacks. Raises UserError for a stack that cannot be."""
    scenario = recommendation.scenario

    def setup(*parts: Part, candidate: Candidate | None = None) -> Setup:
        return Setup(parts, process_of_parts(scenario, parts, failures, beyond), candidate)

    found: list[Setup] = []
    left_out: list[NotSimulated] = []
    known: dict[str, Part] = {}
    singles: list[tuple[Candidate, Candidate | None]] = [(c, c) for c in recommendation.candidates]
    singles += [(warned, None) for warned in _warned(evidence, recommendation)]
    for priced, candidate in singles:
        part = part_of(evidence, scenario, priced)
        if part is None:
            left_out.append(NotSimulated(priced.mechanism, OUTSIDE_EQUATION_5))
        else:
            known[part.mechanism] = part
            found.append(setup(part, candidate=candidate))
    whole_job_steps = max(int(scenario.duration_s / scenario.step_time_s), 1)
    for asked in stacks:
        _require_known(evidence, recommendation, asked, known)
        parts = composed(asked, known, whole_job_steps)
        reason = over_limits(scenario, evidence.cluster.ranks_per_node, parts)
        if reason is None:
            found.append(setup(*parts))
        else:
            left_out.append(NotSimulated(name_of(parts), reason))
    return Setups(tuple(found), tuple(left_out))


def simulate_setups(setups: Setups, seed: int, *, narrow: float, most: int) -> SimulatedSetups:
    """The distribution of each setup's completion time. `narrow` and `most`: run.simulate."""
    found, left_out = [], list(setups.left_out)
    for setup in setups.found:
        reason = too_many_failures(setup.process)
        if reason is None:
            try:
                each = simulate(
                    setup.process,
                    seed,
                    narrow=narrow,
                    most=most_jobs(setup.process, most),
                    block=block_size(setup.process),
                    most_events=MOST_IN_ALL,
                )
                found.append((setup, each))
            except NoEndError as error:  # the jobs of others may end
                reason = str(error)
        if reason is not None:
            left_out.append(NotSimulated(setup.name, reason))
    return SimulatedSetups(tuple(found), tuple(left_out))


def process_of_parts(
    scenario: Scenario, parts: Sequence[Part], failures: Failures, beyond: Beyond
) -> Process:
    """The mechanisms together under the failures; the most frequent tier comes first."""
    tiers = (part.tier(scenario.step_time_s) for part in parts)
    return Process(
        work_s=scenario.duration_s,
        arrivals=gaps(failures.law, scenario.mtbf_s),
        tiers=tuple(tier for tier in tiers if tier is not None),
        detection_s=scenario.detection_s,
        regroup_s=scenario.regroup_s + scenario.init_s,
        overhead=sum(part.overhead for part in parts),
        kinds=beyond.kinds,
        bursts=failures.bursts,
        warnings=_warnings(scenario, parts, beyond),
        spares=failures.spares,
    )


def lead_times(lead_s: float, spread: float) -> Times:
    """Leads with that mean (s) and that standard deviation, as a share of it: lognormal."""
    if spread == 0.0:
        return Constant(lead_s)
    return Lognormal(lead_s, sqrt(log1p(spread * spread)))


def _warnings(scenario: Scenario, parts: Sequence[Part], beyond: Beyond) -> Warnings | None:
    part = next((part for part in parts if part.emergency is not None), None)
    if part is None or part.emergency is None:
        return None
    every_s = beyond.false_alarms_s
    return Warnings(
        coverage=scenario.warning_coverage or 0.0,
        lead=lead_times(scenario.warning_lead_s or 0.0, beyond.lead_spread),
        save_s=part.emergency.save_s,
        restore_s=part.emergency.restore_s,
        false_alarms=None if every_s is None else Exponential(every_s),
        needs_s=part.emergency.needs_s,
        survives=part.survives,
    )


def _warned(evidence: ClusterEvidence, recommendation: Recommendation) -> tuple[Candidate, ...]:
    """What would be offered beside the candidates if every failure were announced long before: the
    simulation has the failures for which that does not hold."""
    scenario = recommendation.scenario
    if not scenario.warning_lead_s or not scenario.warning_coverage:
        return ()
    longest_s = RANGES["warning_lead_s"][1]
    announced = replace(scenario, warning_lead_s=longest_s, warning_coverage=1.0)
    offered = {candidate.mechanism for candidate in recommendation.candidates}
    return tuple(
        candidate
        for candidate in consider(evidence, announced).candidates
        if candidate.mechanism not in offered
        and evidence.mechanisms[candidate.mechanism].cadence is Cadence.ON_WARNING
    )


def _require_known(
    evidence: ClusterEvidence,
    recommendation: Recommendation,
    asked: Sequence[AskedTier],
    known: Mapping[str, Part],
) -> None:
    """Raises UserError where a tier is no candidate, with the reason."""
    names = [each.mechanism for each in asked]
    require_mechanisms(evidence, names)
    reasons = {each.mechanism: each.reason for each in recommendation.excluded}
    for name in names:
        if name not in known:
            reason = reasons.get(name, OUTSIDE_EQUATION_5)
            raise UserError(f"{name.upper()} is no candidate, so it is no tier: {reason}")
