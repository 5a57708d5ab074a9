"""One harness a campaign, however the one before it ends."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from measure.errors import UsageError
from measure.folder_lock import only_one

ROOT = Path(__file__).resolve().parents[2]


def test_the_second_waits_and_gives_up_in_one_line(tmp_path: Path) -> None:
    with (
        only_one(tmp_path),
        pytest.raises(UsageError, match="another harness still runs this campaign"),
        only_one(tmp_path, patience_s=0.01),
    ):
        raise AssertionError("two at once")
    with only_one(tmp_path, patience_s=0.01):
        pass


def test_it_is_free_when_its_holder_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom pathlib import Path\nfrom measure.folder_lock import only_one\n"
        "with only_one(Path(sys.argv[1])):\n    print('held', flush=True)\n    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError), only_one(tmp_path, patience_s=0.01):
            pass
        os.kill(holder.pid, signal.SIGKILL)
        holder.wait()
    with only_one(tmp_path):
        pass


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS])
def test_a_file_system_without_locks_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", refuse)
    with pytest.raises(UsageError, match="files cannot be locked there") as raised:
        only_one(tmp_path).__enter__()
    assert str(raised.value).startswith(f"{tmp_path}: ")
