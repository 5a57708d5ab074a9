"""Tiers, of which combinations are made: mechanisms with what they cost, and what they survive.

What a state survives follows from where it lies (advisor/simulation/parts.py), and from how many
nodes there are: peers on N nodes are on N - 1 others at most.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf

from advisor.candidates import Consideration, consider
from advisor.recommendation import EvidenceCode, Excluded
from advisor.scenario import FailureRegime, IntervalPolicy, Scenario
from advisor.simulation.parts import Emergency, Part, part_of
from advisor.simulation.process import SURVIVES_ALL
from advisor.software import stack_warnings
from advisor.tuning.circumstances import Circumstances
from db.records import ClusterEvidence


@dataclass(frozen=True, slots=True)
class Tier:
    """A mechanism that keeps states."""

    part: Part
    evidence: EvidenceCode
    is_superseded: bool = False
    """Whether a figure was measured under superseded software."""

    @property
    def label(self) -> str:
        """Such as `FT1`, or `FT6 (k = 2)`."""
        replicas = self.part.replicas
        peers = f" (k = {replicas})" if replicas > 1 else ""
        return self.part.mechanism.upper() + peers

    @property
    def is_periodic(self) -> bool:
        return self.part.interval_steps is not None


@dataclass(frozen=True, slots=True)
class EmergencyTier:
    """A mechanism that saves when a failure is announced, as a `coverage` share of them is."""

    part: Part
    emergency: Emergency
    coverage: float
    evidence: EvidenceCode
    is_superseded: bool = False

    @property
    def spent_s(self) -> float:
        """What an announced failure takes beside detection and regrouping."""
        return self.emergency.save_s + self.emergency.restore_s


@dataclass(frozen=True, slots=True)
class Combination:
    """Tiers from the most frequent to the rarest, each surviving more than the one before."""

    tiers: tuple[Tier, ...]
    emergency: EmergencyTier | None = None

    @property
    def parts(self) -> tuple[Part, ...]:
        first = () if self.emergency is None else (self.emergency.part,)
        return (*first, *(tier.part for tier in self.tiers))

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(part.mechanism for part in self.parts)

    @property
    def label(self) -> str:
        """Such as `FT4 + FT2 + FT1`."""
        first = [] if self.emergency is None else [self.emergency.part.mechanism.upper()]
        return " + ".join([*first, *(tier.label for tier in self.tiers)])

    @property
    def host_bytes_per_rank(self) -> int:
        return sum(part.host_bytes_per_rank for part in self.parts)

    @property
    def evidence(self) -> EvidenceCode:
        """That of a mechanism alone; several together were never measured."""
        parts = [tier.evidence for tier in self.tiers]
        if self.emergency is not None:
            parts.append(self.emergency.evidence)
        return parts[0] if len(parts) == 1 else EvidenceCode.EXTRAPOLATED

    @property
    def is_superseded(self) -> bool:
        """Whether a figure of some part was measured under superseded software."""
        emergency = self.emergency is not None and self.emergency.is_superseded
        return emergency or any(tier.is_superseded for tier in self.tiers)


@dataclass(frozen=True, slots=True)
class Tiers:
    """What combinations are made of, and what cannot be part of one."""

    tiers: tuple[Tier, ...]
    emergencies: tuple[EmergencyTier, ...]
    excluded: tuple[Excluded, ...]
    goes_on: tuple[str, ...]
    """Candidates with which the job goes on by itself, outside Eq. (5)."""
    cautions: tuple[Excluded, ...]
    """Mechanisms that were not seen to resume after several losses, though such are stated."""
    warnings: tuple[str, ...]
    """What has to be said of the software that the figures were measured under."""


def tiers_of(evidence: ClusterEvidence, scenario: Scenario, told: Circumstances) -> Tiers:
    """The candidates of the scenario as tiers, each with a free interval.

    A mechanism that saves on a warning counts whatever share of the failures is announced: the
    tiers below it are for the others. Peers go up to what is asked for, beyond those that were
    measured with costs in proportion to their number.
    """
    free = replace(scenario, interval=IntervalPolicy.AUTO)
    announced = _fully_announced(free)
    considered = consider(evidence, announced)
    tiers: list[Tier] = []
    emergencies: list[EmergencyTier] = []
    for candidate in considered.candidates:
        part = part_of(evidence, announced, candidate)
        if part is None:
            continue
        emergency = part.emergency
        if emergency is not None:
            part = _on_nodes(part, told.nodes)
            coverage = scenario.warning_coverage or 0.0
            known_by = (candidate.evidence, candidate.is_superseded)
            emergencies.append(EmergencyTier(part, emergency, coverage, *known_by))
        else:
            tiers.append(Tier(part, candidate.evidence, candidate.is_superseded))
    most = told.most_replicas or inf
    known = [tier for tier in tiers if tier.part.replicas <= most]
    every = (*known, *_more_replicas(known, told))
    return Tiers(
        tiers=tuple(replace(tier, part=_on_nodes(tier.part, told.nodes)) for tier in every),
        emergencies=tuple(emergencies),
        excluded=considered.excluded,
        goes_on=tuple(c.mechanism for c in considered.candidates if c.native is not None),
        cautions=_cautions(evidence, announced, considered, told),
        warnings=tuple(stack_warnings(evidence, considered.candidates)),
    )


def combinations_of(tiers: Tiers, most_tiers: int) -> Iterator[Combination]:
    """Every combination of up to `most_tiers` tiers, with and without an emergency save."""
    for combined in _combined(tiers.tiers, most_tiers):
        yield Combination(combined)
        for emergency in tiers.emergencies:
            yield Combination(combined, emergency)
    for emergency in tiers.emergencies:
        yield Combination((), emergency)


def _combined(tiers: Sequence[Tier], most_tiers: int) -> Iterator[tuple[Tier, ...]]:
    """Each mechanism once, and each tier surviving more than the one before."""
    rising = sorted(tiers, key=lambda tier: tier.part.survives)
    for count in range(1, most_tiers + 1):
        for chosen in combinations(rising, count):
            names = {tier.part.mechanism for tier in chosen}
            differ = all(a.part.survives < b.part.survives for a, b in pairwise(chosen))
            together = count == 1 or all(tier.is_periodic for tier in chosen)
            if differ and together and len(names) == count:
                yield chosen


def _fully_announced(scenario: Scenario) -> Scenario:
    if not scenario.warning_lead_s or not scenario.warning_coverage:
        return scenario
    return replace(scenario, warning_coverage=1.0)


def _on_nodes(part: Part, nodes: int) -> Part:
    """With so many nodes its states survive the loss of one fewer at most, unless of all."""
    if part.survives >= SURVIVES_ALL:
        return part
    return replace(part, survives=min(part.survives, nodes - 1))


def _more_replicas(tiers: Sequence[Tier], told: Circumstances) -> Iterable[Tier]:
    """As many peers as failures call for, where that is more than were measured: a save in
    proportion to their number, from the most that were."""
    peers = [tier for tier in tiers if tier.part.replicas and tier.part.can_vary]
    if not peers:
        return
    most = max(peers, key=lambda tier: tier.part.replicas)
    largest = most.part
    for replicas in told.replicas_called_for:
        if replicas > largest.replicas:
            times = replicas / largest.replicas
            part = replace(
                largest,
                replicas=replicas,
                survives=replicas,
                stall_s=largest.stall_s * times,
                host_bytes_per_rank=round(largest.host_bytes_per_rank * times),
                device_bytes_per_rank=round(largest.device_bytes_per_rank * times),
            )
            yield Tier(part, EvidenceCode.EXTRAPOLATED, most.is_superseded)


def _cautions(
    evidence: ClusterEvidence, scenario: Scenario, considered: Consideration, told: Circumstances
) -> tuple[Excluded, ...]:
    """What the cluster's runs say against candidates, if several nodes may be lost at once."""
    if scenario.failure_regime is FailureRegime.MULTI or not told.loses_several:
        return ()
    several = consider(evidence, replace(scenario, failure_regime=FailureRegime.MULTI))
    offered = {candidate.mechanism for candidate in considered.candidates}
    return tuple(each for each in several.excluded if each.mechanism in offered)
