"""Tiers, of which combinations are made: mechanisms with what they cost, and what they survive.

By capabilities, never by names: states on storage survive every loss, states with k peers the loss
of k nodes at once, states that only the survivors have the loss of one.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import inf

from advisor.candidates import Consideration, consider
from advisor.optimizer import CostModel
from advisor.prediction.predict import predict
from advisor.recommendation import Candidate, EvidenceCode, Excluded
from advisor.scenario import IntervalPolicy, Scenario
from advisor.simulation.parts import survives
from advisor.simulation.process import SURVIVES_ALL
from db.records import Cadence, ClusterEvidence, Mechanism, TransferPath


@dataclass(frozen=True, slots=True)
class Tier:
    """A mechanism that keeps states, with `replicas` peers each (0: not with peers).

    `survives` is how many nodes may be lost at once, infinity for all.
    """

    mechanism: str
    replicas: int
    survives: float
    model: CostModel
    host_bytes_per_rank: int
    evidence: EvidenceCode


@dataclass(frozen=True, slots=True)
class Emergency:
    """A mechanism that saves when a failure is announced, a `coverage` share of them.

    `restore_s` is the restore alone.
    """

    mechanism: str
    coverage: float
    survives: float
    overhead: float
    save_s: float
    restore_s: float
    host_bytes_per_rank: int
    evidence: EvidenceCode


@dataclass(frozen=True, slots=True)
class Combination:
    """Tiers from the most frequent to the rarest, each surviving more than the one before."""

    tiers: tuple[Tier, ...]
    emergency: Emergency | None = None

    def tier_for(self, at_once: float) -> int | None:
        """The place of the most frequent tier that survives such a loss; None: none does."""
        survivors = (i for i, tier in enumerate(self.tiers) if tier.survives >= at_once)
        return next(survivors, None)

    @property
    def host_bytes_per_rank(self) -> int:
        emergency = self.emergency.host_bytes_per_rank if self.emergency else 0
        return emergency + sum(tier.host_bytes_per_rank for tier in self.tiers)

    @property
    def names(self) -> tuple[str, ...]:
        emergency = (self.emergency.mechanism,) if self.emergency else ()
        return (*emergency, *(tier.mechanism for tier in self.tiers))


@dataclass(frozen=True, slots=True)
class Tiers:
    """What combinations are made of, and what cannot be part of one."""

    tiers: tuple[Tier, ...]
    emergencies: tuple[Emergency, ...]
    excluded: tuple[Excluded, ...]
    goes_on: tuple[str, ...]
    """Candidates with which the job goes on by itself, outside Eq. (5)."""


def tiers_of(evidence: ClusterEvidence, scenario: Scenario, most_replicas: int) -> Tiers:
    """The candidates of the scenario as tiers, each with a free interval.

    A mechanism that saves on a warning counts whatever share of the failures is announced: the
    tiers below it are for the others. Up to `most_replicas` peers, beyond those that were measured
    with costs in proportion to the number.
    """
    free = replace(scenario, interval=IntervalPolicy.AUTO)
    considered = consider(evidence, _fully_announced(free))
    tiers, emergencies = [], []
    for candidate in considered.candidates:
        mechanism = evidence.mechanisms[candidate.mechanism]
        if candidate.model is None:
            continue
        if mechanism.cadence is Cadence.ON_WARNING:
            emergencies.append(_emergency(evidence, free, candidate, mechanism))
        else:
            tiers.append(_tier(candidate, mechanism, candidate.model))
    return Tiers(
        tiers=(*tiers, *_more_replicas(tiers, most_replicas)),
        emergencies=tuple(emergencies),
        excluded=considered.excluded,
        goes_on=_going_on(considered),
    )


def combinations_of(tiers: Tiers, most_tiers: int) -> Iterator[Combination]:
    """Every combination of up to `most_tiers` tiers, with and without an emergency save."""
    for combined in _combined(tiers.tiers, most_tiers):
        yield Combination(combined)
        for emergency in tiers.emergencies:
            yield Combination(combined, emergency)
    for emergency in tiers.emergencies:
        yield Combination((), emergency)


def _survives(mechanism: Mechanism, replicas: int) -> float:
    """How many nodes may be lost at once, infinity for all."""
    found = survives(mechanism, replicas)
    return inf if found >= SURVIVES_ALL else float(found)


def _combined(tiers: Sequence[Tier], most_tiers: int) -> Iterator[tuple[Tier, ...]]:
    for count in range(1, most_tiers + 1):
        for chosen in combinations(sorted(tiers, key=lambda tier: tier.survives), count):
            rising = all(a.survives < b.survives for a, b in pairwise(chosen))
            if rising and (count == 1 or all(tier.model.is_periodic for tier in chosen)):
                yield chosen


def _fully_announced(scenario: Scenario) -> Scenario:
    if not scenario.warning_lead_s or not scenario.warning_coverage:
        return scenario
    return replace(scenario, warning_coverage=1.0)


def _tier(candidate: Candidate, mechanism: Mechanism, model: CostModel) -> Tier:
    replicas = mechanism.default_replicas if mechanism.save_path is TransferPath.PEER else 0
    return Tier(
        mechanism=candidate.mechanism,
        replicas=replicas,
        survives=_survives(mechanism, replicas),
        model=model,
        host_bytes_per_rank=candidate.host_memory_bytes_per_rank,
        evidence=candidate.evidence,
    )


def _emergency(
    evidence: ClusterEvidence, scenario: Scenario, candidate: Candidate, mechanism: Mechanism
) -> Emergency:
    prediction = predict(evidence, _fully_announced(scenario), mechanism)
    save_s = prediction.save_s or 0.0
    return Emergency(
        mechanism=candidate.mechanism,
        coverage=scenario.warning_coverage or 0.0,
        survives=_survives(mechanism, mechanism.default_replicas),
        overhead=prediction.model.overhead,
        save_s=save_s,
        restore_s=max(prediction.model.restore_s - save_s, 0.0)
        + prediction.model.lost_steps * scenario.step_time_s,
        host_bytes_per_rank=candidate.host_memory_bytes_per_rank,
        evidence=candidate.evidence,
    )


def _more_replicas(tiers: Sequence[Tier], most_replicas: int) -> Iterable[Tier]:
    """More peers than were measured: a save in proportion to their number, from the most that
    were."""
    peers = [tier for tier in tiers if tier.replicas and tier.model.interval_steps is None]
    if not peers:
        return
    largest = max(peers, key=lambda tier: tier.replicas)
    for replicas in range(largest.replicas + 1, most_replicas + 1):
        times = replicas / largest.replicas
        host_bytes = round(largest.host_bytes_per_rank * times)
        yield replace(
            largest,
            replicas=replicas,
            survives=float(replicas),
            model=replace(largest.model, stall_s=largest.model.stall_s * times),
            host_bytes_per_rank=host_bytes,
            evidence=EvidenceCode.EXTRAPOLATED,
        )


def _going_on(considered: Consideration) -> tuple[str, ...]:
    return tuple(c.mechanism for c in considered.candidates if c.native is not None)
