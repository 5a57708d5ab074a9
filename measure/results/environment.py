"""What a run ran on and with."""

import os
import platform
import socket
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import torch

from measure.rank.scheduling import take_turns

_PACKAGE = Path(__file__).resolve().parents[2]


@cache
def environment() -> dict[str, Any]:
    """Host and versions, as they stand in a record."""
    return {
        "host": socket.gethostname(),
        "kernel": platform.release(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda or "",
        "nccl": _nccl(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)),
        "threads_per_rank": 1,
        "rank_scheduling": _rank_scheduling(),
        "package_version": _version(),
        "commit": _commit(),
    }


def host_memory_bytes() -> int:
    """This host's memory."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def storage_of(folder: Path) -> str:
    """The kind of file system that `folder` lies on, e.g. `ext4`."""
    best = ("", "unknown")
    for line in Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines():
        _, mount, kind, *_ = line.split()
        inside = str(folder.resolve()).startswith(mount.rstrip("/") + "/")
        if inside and len(mount) >= len(best[0]):
            best = (mount, kind)
    return best[1]


def _rank_scheduling() -> str:
    """The policy that ranks get here, tried by a thread that is gone after."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(take_turns).result()


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def _nccl() -> str:
    if not torch.cuda.is_available():
        return ""
    return ".".join(str(part) for part in torch.cuda.nccl.version())


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("failbench-advisor")
    except PackageNotFoundError:  # run from a folder, with only torch beside it
        return ""


def _commit() -> str:
    """The commit of the checkout that this code lies in; empty for an installed package."""
    if not (_PACKAGE / ".git").exists():
        return ""
    asked = subprocess.run(
        ["git", "-C", str(_PACKAGE), "rev-parse", "HEAD"],  # noqa: S607 - git is where it is
        capture_output=True,
        text=True,
        timeout=10,
        check=False,
    )
    return asked.stdout.strip()
