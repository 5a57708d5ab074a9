"""A process that waits for good is told from one that works, or waits for a processor."""

import json
import subprocess
import sys
import textwrap

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


def _samples(main: str) -> list[bool]:
    body = _SAMPLER + textwrap.dedent(main)
    said = subprocess.run(
        [sys.executable, "-c", body], capture_output=True, text=True, check=True, timeout=30
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
    ],
    ids=["works", "is woken", "another thread works"],
)
def test_who_works_or_is_woken_is_not_stuck(main: str) -> None:
    assert not any(_samples(main))
