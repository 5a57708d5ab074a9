"""Faults of what is kept for a recovery, on storage and in memory: damage is never loaded."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from measure.faults.acts.act import Act
from measure.faults.acts.catalogue import ACTS
from measure.faults.kinds import FaultKind
from measure.interfaces.architecture import Architecture
from measure.rank.groups import ProcessGroups
from measure.state import segment_names, segments
from measure.state.agreement import save_together
from measure.state.checkpoints import Checkpoints
from measure.state.contract import capture
from measure.state.errors import CorruptStateError, NoSpaceError, PeerFailedError
from measure.state.layout import Layout, StreamDigests
from measure.state.segments import Slot
from tests.measure.faults.acts.struck import FACTS, RUN_KEY, scene_of
from tests.measure.ranks import Failed, Request, run_ranks

pytestmark = [pytest.mark.integration, pytest.mark.timeout(90)]

VICTIM, WORLD = 1, 2


@pytest.fixture(autouse=True)
def _clean() -> Iterator[None]:
    yield
    segment_names.remove(RUN_KEY)


def struck(act: Act, architecture: Architecture, folder: str) -> dict[str, Any]:
    """What the act said of itself."""
    said: list[Any] = []
    act.strike(scene_of(architecture, folder), said.append)
    (found,) = said
    return dict(found)


def act_of(kind: FaultKind, **params: Any) -> Act:
    return ACTS[kind](params, 0)


def save(architecture: Architecture, folder: Path, step: int) -> None:
    """A generation of checkpoints that all ranks make."""
    groups = architecture.context.groups
    assert isinstance(groups, ProcessGroups)
    checkpoints, name = Checkpoints(folder), f"{folder.parent.name}-{step}"
    checkpoints.open()
    state = capture(architecture, step, FACTS)
    save_together(
        checkpoints, groups.store, name, state, lambda: checkpoints.write(state), {}, 20.0
    )


def meet(architecture: Architecture, name: str) -> None:
    """All ranks have come here."""
    groups = architecture.context.groups
    assert isinstance(groups, ProcessGroups)
    if groups.store.add(name, 1) == architecture.context.world_size:
        groups.store.set(f"{name}/all", "")
    groups.store.wait([f"{name}/all"])


def _damage_on_storage(architecture: Architecture, folder: str) -> dict[str, Any]:
    """For each kind: what the victim said, and what a loader then makes of the newest generation,
    of step 2; the one of step 1 stays."""
    found: dict[str, Any] = {}
    rank = architecture.context.rank
    for kind in (FaultKind.CORRUPT_SHARD, FaultKind.MISSING_SHARD, FaultKind.CORRUPT_MANIFEST):
        inside = Path(folder) / kind.value / "checkpoints"
        if rank == 0:
            inside.parent.mkdir()
        meet(architecture, f"folder-{kind.value}")
        for step in (1, 2):
            save(architecture, inside, step)
        said = struck(act_of(kind), architecture, str(inside.parent)) if rank == VICTIM else {}
        meet(architecture, f"struck-{kind.value}")
        checkpoints = Checkpoints(inside)
        loaded = checkpoints.newest(range(WORLD))
        found[kind.value] = {
            "said": said,
            "loaded": loaded.generation.step,
            "rejected": [(each.step, each.why) for each in loaded.rejected],
        }
    return found


def test_what_is_damaged_on_storage_is_passed_over(tmp_path: Path) -> None:
    asked = Request("a2", "linear-m2", _damage_on_storage, (str(tmp_path),))
    answers: list[Any] = run_ranks(asked, WORLD)
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    for kind, found in answers[VICTIM].items():
        assert found["loaded"] == 1, kind
        ((step, why),) = found["rejected"]
        assert (step, found["said"]["generation"]) == (2, 2)
        assert found["said"]["file"].startswith("manifest" if "manifest" in kind else "rank-00001")
        assert why
    assert answers[0]["missing-shard"]["rejected"] == answers[VICTIM]["missing-shard"]["rejected"]


def _hindered(architecture: Architecture, folder: str) -> dict[str, Any]:
    """A save with slow storage, and one after storage was full, on the victim."""
    rank, inside = architecture.context.rank, Path(folder) / "checkpoints"
    save(architecture, inside, 1)
    if rank == VICTIM:
        struck(act_of(FaultKind.SLOW_STORAGE, pause_s=0.01), architecture, folder)
    begin = time.monotonic()
    save(architecture, inside, 2)
    slow_s = time.monotonic() - begin
    if rank == VICTIM:
        struck(act_of(FaultKind.FULL_STORAGE), architecture, folder)
    error, alone = "", ""
    try:
        save(architecture, inside, 3)
    except PeerFailedError as failed:
        error = str(failed)
    try:
        Checkpoints(inside).write(capture(architecture, 4, FACTS))
    except NoSpaceError as failed:
        alone = str(failed)
    (Path(folder) / f"log-{rank}").write_text("other files are written as before", encoding="utf-8")
    meet(architecture, "tried")
    return {
        "slow_s": slow_s,
        "error": error,
        "alone": alone,
        "steps": [generation.step for generation in Checkpoints(inside).generations()],
        "left": sorted(path.name for path in inside.glob("*/.*")),
    }


def test_full_and_slow_storage_are_those_of_the_rank_that_is_struck(tmp_path: Path) -> None:
    """The kernel itself refuses: no save counts on any rank, and nothing of it is left."""
    asked = Request("a2", "linear-m2", _hindered, (str(tmp_path),))
    answers: list[Any] = run_ranks(asked, WORLD)
    assert not [answer for answer in answers if isinstance(answer, Failed)], answers
    for found in answers:
        assert f"rank {VICTIM}: NoSpaceError" in found["error"]
        assert "No space left on device" in found["error"]
        assert found["steps"] == [2, 1]
        assert found["left"] == []
    assert answers[VICTIM]["slow_s"] >= 0.02  # a header and a tensor or more
    assert "No space left on device" in answers[VICTIM]["alone"]
    assert answers[0]["alone"] == ""


def _slot(architecture: Architecture, owner: int, number: int, step: int) -> Slot:
    """A committed state in the victim's memory."""
    rank = architecture.context.rank
    slot = Slot(segment_names.path_of(RUN_KEY, rank, f"ft2-o{owner}-{number}"), rank, owner)
    state = capture(architecture, step, FACTS)
    state.plain["rank"] = owner
    layout, found = Layout.of(state), StreamDigests(Layout.of(state))
    slot.begin(layout.size_bytes)
    for _ in segments.copied_in(slot, state, layout, found):
        pass
    slot.fill(segments.content_of(state, layout, found, rank, 0))
    slot.commit()
    return slot


def _flip_in_memory(architecture: Architecture, folder: str) -> dict[str, Any]:
    if architecture.context.rank != VICTIM:
        return {}
    slots = {
        (owner, step): _slot(architecture, owner, number, step)
        for owner in (0, 1)
        for number, step in enumerate((1, 2))
    }
    said = struck(act_of(FaultKind.FLIP_REPLICA, seed=4), architecture, folder)
    damaged = []
    for key, slot in slots.items():
        try:
            slot.read()
        except CorruptStateError:
            damaged.append(key)
    return {"said": said, "damaged": damaged}


def test_a_flipped_replica_is_one_of_the_newest_save(tmp_path: Path) -> None:
    asked = Request("a2", "linear-m2", _flip_in_memory, (str(tmp_path),))
    found: Any = run_ranks(asked, WORLD)[VICTIM]
    assert not isinstance(found, Failed), found
    assert found["damaged"] == [(found["said"]["owner"], 2)]
    assert found["said"]["saved"] == 2
