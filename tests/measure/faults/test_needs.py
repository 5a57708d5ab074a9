"""A fault that finds nothing to strike is refused before the run, with what would be valid."""

import json
from pathlib import Path

import pytest

from measure.architectures.catalogue import ARCHITECTURES
from measure.architectures.registry import entry_named as architecture_named
from measure.errors import UsageError
from measure.faults.acts.catalogue import ACTS
from measure.faults.needs import check_moments, check_pair
from measure.faults.schedule import FaultEvent, FaultKind, Schedule
from measure.mechanisms.catalogue import MECHANISMS
from measure.mechanisms.registry import entry_named as mechanism_named
from measure.plan import cells_of
from tests.measure.harness import request

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


def moment(event: FaultEvent, mechanism: str, *others: FaultEvent, interval: int = 10) -> None:
    schedule = Schedule("test", (event, *others))
    check_moments(schedule, mechanism_named(mechanism), interval, 40)


OF_A_SAVE = [*(k for k in ON_STORAGE if "storage" not in k.value), FaultKind.FLIP_REPLICA]


@pytest.mark.parametrize("kind", OF_A_SAVE)
def test_what_strikes_a_save_comes_after_one(kind: FaultKind) -> None:
    """Before, the run would be made and then be no evidence."""
    mechanism = "ft2+ft1"
    with pytest.raises(UsageError, match="the first is made after 10 steps: give step 10 or more"):
        moment(FaultEvent(1, kind, step=9), mechanism)
    moment(FaultEvent(1, kind, step=10), mechanism)
    moment(FaultEvent(1, kind, time_s=0.1), mechanism)  # how many steps that is nobody knows


def test_where_every_step_is_saved_the_first_has_none_before_it() -> None:
    flip = FaultKind.FLIP_REPLICA
    with pytest.raises(UsageError, match="after 1 steps"):
        moment(FaultEvent(1, flip, step=0), "ft5", interval=1)
    moment(FaultEvent(1, flip, step=1), "ft5", interval=1)


def test_who_saves_on_a_warning_needs_one() -> None:
    flip = FaultEvent(1, FaultKind.FLIP_REPLICA, step=20)
    crash = FaultEvent(2, step=10, lead_s=0.5)
    lost = FaultEvent(2, step=10, lead_s=0.5, params={"warning": "lost"})
    moment(flip, "ft4", crash)
    moment(flip, "ft4+ft2")
    for others in ((), (lost,)):
        with pytest.raises(UsageError, match="saves when a fault is announced"):
            moment(flip, "ft4", *others)


@pytest.mark.parametrize(("step", "what"), [(39, "network"), (0, "compute")])
def test_a_straggler_needs_a_step_in_which_it_is_slow(step: int, what: str) -> None:
    params = {"factor": 2.0, "what": what}
    schedule = Schedule("test", (FaultEvent(1, FaultKind.STRAGGLER, step=step, params=params),))
    with pytest.raises(UsageError, match=f"give --steps {step + 2} or more"):
        check_moments(schedule, mechanism_named("ft1"), 10, step + 1)
    check_moments(schedule, mechanism_named("ft1"), 10, step + 2)


def test_the_plan_refuses_what_comes_too_early(tmp_path: Path) -> None:
    path = tmp_path / "early.json"
    event = {"rank": 1, "kind": "corrupt-shard", "step": 4}
    told = {"schema": "failbench-faults", "version": 1, "events": [event]}
    path.write_text(json.dumps(told), encoding="utf-8")
    asked = request("a2", mechanism="ft1", traces=[str(path)], interval_steps=5)
    with pytest.raises(UsageError, match="give step 5 or more, not 4"):
        cells_of(asked)
