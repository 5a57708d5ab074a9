"""What a worker of another launcher writes down, and how it strikes itself."""

import ctypes
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

FAULT = "fault"
PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """This process is killed when the one that started it dies, however that dies."""
    parent = os.getppid()
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if parent == 1 or os.getppid() != parent:  # it died before the line above
        sys.exit("the parent is gone")


class Notes:
    """One file a rank: a JSON line for each complete step, with the time (CLOCK_MONOTONIC, s)."""

    def __init__(self, folder: Path, rank: int) -> None:
        self._folder, self._path = folder, folder / f"steps-{rank}.jsonl"

    def step(self, number: int, **more: Any) -> None:
        """Step `number` is complete now."""
        line = json.dumps({"t": time.monotonic(), "step": number, **more})
        with self._path.open("a", encoding="ascii") as file:
            file.write(line + "\n")

    def strike(self) -> None:
        """Kills this process, after noting the instant."""
        (self._folder / FAULT).write_text(repr(time.monotonic()), encoding="ascii")
        os.kill(os.getpid(), signal.SIGKILL)


def fault_at(folder: Path) -> float:
    """When the victim struck (CLOCK_MONOTONIC, s)."""
    return float((folder / FAULT).read_text(encoding="ascii"))


def steps_of(folder: Path, rank: int) -> list[dict[str, Any]]:
    """What a rank noted; empty if nothing."""
    path = folder / f"steps-{rank}.jsonl"
    lines = path.read_text(encoding="ascii").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]
