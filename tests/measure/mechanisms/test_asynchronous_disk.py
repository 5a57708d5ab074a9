"""FT3: saves beside the training, on all ranks or on none; real ranks."""

from pathlib import Path
from typing import Any

import pytest
import torch.distributed as dist

from measure.mechanisms.asynchronous_disk import FOLDER
from measure.state.background import BackgroundSaves, Ended, Terms
from measure.state.checkpoints import Checkpoints
from measure.state.manifest import Serves
from measure.state.retention import Retention
from tests.measure.mechanisms import saving
from tests.measure.mechanisms.saving import Came, Proof, proof
from tests.measure.ranks import Died, Request, run_ranks
from tests.measure.state import os_calls
from tests.measure.state.conftest import in_memory
from tests.measure.state.folders import loaded_step, two_generations
from tests.measure.state.processes import on_ranks
from tests.measure.state.states import small_state

__all__ = ["in_memory"]

_PAIRS = 8

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


def ran(body: Any, *arguments: Any, ranks: int = 2, **changes: Any) -> list[Any]:
    """What each rank of an A2 of the smoke profile answered."""
    asked = {"architecture": "a2", "workload": "resnet50", **changes}
    return run_ranks(Request(body=body, arguments=arguments, **asked), ranks)


def newest_saved(folder: Path, ranks: int = 2) -> tuple[int, list[Proof]]:
    """The step of what a loader finds, and what proves each rank's state."""
    loaded = Checkpoints(folder / FOLDER).newest(range(ranks))
    return loaded.generation.step, [proof(loaded.states[r]) for r in range(ranks)]


@pytest.mark.parametrize("one_writer", [True, False])
def test_what_is_saved_is_the_state_at_its_step_and_not_what_training_made_of_it(
    tmp_path: Path, one_writer: bool
) -> None:
    answers: list[Came] = ran(saving.saves, "ft3", str(tmp_path), 11, one_writer)
    for rank, answer in enumerate(answers):
        assert answer.events_by_step() == {3: ["saved"], 6: ["saved"], 9: ["saved"]}
        for event in answer.events:
            assert event["path"] == "storage"
            assert 0 < event["s"] < event["background_s"]
            assert (event["bytes"] > 30_000) == (not one_writer or rank == 0)
    step, found = newest_saved(tmp_path)
    assert step == 9
    assert found == [answer.digests[9] for answer in answers]
    manifest = Checkpoints(tmp_path / FOLDER).generations()[0].manifest
    assert manifest.lineage == {"mechanism": "ft3", "group_generation": 0}


def test_a_save_that_is_due_too_early_is_skipped_and_counted_on_all_ranks(tmp_path: Path) -> None:
    answers: list[Came] = ran(saving.saves_too_often, str(tmp_path), 20)
    by_step = [answer.events_by_step() for answer in answers]
    assert by_step[0] == by_step[1]
    assert sorted(by_step[0]) == list(range(1, 21)), "each due step has its outcome"
    outcomes = [event for events in by_step[0].values() for event in events]
    assert len(outcomes) == 20
    assert set(outcomes) == {"saved", "save-skipped"}
    assert outcomes.count("save-skipped") > 5
    saved = [step for step, events in by_step[0].items() if events == ["saved"]]
    step, found = newest_saved(tmp_path)
    assert step == max(saved)
    assert found == [answer.digests[step] for answer in answers]


def test_one_busy_rank_vetoes_a_save_and_nobody_waits(tmp_path: Path) -> None:
    answers: list[Came] = ran(saving.one_is_busy, str(tmp_path))
    for answer in answers:
        assert answer.events_by_step() == {2: ["saved"], 4: ["save-skipped"], 6: ["saved"]}
        assert "the save of step 2 is still being written" in answer.why(4)
        assert answer.seconds < saving.PATIENT_S / 2
    assert newest_saved(tmp_path)[0] == 6


@pytest.mark.parametrize("call", ["open", "fsync"])
def test_what_fails_on_the_last_rank_fails_on_all_and_training_goes_on(
    tmp_path: Path, call: str
) -> None:
    for answer, left in ran(saving.one_fails, str(tmp_path), call, ranks=3):
        assert answer.events_by_step() == {2: ["saved"], 4: ["save-failed"], 6: ["saved"]}
        assert "rank 2: OSError" in answer.why(4)
        assert left == [], "on a full disk, it would take the room of the next ones"
    steps = [g.step for g in Checkpoints(tmp_path / FOLDER).generations()]
    assert steps == [6, 2]


def test_a_save_in_flight_is_given_up_when_somebody_is_lost(tmp_path: Path) -> None:
    for answer, here, saved_again in ran(saving.detaches, str(tmp_path), True):
        assert answer.events_by_step()[4] == ["save-failed"]
        assert "the generation of the group was over" in answer.why(4)
        assert answer.seconds < saving.PATIENT_S / 2
        assert here == [2]
        assert saved_again


def test_a_save_in_flight_is_completed_when_nobody_is_lost(tmp_path: Path) -> None:
    for answer, here, saved_again in ran(saving.detaches, str(tmp_path), False):
        assert answer.events_by_step()[4] == ["saved"]
        assert here == [4, 2]
        assert saved_again


def test_a_save_whose_shards_are_all_there_is_committed_before_the_generation_ends(
    tmp_path: Path,
) -> None:
    for answer, here in ran(saving.commits_late, str(tmp_path)):
        assert answer.events_by_step() == {2: ["saved"]}
        assert here == [2]


def test_a_writer_that_hangs_commits_nothing_any_more_and_holds_up_nobody(tmp_path: Path) -> None:
    for answer, own_buffers, steps in ran(saving.hangs, str(tmp_path)):
        assert answer.events_by_step() == {2: ["save-failed"], 4: ["saved"]}
        assert "the writer hangs" in answer.why(2)
        assert answer.seconds < saving.PATIENT_S / 2
        assert own_buffers
        assert steps == [4]


def test_a_peer_that_dies_in_its_save_fails_it_without_a_wait(tmp_path: Path) -> None:
    *survivors, dead = ran(saving.loses_a_peer, str(tmp_path), ranks=3)
    assert isinstance(dead, Died)
    for answer in survivors:
        assert answer.events_by_step() == {2: ["saved"], 4: ["save-failed"]}
        assert answer.seconds < saving.PATIENT_S / 2
    step, found = newest_saved(tmp_path, 3)
    assert step == 2
    assert found[:2] == [answer.digests[2] for answer in survivors]


@pytest.mark.parametrize("mechanism", ["ft1", "ft3"])
def test_fifty_saves_do_not_grow_memory(tmp_path: Path, mechanism: str) -> None:
    """9 MB a shard: pipeline stages of the `cpu` profile."""
    asked: Any = {"architecture": "a4", "workload": "megatron-mlp-a4", "profile": "cpu"}
    growths = ran(saving.memory_growth, mechanism, str(tmp_path), 50, **asked)
    print(f"\n{mechanism}: {[f'{growth / 1e3:.0f} kB a save' for growth in growths]}")
    assert all(growth < 1_000_000 for growth in growths), growths


def _saved_in_the_background(
    store: dist.Store, number: int, _: int, place: str, first: int, victim: int
) -> str:
    """One of many pairs of ranks, each with a folder of its own, that save step 3 as FT3 does.

    The victim of a pair is killed at one call, that of the next pair at the next one. Returns
    why the save failed.
    """
    pair, rank = divmod(number, 2)
    folder = Path(place) / str(first + pair)
    terms = Terms(folder, rank, 2, Serves.OWN, {}, Retention(1, 0), patience_s=4.0)
    ended: list[Ended] = []
    saves = BackgroundSaves(terms, dist.PrefixStore(str(pair), store), ended.append)
    if rank == victim:
        os_calls.kill_at(first + pair, "half")
    saves.save(small_state(3, rank, 2))
    saves.wait(saving.PATIENT_S)
    return ended[0].why


@pytest.mark.parametrize("victim", [0, 1])
def test_killed_at_any_call_of_a_background_save(in_memory: Path, victim: int) -> None:
    """The loader finds the old one up to the commit, the new one from then on, nothing else; and
    a survivor calls saved only what it finds."""
    found, died = list[int](), list[bool]()
    for first in range(1, 100, _PAIRS):
        for number in range(first, first + _PAIRS):
            two_generations(in_memory / str(number))
        arguments = (str(in_memory), first, victim)
        answers = on_ranks(_saved_in_the_background, 2 * _PAIRS, *arguments, deadline_s=60)
        for pair in range(_PAIRS):
            found.append(loaded_step(Checkpoints(in_memory / str(first + pair))))
            died.append(isinstance(answers[2 * pair + victim], Died))
            assert found[-1] == 3 or answers[2 * pair + 1 - victim]
        if not died[-1]:
            break
    print(f"\nrank {victim} killed at each of {sum(died)} calls: {found}")
    assert died == sorted(died, reverse=True), "at each call, up to the last one"
    assert not died[-1]
    assert found == sorted(found)
    assert set(found) == {2, 3}
    assert sum(died) > 10
