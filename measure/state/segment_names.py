"""The names of shared memory: whose it is, and what is swept once nobody needs it any more.

A run claims `failbench-<run key>-owner...`; what a rank holds in its host's memory is called
`failbench-<run key>-h<holder>-<what>`, or `failbench-<run key>-n<node>-h<holder>-<what>` where a
run has several nodes. Names carry the run, so that two runs on one host never meet, and the node,
so that what is lost with it is known even where two nodes share a host; the claim says which
process answers for it, so that what a killed one left is found.
"""

import os
from contextlib import suppress
from pathlib import Path

from measure.state.processes import started

FOLDER = Path("/dev/shm")  # noqa: S108 - shared memory has no other place
_PREFIX = "failbench"


def path_of(run_key: str, holder: int | None, what: str, node: int | None = None) -> Path:
    """Where the memory of rank `holder`, or of a node, has this; `what` is of letters, digits and
    `-`."""
    return FOLDER / f"{_PREFIX}-{run_key}-{_whose(holder, node)}{what}"


def claim(run_key: str) -> None:
    """This process answers for the run's memory until it calls `remove` or `release`."""
    _claim_path(run_key).touch()


def release(run_key: str) -> None:
    """This process answers for the run's memory no more; others may."""
    _claim_path(run_key).unlink(missing_ok=True)


def remove(run_key: str, holder: int | None = None, node: int | None = None) -> None:
    """Removes what one rank holds (on this node), what all ranks of one node hold, or all of the
    run with its claims. Who has it mapped keeps it."""
    for path in FOLDER.glob(f"{_PREFIX}-{run_key}-{_whose(holder, node)}*"):
        path.unlink(missing_ok=True)


def held(run_key: str, holder: int, node: int | None = None) -> list[str]:
    """What the memory of rank `holder` has: the `what` of each, sorted."""
    begin = f"{_PREFIX}-{run_key}-{_whose(holder, node)}"
    return sorted(path.name.removeprefix(begin) for path in FOLDER.glob(f"{begin}*"))


def held_bytes(run_key: str, holder: int, node: int | None = None) -> int:
    """How much memory a rank's holdings take, as far as it is really used."""
    found = FOLDER.glob(f"{_PREFIX}-{run_key}-{_whose(holder, node)}*")
    return sum(path.stat().st_blocks for path in found) * 512


def sweep() -> list[str]:
    """Removes the memory of this user's runs whose processes are gone; returns their keys. A run of
    another process namespace cannot be asked, and stays, as what is another user's does."""
    keys = {path.name.split("-")[1] for path in FOLDER.glob(f"{_PREFIX}-*-*")}
    gone = sorted(key for key in keys if _is_orphaned(key))
    for key in gone:
        for path in FOLDER.glob(f"{_PREFIX}-{key}-*"):
            with suppress(PermissionError):  # another user chose the same name
                path.unlink(missing_ok=True)
    return gone


def _whose(holder: int | None, node: int | None) -> str:
    parts = [f"n{node}-" if node is not None else "", f"h{holder}-" if holder is not None else ""]
    return "".join(parts)


def _claim_path(run_key: str) -> Path:
    pid = os.getpid()
    return FOLDER / f"{_PREFIX}-{run_key}-owner-{_namespace()}-{pid}-{started(pid)}"


def _is_orphaned(run_key: str) -> bool:
    """Whether everybody who claims it is gone. Another user's processes may be hidden from this
    one, and what they left is not ours to remove."""
    claims = list(FOLDER.glob(f"{_PREFIX}-{run_key}-owner-*"))
    return bool(claims) and all(_is_ours(found) and _is_void(found) for found in claims)


def _is_ours(claim: Path) -> bool:
    try:
        return claim.stat().st_uid == os.geteuid()
    except FileNotFoundError:  # given up meanwhile
        return False


def _is_void(claim: Path) -> bool:
    """Whether who made this claim is gone."""
    namespace, pid, since = claim.name.split("-")[3:6]
    return namespace == _namespace() and started(int(pid)) != since


def _namespace() -> str:
    return str(Path("/proc/self/ns/pid").stat().st_ino)
