"""What a rank adds to the evidence of an incident: what its state proves, and the state itself."""

import hashlib
from dataclasses import asdict
from pathlib import Path
from typing import Any

from measure.interfaces.architecture import Architecture
from measure.rank.restoring import shared
from measure.state import shard_file
from measure.state.contract import RankState, RunFacts, capture
from measure.state.digest import digests
from measure.state.durable import need_space
from measure.state.storage_waits import in_storage

NOTHING: dict[str, Any] = {
    "step": 0,
    "whole": False,
    "digests": {},
    "proof": {},
    "file": "",
    "bytes": 0,
    "sha256": "",
    "why": "",
}
"""What a rank says that has nothing to show; `why`, in words."""


def kept(
    architecture: Architecture, step: int, whole: bool, facts: RunFacts, replicated: bool
) -> tuple[dict[str, Any], RankState | None]:
    """(What this rank says, its state): `step` steps are complete; `whole` where it stopped between
    two of them. The state is live, and None where it cannot be taken.

    Never raises: whatever goes wrong here must not stand in the way of the recovery.
    """
    try:
        state = capture(architecture, step, facts)
        found = digests(state)
    except Exception as error:  # a device may be what the incident is about
        return {**NOTHING, "step": step, "why": _said(error)}, None
    shown = shared(state, found, replicated)
    told = {"step": step, "whole": whole, "digests": asdict(found), "proof": shown}
    return {**NOTHING, **told}, state


@in_storage()
def saved(state: RankState, folder: Path) -> dict[str, Any]:
    """The state as a shard in `folder`: its `file`, `bytes` and `sha256`; or `why` it is not there.
    Never raises. On a disk that is nearly full the next checkpoint comes first."""
    try:
        need_space(folder, 2 * shard_file.encoded_bytes(state))
        written = shard_file.write(
            folder,
            lambda digest: f"rank-{state.rank:05d}-{digest[:16]}{shard_file.SUFFIX}",
            state,
        )
        with written.path.open("rb") as file:
            sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    except Exception as error:
        return {"why": _said(error)}
    return {"file": written.path.name, "bytes": written.size_bytes, "sha256": sha256}


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]
