"""What a fault needs of the pair that it is to strike; pure, from the catalogues."""

from collections.abc import Callable, Mapping

from measure.architectures.catalogue import ARCHITECTURES
from measure.errors import UsageError
from measure.faults.params import NETWORK
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.interfaces.capabilities import ArchitectureEntry, Cadence, MechanismEntry
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
_OF_A_SAVE = (
    FaultKind.FLIP_REPLICA,
    FaultKind.CORRUPT_SHARD,
    FaultKind.MISSING_SHARD,
    FaultKind.CORRUPT_MANIFEST,
)
"""What these strike is there once something was saved."""


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


def check_moments(
    schedule: Schedule, mechanism: MechanismEntry, interval_steps: int | None, steps: int
) -> None:
    """UsageError, with what would be valid, where a fault comes too early or too late in a run of
    `steps` steps to find what it is to strike, as far as that is known before."""
    announced = any(event.warned_s is not None for event in schedule.events)
    for number, event in enumerate(schedule.events):
        where = f"event {number}: a {event.kind.value}"
        if event.kind in _OF_A_SAVE:
            has_it, _ = _OF_THE_MECHANISM[event.kind]
            _check_saved(
                where, event.step, _first_save(mechanism, has_it, interval_steps, announced)
            )
        elif event.kind is FaultKind.STRAGGLER and event.step is not None:
            _check_slow_step(where, event, steps)


def _first_save(
    mechanism: MechanismEntry,
    has_it: Callable[[MechanismEntry], bool],
    interval_steps: int | None,
    announced: bool,
) -> int | None:
    """After how many steps such a save may be there at the earliest; None: never, as nothing is
    announced. (The slower one of two that save at intervals may take longer.)"""
    parts = [part for part in mechanism.parts or (mechanism,) if has_it(part)]
    on_warning = [part for part in parts if part.cadence is Cadence.ON_WARNING]
    if on_warning and announced:
        return 0
    return None if parts == on_warning else interval_steps


def _check_saved(where: str, step: int | None, first: int | None) -> None:
    if first is None:
        raise UsageError(
            f"{where} needs a save, and this mechanism saves when a fault is announced: give one"
            " with lead_s"
        )
    if step is not None and step < first:
        raise UsageError(
            f"{where} needs a save, and the first is made after {first} steps: give step {first} or"
            f" more, not {step}"
        )


def _check_slow_step(where: str, event: FaultEvent, steps: int) -> None:
    """A slow network begins one step later, and so does a slow computer in the first step of all:
    what a step takes has to be known."""
    assert event.step is not None
    begins_later = event.step == 0 or event.params.get("what") == NETWORK
    if begins_later and event.step + 1 >= steps:
        raise UsageError(
            f"{where} begins one step after step {event.step}, and the run has {steps} steps: give"
            f" --steps {event.step + 2} or more"
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
