"""`advisor app` as a process: what it prints, and that a signal ends it and all it started."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest

from tests.app.browser import free_port

pytestmark = [pytest.mark.integration, pytest.mark.timeout(120)]

_START_S, _STOP_S = 60.0, 10.0


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_prints_no_warning_and_a_signal_stops_it(
    shipped_database: Path, stop: signal.Signals
) -> None:
    port = free_port()
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "advisor", "app"),
            *("--port", str(port), "--db", str(shipped_database)),
        ],
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        _wait(port, process)
        # To the command alone, as a service manager or a container would.
        process.send_signal(stop)
        out, err = process.communicate(timeout=_STOP_S)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert err == ""
    assert f"listens on http://127.0.0.1:{port}" in out
    assert "Warning" not in out
    assert _is_gone(process.pid)
    with pytest.raises(URLError):
        urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2)


def _wait(port: int, process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/_stcore/health", timeout=2):
            return
        time.sleep(0.1)
    raise AssertionError("the app did not start")


def _is_gone(group: int) -> bool:
    """Whether no process of the group is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return True
    return False
