"""What each mechanism of an answer keeps, at which price, and what its states survive. Pure.

By cadence and paths, never by name: states on storage survive every failure, states with k peers
the loss of k nodes at once, whichever nodes these are, and states that only the survivors have the
loss of one.
"""

from dataclasses import dataclass

from advisor.prediction.outcome import Prediction, emergency_save_bound_s
from advisor.prediction.predict import predict
from advisor.recommendation import Candidate
from advisor.scenario import Scenario
from advisor.simulation.process import SURVIVES_ALL, Tier
from db.records import Cadence, ClusterEvidence, Mechanism, TransferPath


@dataclass(frozen=True, slots=True)
class Emergency:
    """A save on a warning: what it takes, the lead that it needs, the restore alone (s)."""

    save_s: float
    needs_s: float
    restore_s: float


@dataclass(frozen=True, slots=True)
class Part:
    """One mechanism at work. Times in seconds, memory in bytes per rank.

    It has an `interval_steps` that is `least_steps` or more, or an `emergency` save, or neither: it
    then always has a state. `overhead` lies on all work. Its states survive the loss of `survives`
    nodes at once, and are with `replicas` peers each (0: not with peers).
    """

    mechanism: str
    replicas: int
    survives: int
    stall_s: float
    restore_s: float
    interval_steps: int | None
    least_steps: int
    can_vary: bool
    overhead: float
    emergency: Emergency | None
    host_bytes_per_rank: int
    device_bytes_per_rank: int

    def tier(self, step_time_s: float) -> Tier | None:
        """The tier that it is with steps that long (s); None if it saves on a warning only."""
        if self.emergency is not None:
            return None
        interval_s = (self.interval_steps or 0) * step_time_s
        return Tier(interval_s, self.stall_s, self.restore_s, self.survives)

    def overhead_fraction(self, step_time_s: float) -> float:
        """What it adds to the job's work: its saves and what lies on all of it."""
        if self.interval_steps is None:
            return self.overhead
        return self.overhead + self.stall_s / (self.interval_steps * step_time_s)


def part_of(evidence: ClusterEvidence, scenario: Scenario, candidate: Candidate) -> Part | None:
    """The candidate as a part of a process, from its own prediction; None outside Eq. (5)."""
    if candidate.model is None:
        return None
    mechanism = evidence.mechanisms[candidate.mechanism]
    prediction = predict(evidence, scenario, mechanism)
    model = prediction.model
    emergency = None
    again_s = model.lost_steps * scenario.step_time_s
    replicas = replicas_of(mechanism, prediction, scenario.state_bytes)
    if mechanism.cadence is Cadence.ON_WARNING:
        save_s = prediction.save_s or 0.0
        emergency = Emergency(
            save_s=save_s,
            needs_s=emergency_save_bound_s(prediction),
            restore_s=max(model.restore_s - save_s, 0.0) + again_s,
        )
    return Part(
        mechanism=candidate.mechanism,
        replicas=replicas,
        survives=survives(mechanism, replicas),
        stall_s=model.stall_s,
        restore_s=model.restore_s if model.is_periodic else model.restore_s + again_s,
        interval_steps=candidate.interval_steps,
        least_steps=model.min_interval_steps,
        can_vary=mechanism.cadence is Cadence.PERIODIC,
        overhead=0.0 if model.is_periodic else model.overhead,
        emergency=emergency,
        host_bytes_per_rank=prediction.host_bytes_per_rank,
        device_bytes_per_rank=prediction.device_bytes_per_rank,
    )


def survives(mechanism: Mechanism, replicas: int) -> int:
    """How many nodes may be lost at once, by where the mechanism's states are."""
    paths = (mechanism.save_path, mechanism.persist_path)
    if TransferPath.STORAGE_WRITE in paths:
        return SURVIVES_ALL
    return replicas if TransferPath.PEER in paths else 1


def replicas_of(mechanism: Mechanism, prediction: Prediction, state_bytes: int) -> int:
    """How many peers hold each rank's state, 0 where no peers do: as many as the prediction has
    memory for, since the measured ones may differ from the mechanism's default."""
    if TransferPath.PEER not in (mechanism.save_path, mechanism.persist_path):
        return 0
    copy_bytes = mechanism.host_copies_per_replica * state_bytes
    return (
        prediction.host_bytes_per_rank // copy_bytes if copy_bytes else mechanism.default_replicas
    )
