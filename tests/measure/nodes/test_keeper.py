"""Who keeps an agent: what is started again, and what ends with whom."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[3]
_KEEPER = "import sys; from measure.nodes.keeper import keep; sys.exit(keep(sys.argv[1:]))"
_CHILD = """
import os, sys, time
from pathlib import Path
from measure.nodes.keeper import die_with
die_with(os.getppid())
with Path(sys.argv[1]).open("a") as pids:
    pids.write(f"{os.getpid()}\\n")
if sys.argv[2:]:
    sys.exit(int(sys.argv[2]))
time.sleep(300)
"""
_WITHIN_S = 30.0


def pids_in(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().splitlines()] if path.exists() else []


def is_there(pid: int) -> bool:
    """Whether the process runs still; a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _WITHIN_S
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """Where each child writes its pid; none is left, whatever a test found."""
    path = tmp_path / "pids"
    yield path
    for pid in pids_in(path):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def keeper(pids: Path, *exit_code: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", _KEEPER, sys.executable, "-c", _CHILD, str(pids), *exit_code]
    return subprocess.Popen(command, cwd=_ROOT, stdin=subprocess.DEVNULL, start_new_session=True)


@pytest.mark.integration
def test_who_is_killed_is_started_again_and_ends_with_the_keeper(pids: Path) -> None:
    with keeper(pids) as process:
        for times in (1, 2):
            wait_until(lambda: len(pids_in(pids)) == times)  # noqa: B023
            os.kill(pids_in(pids)[-1], signal.SIGKILL)
        wait_until(lambda: len(pids_in(pids)) == 3)
        process.send_signal(signal.SIGUSR1)  # a scheduler's warning, for the supervisor
        process.terminate()
        assert process.wait(_WITHIN_S) == 0
    assert not any(is_there(pid) for pid in pids_in(pids))


@pytest.mark.integration
def test_who_ends_by_itself_is_not_started_again(pids: Path) -> None:
    with keeper(pids, "3") as process:
        assert process.wait(_WITHIN_S) == 3
    assert len(pids_in(pids)) == 1


@pytest.mark.integration
def test_a_keeper_that_is_killed_leaves_nobody(pids: Path) -> None:
    with keeper(pids) as process:
        wait_until(lambda: len(pids_in(pids)) == 1)
        process.kill()
    wait_until(lambda: not is_there(pids_in(pids)[0]))
