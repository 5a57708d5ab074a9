"""A loss of power at any moment: the old or the new state, and after the commit the new one."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from measure.state.checkpoints import Checkpoints
from measure.state.retention import Retention
from tests.measure.state.folders import loaded_step, save, two_generations
from tests.measure.state.lossy_disk import LossyDisk, choices


def _found_after_losses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: Callable[[Checkpoints], object]
) -> list[set[int]]:
    """What may be loaded if the power goes after the first call of `action`, the second, ...;
    the last entry is for a loss after `action` has returned."""
    checkpoints = two_generations(tmp_path / "disk")
    found: list[set[int]] = []
    listening = True

    def after_call(_: str) -> None:
        nonlocal listening
        if not listening:
            return
        listening = False
        steps = set()
        for number, choose in enumerate(choices()):
            target = tmp_path / f"{len(found)}-{number}"
            disk.lay_out(target, choose)
            steps.add(loaded_step(Checkpoints(target)))
        found.append(steps)
        listening = True

    disk = LossyDisk(checkpoints.folder, after_call)

    def patch(name: str, replacement: Any) -> None:
        original = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            return (replacement if listening else original)(*arguments, **named)

        monkeypatch.setattr(os, name, call)

    disk.listen(patch)
    action(checkpoints)
    after_call("")
    monkeypatch.undo()
    return found


def test_at_any_moment_of_a_save(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found_after_losses(tmp_path, monkeypatch, lambda c: save(c, 3))
    assert set().union(*found) == {2, 3}
    assert found[0] == {2}
    assert found[-1] == {3}, "committed is committed"
    uncertain = [steps for steps in found if len(steps) > 1]
    assert len(uncertain) == 2, "after the manifest's rename, until its folder is flushed"
    assert len(found) > 30


def test_at_any_moment_of_a_second_save_of_a_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _found_after_losses(tmp_path, monkeypatch, lambda c: save(c, 2))
    assert set().union(*found) == {2}


def test_at_any_moment_of_pruning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = _found_after_losses(tmp_path, monkeypatch, lambda c: c.prune(Retention(1, 0)))
    assert len(found) > 5
    assert set().union(*found) == {2}


@pytest.mark.parametrize("forgotten", ["file", "folder"])
def test_the_lossy_disk_finds_a_forgotten_flush(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, forgotten: str
) -> None:
    """A test of the test: without its flushes the save is not safe, and it shows."""
    from measure.state import durable

    if forgotten == "file":
        monkeypatch.setattr(durable.Draft, "publish", _publish_without_flush)
    else:
        monkeypatch.setattr(durable, "flush_folder", lambda folder: None)
    found = _found_after_losses(tmp_path, monkeypatch, lambda c: save(c, 3))
    assert found[-1] == {2, 3}, "what was reported as committed may be lost"


def _publish_without_flush(self: Any, name: str) -> Path:
    from measure.state import durable

    self.close()
    final: Path = self.path.rename(self.path.with_name(name))
    durable.flush_folder(final.parent)
    return final
