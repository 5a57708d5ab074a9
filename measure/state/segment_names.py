"""The names of shared memory: whose it is, and what is swept once nobody needs it any more.

A run claims `failbench-<run key>-owner...`; what a rank holds in its host's memory is called
`failbench-<run key>-h<holder>-<what>`. Names carry the run, so that two runs on one host never
meet; the claim says which process answers for it, so that what a killed one left is found.
"""

import os
from pathlib import Path

from measure.state.processes import started

FOLDER = Path("/dev/shm")  # noqa: S108 - shared memory has no other place
_PREFIX = "failbench"


def path_of(run_key: str, holder: int, what: str) -> Path:
    """Where the memory of rank `holder` has this; `what` is of letters, digits and `-`."""
    return FOLDER / f"{_PREFIX}-{run_key}-h{holder}-{what}"


def claim(run_key: str) -> None:
    """This process answers for the run's memory until it calls `remove`."""
    pid = os.getpid()
    (FOLDER / f"{_PREFIX}-{run_key}-owner-{_namespace()}-{pid}-{started(pid)}").touch()


def remove(run_key: str, holder: int | None = None) -> None:
    """Removes what one rank holds, or all of the run with its claim. Who has it mapped keeps it."""
    whose = f"h{holder}-*" if holder is not None else "*"
    for path in FOLDER.glob(f"{_PREFIX}-{run_key}-{whose}"):
        path.unlink(missing_ok=True)


def held_bytes(run_key: str, holder: int) -> int:
    """How much memory a rank's holdings take, as far as it is really used."""
    blocks = [p.stat().st_blocks for p in FOLDER.glob(f"{_PREFIX}-{run_key}-h{holder}-*")]
    return sum(blocks) * 512


def sweep() -> list[str]:
    """Removes the memory of runs whose process is gone; returns their keys. A run of another
    process namespace cannot be asked, and stays."""
    keys = {path.name.split("-")[1] for path in FOLDER.glob(f"{_PREFIX}-*-*")}
    gone = sorted(key for key in keys if _is_orphaned(key))
    for key in gone:
        remove(key)
    return gone


def _is_orphaned(run_key: str) -> bool:
    claims = list(FOLDER.glob(f"{_PREFIX}-{run_key}-owner-*"))
    for found in claims:
        namespace, pid, since = found.name.split("-")[3:6]
        if namespace != _namespace() or started(int(pid)) == since:
            return False
    return bool(claims)


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)
