"""How a run came to be what it is: one line a generation, on the disk before it trains."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FILE_NAME = "lineage.jsonl"


@dataclass(frozen=True, slots=True)
class Generation:
    """One generation of the group: who trains, from which state, and what it has lost."""

    generation: int
    way: str
    """Empty for the first."""
    world_size: int
    members: Sequence[Mapping[str, int]]
    """Each with its `slot` (process), `place` (rank of the full group) and `rank`."""
    global_batch: int | None
    step: int
    source: str
    """Which tier the state came from; empty where training begins anew."""
    lost_steps: int
    equivalent: bool
    """Whether the training is the one that was planned: every generation so far had the full size
    and the whole state."""


def write(folder: Path, generation: Generation) -> dict[str, Any]:
    """Appends the generation, and waits until it is on the disk; returns the line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {**asdict(generation), "written_at": now}
    with (folder / FILE_NAME).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return line
