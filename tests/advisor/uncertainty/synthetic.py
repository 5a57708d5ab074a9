"""Clusters whose truth is known, made without any code of the program but its records.

Each mechanism truly costs a stall per save and a restore; a few runs measure them with noise, and
only what a source would print of the runs gets into the evidence: their mean, n, and a half range
or the half width of a 95 % interval, or no dispersion at all of a single run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import exp, sqrt
from random import Random
from statistics import fmean
from typing import Any

from advisor.scenario import ScenarioInput
from db.records import (
    Architecture,
    Cadence,
    Cluster,
    ClusterEvidence,
    Compatibility,
    DispersionKind,
    Evidence,
    EvidencedValue,
    Mechanism,
    OperatingPoint,
    PairStatus,
    Quantity,
    TransferPath,
)

STEP_S = 0.1
BATCH = 32
BASELINE = "none"
MEASURED_INTERVAL = 100
STATE_BYTES = 200_000_000
DETECTION_S, REGROUP_S = 20.0, 5.0
_T_975 = {1: 12.7062, 2: 4.30265, 3: 3.18245, 4: 2.77645, 5: 2.57058}
"""Student's t, as printed in tables."""


@dataclass(frozen=True)
class Truth:
    """What one mechanism really costs (s)."""

    stall_s: float
    restore_s: float

    def completion_s(
        self, duration_s: float, mtbf_s: float, interval_steps: int, step_s: float = STEP_S
    ) -> float:
        """Eq. (5), written down from the paper."""
        between_s = interval_steps * step_s
        failure_s = DETECTION_S + self.restore_s + REGROUP_S + between_s / 2.0
        training_s = duration_s * (1.0 + self.stall_s / between_s)
        return training_s + training_s / mtbf_s * failure_s


@dataclass(frozen=True)
class SyntheticCluster:
    evidence: ClusterEvidence
    truths: dict[str, dict[str, Truth]]
    """Of each architecture's mechanisms."""


def synthetic_cluster(
    random: Random,
    mechanisms: int = 3,
    architectures: int = 9,
    runs: Sequence[int] = (1, 2, 3, 4, 5, 6),
) -> SyntheticCluster:
    """So many mechanisms on so many architectures, each pair measured one of `runs` times, all with
    the same noise, as in a campaign.

    The mechanisms differ little enough that some picks are hard.
    """
    noise = exp(random.gauss(-1.7, 0.3))
    truths = {
        f"b{number}": {f"ft{each + 1}": _truth(random) for each in range(mechanisms)}
        for number in range(architectures)
    }
    points = [
        point_of(mechanism, _runs(random, truth, noise, random.choice(runs)), architecture)
        for architecture, of_mechanisms in truths.items()
        for mechanism, truth in of_mechanisms.items()
    ]
    return SyntheticCluster(evidence_of(points), truths)


@dataclass(frozen=True)
class UnsteadyCluster:
    """One whose steps are known badly too."""

    evidence: ClusterEvidence
    truths: dict[str, dict[str, Truth]]
    steps_s: dict[str, float]
    """True step time of each architecture."""


def unsteady_cluster(
    random: Random, mechanisms: int = 3, architectures: int = 3, runs: Sequence[int] = (1, 2, 3)
) -> UnsteadyCluster:
    """Everything measured one of `runs` times with a noise of 5 to 30 %, throughput too, from
    which the step time is taken.

    The first mechanism's stall is known as a share of the steps between two saves, whatever these
    take; the others' from their saves' clocks, in seconds. So an error in the step time changes
    who is the soonest.
    """
    noise = random.uniform(0.05, 0.30)
    steps_s = {f"b{each}": STEP_S * exp(random.gauss(0.0, 0.5)) for each in range(architectures)}
    truths, points = {}, []
    for architecture, step_s in steps_s.items():
        own = {f"ft{each + 1}": _truth(random) for each in range(mechanisms)}
        truths[architecture] = own
        for name, truth in own.items():
            values = _noisy_runs(random, truth, noise, random.choice(runs), step_s, name != "ft1")
            points.append(point_of(name, values, architecture))
        throughput = _measured(random, BATCH / step_s, noise, random.choice(runs), _factor)
        points.append(point_of(BASELINE, {Quantity.THROUGHPUT: throughput}, architecture))
    return UnsteadyCluster(evidence_of(points), truths, steps_s)


def _noisy_runs(
    random: Random, truth: Truth, noise: float, n: int, step_s: float, has_clock: bool
) -> dict[Quantity, EvidencedValue]:
    found = {Quantity.RESTORE: _measured(random, truth.restore_s, noise, n, _factor)}
    overhead = truth.stall_s / (MEASURED_INTERVAL * step_s)
    if not has_clock:
        found[Quantity.OVERHEAD] = _measured(random, overhead, noise, n, _factor)
        return found
    # So wide an interval that the save's clock always lies within it, and answers.
    found[Quantity.OVERHEAD] = EvidencedValue(
        overhead,
        Evidence.MEASURED,
        n=1,
        dispersion=1e3,
        dispersion_kind=DispersionKind.CI95_HALF_WIDTH,
    )
    found[Quantity.SAVE] = _measured(random, truth.stall_s, noise, n, _factor)
    return found


def _factor(random: Random, noise: float) -> float:
    """Of a run that takes so many times as long as it should: above 0, as a duration is."""
    return exp(random.gauss(0.0, noise))


def _summand(random: Random, noise: float) -> float:
    return 1.0 + random.gauss(0.0, noise)


def question(architecture: str = "b0", mtbf_s: float = 3_600.0, **more: Any) -> ScenarioInput:
    """A job on one of the architectures, in which nothing but the mechanisms is uncertain."""
    stated: dict[str, Any] = {
        "cluster": "synthetic",
        "architecture": architecture,
        "state_bytes": STATE_BYTES,
        "mtbf_s": mtbf_s,
        "step_time_s": STEP_S,
        "detection_s": DETECTION_S,
        "regroup_s": REGROUP_S,
        "init_s": 0.0,
        "duration_s": 2_592_000.0,
        "interval": MEASURED_INTERVAL,
    }
    return ScenarioInput(**(stated | more))


def evidence_of(points: Sequence[OperatingPoint]) -> ClusterEvidence:
    """Periodic mechanisms, viable on every architecture; no two architectures are alike."""
    architectures = sorted({point.architecture for point in points})
    mechanisms = sorted({point.mechanism for point in points})
    return ClusterEvidence(
        cluster=Cluster("synthetic", "", 1, 8, "none", None, None, "none", "none"),
        architectures={
            name: Architecture(name, name.upper(), "", frozenset({name})) for name in architectures
        },
        mechanisms={name: _mechanism(name) for name in mechanisms},
        compatibility={
            (architecture, name): Compatibility(architecture, name, PairStatus.VIABLE, "")
            for architecture in architectures
            for name in mechanisms
        },
        points=tuple(points),
        calibrations=(),
        sources={},
    )


def point_of(
    mechanism: str, values: dict[Quantity, EvidencedValue], architecture: str = "b0"
) -> OperatingPoint:
    return OperatingPoint(
        point_id=point_id(mechanism, architecture),
        cluster="synthetic",
        architecture=architecture,
        mechanism=mechanism,
        workload="resnet50-cpu",
        state_bytes=STATE_BYTES,
        batch_per_rank=BATCH,
        interval_steps=MEASURED_INTERVAL,
        trace="F1",
        values=values,
    )


def point_id(mechanism: str, architecture: str = "b0") -> str:
    return f"synthetic/{architecture}/{mechanism}"


def _truth(random: Random) -> Truth:
    return Truth(exp(random.gauss(-1.0, 0.5)), exp(random.gauss(2.0, 0.5)))


def _runs(random: Random, truth: Truth, noise: float, n: int) -> dict[Quantity, EvidencedValue]:
    overhead = truth.stall_s / (MEASURED_INTERVAL * STEP_S)
    return {
        Quantity.OVERHEAD: _measured(random, overhead, noise, n),
        Quantity.RESTORE: _measured(random, truth.restore_s, noise, n),
    }


def _measured(
    random: Random,
    truth: float,
    noise: float,
    n: int,
    share: Callable[[Random, float], float] = _summand,
) -> EvidencedValue:
    """The mean of n runs with this relative noise, and what is printed of their dispersion."""
    found = [truth * share(random, noise) for _ in range(n)]
    if n == 1:
        return EvidencedValue(found[0], Evidence.MEASURED, n=1)
    if random.random() < 0.5:
        kind, width = DispersionKind.HALF_RANGE, (max(found) - min(found)) / 2.0
    else:
        kind, width = DispersionKind.CI95_HALF_WIDTH, _T_975[n - 1] * _deviation(found) / sqrt(n)
    return EvidencedValue(
        fmean(found), Evidence.MEASURED, n=n, dispersion=width, dispersion_kind=kind
    )


def _deviation(runs: Sequence[float]) -> float:
    mean = fmean(runs)
    return sqrt(sum((each - mean) ** 2 for each in runs) / (len(runs) - 1))


def _mechanism(name: str) -> Mechanism:
    return Mechanism(
        mechanism_id=name,
        name=name,
        family="",
        description="",
        cadence=Cadence.NEVER if name == BASELINE else Cadence.PERIODIC,
        save_path=TransferPath.PEER,
        persist_path=TransferPath.NONE,
        restore_path=TransferPath.PEER,
        default_replicas=0,
        host_copies_per_replica=0,
        device_copies_per_replica=0,
    )
