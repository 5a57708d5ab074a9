"""A fault that finds nothing to strike is refused before the run, with what would be valid."""

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from measure.architectures.registry import entry_named as architecture_named
from measure.errors import UsageError
from measure.faults.acts.catalogue import ACTS
from measure.faults.needs import check_pair
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.mechanisms.catalogue import MECHANISMS
from measure.mechanisms.registry import entry_named as mechanism_named

ON_STORAGE = (
    FaultKind.FULL_STORAGE,
    FaultKind.SLOW_STORAGE,
    FaultKind.CORRUPT_SHARD,
    FaultKind.MISSING_SHARD,
    FaultKind.CORRUPT_MANIFEST,
)


def check(kind: FaultKind, architecture: str, mechanism: str, rank: int = 1) -> None:
    schedule = Schedule("test", (FaultEvent(rank, kind, step=3),))
    check_pair(schedule, architecture_named(architecture), mechanism_named(mechanism))


def fitting(kind: FaultKind) -> list[str]:
    """The mechanisms with which a fault of this kind finds what it is to strike."""
    found = []
    for entry in MECHANISMS:
        try:
            check(kind, "a2", entry.mechanism)
        except UsageError:
            continue
        found.append(entry.mechanism)
    return found


@pytest.mark.parametrize("kind", ON_STORAGE)
def test_faults_of_storage_need_a_mechanism_that_writes_to_it(kind: FaultKind) -> None:
    assert fitting(kind) == ["ft1", "ft3"]
    with pytest.raises(UsageError, match="needs a mechanism that writes to storage: ft1, ft3, not"):
        check(kind, "a2", "ft2")


def test_a_flipped_replica_needs_replicas() -> None:
    assert fitting(FaultKind.FLIP_REPLICA) == ["ft2", "ft4", "ft5", "ft6"]
    check(FaultKind.FLIP_REPLICA, "a2", "ft2+ft1")
    check(FaultKind.CORRUPT_SHARD, "a2", "ft2+ft1")


@pytest.mark.parametrize("kind", [k for k in FaultKind if k not in ON_STORAGE])
def test_the_others_find_a_process_everywhere(kind: FaultKind) -> None:
    if kind not in (FaultKind.FLIP_REPLICA, FaultKind.COORDINATOR_LOSS):
        assert fitting(kind) == [entry.mechanism for entry in MECHANISMS]


def test_a_coordinator_is_lost_where_there_is_one_and_it_is_that_rank() -> None:
    fits = [a.architecture for a in ARCHITECTURES if a.coordinator is not None]
    assert fits == ["a1-sync", "a1-async"]
    check(FaultKind.COORDINATOR_LOSS, "a1-sync", "ft1", rank=0)
    with pytest.raises(UsageError, match="strikes rank 0, the coordinator of a1-sync, not rank 1"):
        check(FaultKind.COORDINATOR_LOSS, "a1-sync", "ft1", rank=1)
    with pytest.raises(UsageError, match="a coordinator: a1-sync, a1-async, not a2"):
        check(FaultKind.COORDINATOR_LOSS, "a2", "ft1", rank=0)


def test_each_kind_that_is_survived_has_its_act_and_no_other() -> None:
    assert set(ACTS) == {kind for kind in FaultKind if not kind.ends_its_rank}
