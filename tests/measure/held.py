"""Loaded into the fork server: a rank whose training thread does not come free after a loss, as
when gloo has lost track of a send; or one whose file system is slow.

Only there: whoever imports this has its ranks and its storage patched. What is to happen stands in
the JSON file that FAILBENCH_TEST_HELD names: `place`, after how many
seconds the group's own timeout sets it free, how long its first write to storage takes, and how
long processes that are started later take to come up.
"""

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

from measure.rank.main import _Rank
from measure.state import durable

VARIABLE = "FAILBENCH_TEST_HELD"
_stopped, _live, _write = _Rank._stopped, _Rank.live, durable.Draft.write
_here: dict[str, Any] = {"rank": None, "has_written": False}


def _plan() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    return found


def live(self: Any) -> None:
    if self.injector._place >= self.job.world_size:
        time.sleep(_plan()["late_s"])
    _here["rank"] = self
    _live(self)


def stopped(self: Any, error: Exception) -> None:
    plan = _plan()
    if self.injector._place == plan["place"] and self.inbox.pause_at is None:
        threading.Event().wait(plan["held_s"])
    _stopped(self, error)


def write(self: durable.Draft, data: memoryview | bytes) -> None:
    plan, rank = _plan(), _here["rank"]
    if rank.injector._place == plan["place"] and not _here["has_written"]:
        _here["has_written"] = True
        time.sleep(plan["write_s"])
        rank.log.write("slow-write")
    _write(self, data)


_Rank._stopped, _Rank.live = stopped, live  # type: ignore[method-assign]
durable.Draft.write = write  # type: ignore[method-assign]
