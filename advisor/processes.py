"""Which process this is, and whether another one is still there: numbers are used again."""

import os
import socket
from pathlib import Path

from db.campaign_store import LEASE_S, Controller, now_utc
from db.records import CampaignStatus


def this_process() -> Controller:
    """This process, so that others can tell whether it has ended."""
    pid = os.getpid()
    return Controller(socket.gethostname(), pid, _process(pid), _boot_id())


def is_gone(other: Controller) -> bool | None:
    """Whether it has ended; None for one of another host, or of another container's numbers."""
    here = this_process()
    if (other.host, other.boot_id) != (here.host, here.boot_id):
        return None
    if other.process.partition(":")[0] != here.process.partition(":")[0]:
        return None
    return _process(other.pid) != other.process


def is_alone(
    status: CampaignStatus, controller: Controller | None, heartbeat_at: str | None
) -> bool:
    """Whether a campaign that is marked as running has nobody who runs it any more."""
    if status is not CampaignStatus.RUNNING or controller is None:
        return False
    gone = is_gone(controller)
    return (heartbeat_at or "") < now_utc(LEASE_S) if gone is None else gone


def _process(pid: int) -> str:
    """The namespace of the number, and when the process of that number started (the kernel's
    ticks; nothing if none is alive)."""
    namespace = Path("/proc/self/ns/pid").stat().st_ino
    return f"{namespace}:{_started(pid)}"


def _started(pid: int) -> str:
    try:
        said = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return ""
    fields = said.rpartition(b")")[2].split()
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode()


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
