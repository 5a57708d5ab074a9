"""How a run came to be what it is: one line a generation, on the disk before it trains."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.supervisor.observed import RankView

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
    why: str = ""
    """The suspicion that it follows from, and what was done about it; empty after a loss."""
    quarantined: Sequence[int] = ()
    """The slots whose places others took for that."""


class Lineage:
    """That of one run of `world_size` ranks."""

    def __init__(self, folder: Path, world_size: int) -> None:
        self._folder, self._world_size = folder, world_size
        self._equivalent = True

    def goes_on(
        self,
        number: int,
        living: Sequence[RankView],
        way: str,
        reached: int,
        why: str,
        quarantined: Sequence[int],
    ) -> dict[str, Any]:
        """These are to train as the next generation, brought back by this `way` (empty at first)
        after `reached` steps; writes it down, and returns the line."""
        first = living[0]
        whole = len(living) == self._world_size and (not way or bool(first.source))
        self._equivalent = self._equivalent and whole
        generation = Generation(
            generation=number,
            way=way,
            world_size=len(living),
            members=[
                {"slot": v.rank, "place": v.plays or 0, "rank": v.group_rank or 0} for v in living
            ],
            global_batch=first.global_batch,
            step=first.restored_step,
            source=first.source,
            lost_steps=max(0, reached - first.restored_step) if way else 0,
            equivalent=self._equivalent,
            why=why,
            quarantined=quarantined,
        )
        return write(self._folder, generation)


def write(folder: Path, generation: Generation) -> dict[str, Any]:
    """Appends the generation, and waits until it is on the disk; returns the line."""
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    line = {**asdict(generation), "written_at": now}
    with (folder / FILE_NAME).open("a", encoding="utf-8") as file:
        file.write(json.dumps(line) + "\n")
        file.flush()
        os.fsync(file.fileno())
    return line
