"""Loaded into the fork server: a rank whose training thread does not come free after a loss, as
when gloo has lost track of a send.

What is to happen stands in the JSON file that FAILBENCH_TEST_HELD names: `place`, and after how many
seconds the group's own timeout sets it free.
"""

import json
import os
import threading
from pathlib import Path
from typing import Any

from measure.rank.main import _Rank

VARIABLE = "FAILBENCH_TEST_HELD"
_stopped = _Rank._stopped


def stopped(self: Any, error: Exception) -> None:
    plan = json.loads(Path(os.environ[VARIABLE]).read_text(encoding="utf-8"))
    if self.injector._place == plan["place"] and self.inbox.pause_at is None:
        threading.Event().wait(plan["held_s"])
    _stopped(self, error)


_Rank._stopped = stopped  # type: ignore[method-assign]
