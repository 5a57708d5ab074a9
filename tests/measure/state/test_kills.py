"""A writer that is killed at any moment: the loader returns the old or the new state."""

import os
import shutil
import signal
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from measure.state.checkpoints import Checkpoints
from measure.state.errors import NoSpaceError
from measure.state.retention import Retention
from tests.fork_server import fork_server
from tests.measure.state import os_calls
from tests.measure.state.folders import loaded_step, save, two_generations
from tests.measure.state.states import state_of

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]


def _save(folder: str, number: int, when: str) -> None:
    torch.set_num_threads(1)
    os_calls.kill_at(number, when)
    save(Checkpoints(Path(folder)), 3)


def _save_again(folder: str, number: int, when: str) -> None:
    torch.set_num_threads(1)
    os_calls.kill_at(number, when)
    save(Checkpoints(Path(folder)), 2)


def _prune(folder: str, number: int, when: str) -> None:
    torch.set_num_threads(1)
    os_calls.kill_at(number, when)
    Checkpoints(Path(folder)).prune(Retention(1, 0))


def _steps_found(place: Path, body: Any, when: str) -> list[int]:
    """What was loaded after a kill at the first call, the second one, ... up to the last one;
    then, what is loaded after no kill at all."""
    found, template = [], place / "template"
    two_generations(template)
    for number in range(1, 200):
        folder = place / str(number)
        shutil.copytree(template, folder)
        process = fork_server().Process(target=body, args=(str(folder), number, when))
        process.start()
        process.join()
        checkpoints = Checkpoints(folder)
        found.append(loaded_step(checkpoints))
        _next_save_succeeds(checkpoints)
        if process.exitcode == 0:
            return found
        assert process.exitcode == -signal.SIGKILL
    raise AssertionError("more calls than expected")


def _next_save_succeeds(checkpoints: Checkpoints) -> None:
    """What was left behind hinders nobody, and no draft survives the next start."""
    checkpoints.open()
    assert not list(checkpoints.folder.rglob("*.tmp"))
    save(checkpoints, 4)
    assert loaded_step(checkpoints) == 4


@pytest.mark.parametrize("when", ["half", "after"])
def test_killed_at_any_call_of_a_save(in_memory: Path, when: str) -> None:
    found = _steps_found(in_memory, _save, when)
    print(f"\nkilled {when} each of {len(found) - 1} calls: {found}")
    assert found == sorted(found), "the old one up to the commit, the new one from then on"
    assert set(found) == {2, 3}
    assert len(found) > 30


def test_killed_at_any_call_of_a_second_save_of_a_step(in_memory: Path) -> None:
    assert set(_steps_found(in_memory, _save_again, "half")) == {2}


def test_killed_at_any_call_of_pruning(in_memory: Path) -> None:
    assert set(_steps_found(in_memory, _prune, "before")) == {2}


def _write_slowly(folder: str, started: Any) -> None:
    write = os.write

    def slow(descriptor: int, data: Any) -> int:
        started.set()
        time.sleep(0.05)
        return write(descriptor, data[:4096])

    os_calls.set_on_os("write", slow)
    Checkpoints(Path(folder)).write(state_of(3, large=torch.zeros(1_000_000)))


def test_a_slow_writer_killed_in_the_middle_leaves_the_older_one(tmp_path: Path) -> None:
    checkpoints = two_generations(tmp_path)
    started = fork_server().Event()
    process = fork_server().Process(target=_write_slowly, args=(str(tmp_path), started))
    process.start()
    assert started.wait(30)
    time.sleep(0.3)
    assert checkpoints.open() == [], "the writer lives: its draft stays"
    assert loaded_step(checkpoints) == 2
    process.kill()
    process.join()
    assert loaded_step(checkpoints) == 2
    (swept,) = checkpoints.open()
    assert swept.name.startswith(".rank-00000-new.")


def _fill(folder: str) -> None:
    """Ends with 0 if both saves raise NoSpaceError: the one that asks for space first, and the
    one from which another process takes the space after the question."""
    large = state_of(3, large=torch.zeros(1_000_000))
    for free in (os.statvfs, lambda path: SimpleNamespace(f_bavail=1 << 40, f_frsize=1)):
        os_calls.set_on_os("statvfs", free)
        try:
            Checkpoints(Path(folder)).write(large)
        except NoSpaceError:
            continue
        os._exit(1)
    os._exit(0)


def test_a_full_disk_keeps_the_older_one(tmp_path: Path) -> None:
    """A real file system of 1 MB, where this process may mount one."""
    mounted = os.system(f"mount -t tmpfs -o size=1m none {tmp_path} 2>/dev/null")  # noqa: S605
    if mounted != 0:
        pytest.skip("no right to mount a file system: test_shard_file has the error by itself")
    try:
        checkpoints = two_generations(tmp_path)
        process = fork_server().Process(target=_fill, args=(str(tmp_path),))
        process.start()
        process.join()
        assert process.exitcode == 0
        assert list((tmp_path / "step-00000003").iterdir()) == []
        assert loaded_step(checkpoints) == 2
        save(checkpoints, 4)
        assert loaded_step(checkpoints) == 4
    finally:
        os.system(f"umount {tmp_path}")  # noqa: S605
