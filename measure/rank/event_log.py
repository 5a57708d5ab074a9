"""One rank's event log: JSON lines, each handed to the kernel before anything else happens.

A line is {"t": monotonic seconds, "event": name, ...}. A line that was written survives the
SIGKILL of its writer; the first line carries both clocks of the host, so that logs of other
hosts can be set against it.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

from measure.state.storage_waits import in_storage


class EventLog:
    """Appends events; safe from several threads, since each line is one write. The file lies beside
    the checkpoints, on a file system that may be slow."""

    def __init__(self, path: Path, rank: int) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.write("clock", rank=rank, pid=os.getpid(), wall=time.time(), boot=boot_id())

    def write(self, event: str, **fields: Any) -> float:
        """Writes one event; returns its time (CLOCK_MONOTONIC, seconds)."""
        now = time.monotonic()
        line = json.dumps({"t": now, "event": event, **fields}, separators=(",", ":"))
        self._append(line.encode() + b"\n")
        return now

    def step(self, step: int, begin: float, loss: float | None, samples: int) -> None:
        """A finished training step: `begin` to now. Formatted by hand: it is the hot line."""
        now = time.monotonic()
        said = "null" if loss is None or loss != loss or loss in (_INF, -_INF) else repr(loss)
        self._append(
            f'{{"t":{now!r},"event":"step","step":{step},"s":{now - begin!r},'
            f'"loss":{said},"samples":{samples}}}\n'.encode()
        )

    @in_storage()
    def _append(self, line: bytes) -> None:
        os.write(self._fd, line)

    @in_storage()
    def sync(self) -> None:
        """What was written is on the storage, wherever that is, when this returns."""
        os.fsync(self._fd)

    def close(self) -> None:
        """Closes the file; the log stays."""
        os.close(self._fd)


_INF = float("inf")


def boot_id() -> str:
    """What tells one host's clock from another's: the same text where CLOCK_MONOTONIC is one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def read_log(path: Path) -> list[dict[str, Any]]:
    """The events of one log; a last line that was cut by its writer's death is left out."""
    events = []
    try:
        text = path.read_bytes()
    except FileNotFoundError:
        return []
    for line in text.split(b"\n"):
        try:
            events.append(json.loads(line))
        except ValueError:
            continue
    return events
