"""What a fault needs of the pair that it is to strike; pure, from the catalogues."""

from collections.abc import Callable, Mapping

from measure.architectures.catalogue import ARCHITECTURES
from measure.errors import UsageError
from measure.faults.schedule import FaultKind, Schedule
from measure.interfaces.capabilities import ArchitectureEntry, MechanismEntry
from measure.mechanisms.catalogue import MECHANISMS


def _holds_replicas(mechanism: MechanismEntry) -> bool:
    return mechanism.replicas > 0


def _writes_to_storage(mechanism: MechanismEntry) -> bool:
    return mechanism.writes_to_storage


_OF_THE_MECHANISM: Mapping[FaultKind, tuple[Callable[[MechanismEntry], bool], str]] = {
    FaultKind.FLIP_REPLICA: (_holds_replicas, "keeps states in memory"),
    FaultKind.FULL_STORAGE: (_writes_to_storage, "writes to storage"),
    FaultKind.SLOW_STORAGE: (_writes_to_storage, "writes to storage"),
    FaultKind.CORRUPT_SHARD: (_writes_to_storage, "writes to storage"),
    FaultKind.MISSING_SHARD: (_writes_to_storage, "writes to storage"),
    FaultKind.CORRUPT_MANIFEST: (_writes_to_storage, "writes to storage"),
}


def check_pair(
    schedule: Schedule, architecture: ArchitectureEntry, mechanism: MechanismEntry
) -> None:
    """UsageError, with what would be valid, unless each fault finds in a run of this pair what it
    is to strike."""
    for number, event in enumerate(schedule.events):
        where = f"event {number}: a {event.kind.value}"
        if event.kind is FaultKind.COORDINATOR_LOSS:
            _check_coordinator(where, event.rank, architecture)
        has_it, what = _OF_THE_MECHANISM.get(event.kind, (_anything, ""))
        if not has_it(mechanism):
            valid = ", ".join(entry.mechanism for entry in MECHANISMS if has_it(entry))
            raise UsageError(
                f"{where} needs a mechanism that {what}: {valid}, not {mechanism.mechanism}"
            )


def _anything(mechanism: MechanismEntry) -> bool:
    return True


def _check_coordinator(where: str, rank: int, architecture: ArchitectureEntry) -> None:
    if architecture.coordinator is None:
        valid = ", ".join(e.architecture for e in ARCHITECTURES if e.coordinator is not None)
        raise UsageError(
            f"{where} needs an architecture with a coordinator: {valid},"
            f" not {architecture.architecture}"
        )
    if rank != architecture.coordinator:
        raise UsageError(
            f"{where} strikes rank {architecture.coordinator}, the coordinator of"
            f" {architecture.architecture}, not rank {rank}"
        )
