"""A real server and a real browser, for the tests and for the screenshots."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab

from advisor.errors import MissingToolError
from advisor.reports.pdf import find_browser

WAIT_MS = 30_000
"""How long a page may take to show what a test waits for, on a busy machine."""
_START_S = 60.0


def settled(tab: Tab) -> None:
    """Waits until the page's script has run to its end."""
    tab.locator("[data-testid=stApp][data-test-script-state=notRunning]").wait_for()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def serving(database: Path | str) -> Iterator[str]:
    """`advisor app` on a free port; its address. Everything it started is gone at the end."""
    port = free_port()
    command = [sys.executable, "-m", "advisor", "app", "--port", str(port), "--db", str(database)]
    process = subprocess.Popen(
        command,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait(address, process)
        yield address
    finally:
        os.killpg(process.pid, 15)
        process.communicate(timeout=30)
        assert not _group_lives(process.pid)


def _wait(address: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            output = process.communicate()[0].decode(errors="replace")
            raise AssertionError(f"the app ended at once: {output}")
        try:
            with urlopen(f"{address}/_stcore/health", timeout=2) as reply:  # noqa: S310
                if reply.status == 200:
                    return
        except (URLError, OSError):
            time.sleep(0.1)
    raise AssertionError("the app did not start")


def server_rss_bytes(address: str) -> int:
    """Resident memory of the server that listens on the address."""
    flag = f"--server.port={address.rpartition(':')[2]}".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if flag in (process / "cmdline").read_bytes().split(b"\0"):
                fields = (process / "status").read_text().split()
                return 1024 * int(fields[fields.index("VmRSS:") + 1])
    raise AssertionError(f"no server listens on {address}")


def _group_lives(group: int, within_s: float = 10.0) -> bool:
    deadline = time.monotonic() + within_s
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.05)
    return True


@contextmanager
def chromium() -> Iterator[Browser]:
    """The installed Chromium; the test is skipped, or fails in CI, where there is none."""
    try:
        path = find_browser()
    except MissingToolError as error:
        if os.environ.get("ADVISOR_REQUIRE_SERVICES") == "1":
            pytest.fail(str(error))
        pytest.skip(str(error))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield browser
        browser.close()
