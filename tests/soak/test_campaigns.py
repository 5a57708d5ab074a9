"""A campaign whose controller is killed again and again: `make campaigns-soak`.

Prints what it found; it takes ten minutes and more.
"""

import os
import random
import signal
import subprocess
import threading
import time
import uuid
from collections import Counter
from pathlib import Path

import pytest

from tests.integration.campaigns import (
    SMALL,
    arguments,
    ask,
    assert_whole,
    finished,
    started,
    the_campaign,
)
from tests.measure.harness import wait_until_gone

pytestmark = [pytest.mark.soak, pytest.mark.timeout(7200)]

_SEED = int(os.environ.get("SOAK_SEED", "20261130"))
_KILLS = int(os.environ.get("SOAK_KILLS", "50"))
_CELLS = int(os.environ.get("SOAK_CAMPAIGN_CELLS", "40"))
_MOMENTS = ((0.3, "", 3.0), (0.3, "records in", 3.0), (0.4, "(valid)", 0.5))
"""(Share of the kills, after which words of the controller they come, within how many seconds):
while it starts, in its first cell (which waits for torch), and among the quick ones after it."""


def test_a_campaign_survives_kill_9_at_random_moments(tmp_path: Path) -> None:
    random_, mark = random.Random(_SEED), uuid.uuid4().hex
    left: Counter[str] = Counter()
    for _ in range(_KILLS):
        _killed(_started(mark, tmp_path), random_)
        left[_state(tmp_path)] += 1
    assert _is_planned(tmp_path), "no life was long enough to plan the campaign"
    before = ask(tmp_path, "SELECT COUNT(*) FROM runs")[0][0]
    code, _, err = finished(mark, arguments(tmp_path, "--resume", the_campaign(tmp_path)))
    assert code == 0, err
    assert wait_until_gone(mark, 60.0) == []
    assert_whole(tmp_path, _CELLS)
    ((attempts,),) = ask(tmp_path, "SELECT SUM(attempts) FROM campaign_cells")
    ((term,),) = ask(tmp_path, "SELECT term FROM campaign_plans")
    aside = len(list(tmp_path.glob("runs/*/*.aside-*")))
    print(
        f"\n{_KILLS} kills (seed {_SEED}), of which {left['nothing planned']} before the plan, "
        f"{left['no cell running']} with no cell marked as running; {before} cells "
        f"were done by then; at the end {_CELLS} complete in {attempts} attempts by {term} "
        f"controllers, {aside} half-made runs put aside, nothing left behind"
    )


def _is_planned(folder: Path) -> bool:
    there = (folder / "advisor.db").exists()
    return there and ask(folder, "SELECT COUNT(*) FROM campaign_plans") == [(1,)]


def _started(mark: str, folder: Path) -> "subprocess.Popen[str]":
    if _is_planned(folder):
        return started(mark, arguments(folder, "--resume", the_campaign(folder)))
    return started(mark, arguments(folder, *SMALL, "--seeds", str(_CELLS // 2)))


def _killed(process: "subprocess.Popen[str]", random_: random.Random) -> None:
    """Kills it at a moment, and does not wait for its harness, which may be ending a run."""
    ((_, words, within_s),) = random_.choices(_MOMENTS, [share for share, *_ in _MOMENTS])
    heard = threading.Event()
    listener = threading.Thread(target=_listen, args=(process, words, heard), daemon=True)
    listener.start()
    if words:
        heard.wait()
    time.sleep(random_.uniform(0.0, within_s))
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    listener.join()
    for stream in (process.stdout, process.stderr):
        if stream is not None:
            stream.close()


def _listen(process: "subprocess.Popen[str]", words: str, heard: threading.Event) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if words in line:
            heard.set()
    heard.set()  # it is over, or was killed before


def _state(folder: Path) -> str:
    if not _is_planned(folder):
        return "nothing planned"
    running = ask(folder, "SELECT COUNT(*) FROM campaign_cells WHERE status = 'running'")
    return "no cell running" if running == [(0,)] else "a cell running"
