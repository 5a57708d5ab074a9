"""A process that waits for good is told from one that works, or waits for a processor."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(60)]

_SAMPLER = """
import json, threading, time
from measure.rank.stillness import Stillness

def sample():
    stillness, found = Stillness(), []
    for _ in range(40):
        time.sleep(0.01)
        found.append(stillness.lasts())
    print(json.dumps(found), flush=True)
    __import__("os")._exit(0)

threading.Thread(target=sample, daemon=True).start()
"""


def _samples(main: str, before: str = "") -> list[bool]:
    """What the samples are beside `main`; `before` is run before the first one."""
    body = textwrap.dedent(before) + _SAMPLER + textwrap.dedent(main)
    said = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, check=True, timeout=50
    )
    found: list[bool] = json.loads(said.stdout)
    return found


def test_a_thread_that_nobody_wakes_is_found_after_some_samples() -> None:
    found = _samples("threading.Lock().acquire() and threading.Event().wait()")
    assert not any(found[:8])
    assert any(found)


@pytest.mark.parametrize(
    "main",
    [
        "while True: sum(range(1000))",
        "while True: time.sleep(0.003)",
        """
        threading.Thread(target=lambda: [sum(range(10**6)) for _ in range(10**4)]).start()
        threading.Event().wait()
        """,
        """
        from measure.state.storage_waits import in_storage
        with in_storage(): threading.Event().wait()
        """,
    ],
    ids=["works", "is woken", "another thread works", "is in storage"],
)
def test_who_works_or_is_woken_is_not_stuck(main: str) -> None:
    assert not any(_samples(main))


def test_who_waits_for_a_file_system_is_not_stuck(tmp_path: Path) -> None:
    """It sleeps, as in a file system in user space; here in a shard that nobody ever writes."""
    os.mkfifo(tmp_path / "shard")
    before = f"""
    from pathlib import Path
    from measure.state.checkpoints import Checkpoints, Generation
    from measure.state.manifest import Manifest, Receipt, Serves

    folder = Path({str(tmp_path)!r})
    manifest = Manifest(1, 1, (Receipt(0, Serves.OWN, "shard", 1, ""),), {{}})
    """
    load = "Checkpoints(folder).load(Generation(folder, manifest, ''), 0)"
    assert not any(_samples(load, before))
    without = f"__import__('os').open({str(tmp_path / 'shard')!r}, 0)"
    assert any(_samples(without)), "a FIFO does look like a group that has lost a peer"
