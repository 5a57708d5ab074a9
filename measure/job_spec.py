"""What one run is to do: the JSON that the supervisor hands to its ranks. Stdlib only."""

import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import Any

from measure.faults.schedule import Schedule, parse
from measure.interfaces.capabilities import ArchitectureEntry, Capability, Way

_SHORTEST_BLOCK_STEPS = 10


class Detector(StrEnum):
    """How survivors learn of a lost rank."""

    GROUP_TIMEOUT = "group-timeout"
    """By the process group alone: a closed connection, or its timeout (the paper's way)."""
    SUPERVISOR = "supervisor"
    """The supervisor sees the death and tells every survivor, who leaves its collective."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """One run: everything that a rank needs to know, and that the record repeats."""

    run_id: str
    architecture: str
    mechanism: str
    workload: str
    profile: str
    schedule: Schedule
    seed: int
    world_size: int
    steps: int
    dropped_steps: int
    group_timeout_s: float
    round_limit_s: float
    detector: Detector
    device: str
    """`cpu` or `cuda`."""
    backend: str
    """`gloo` or `nccl`."""
    lead_s: float | None = None
    interval_steps: int | None = None
    """Steps between two saves; None where the mechanism saves at none."""
    spares: int = 0
    """Warm processes that wait to take a dead rank's place."""
    way: Way | None = None
    """How training is brought back after a loss; None: the loss is the run's end, or the
    architecture goes on by itself."""
    replicas: int = 0
    """How many peers hold each rank's state."""
    alternates: bool = False
    """In a run without faults, blocks of steps with and without the mechanism alternate, so that
    its overhead is seen against a baseline of the same run."""
    nodes: int = 1
    """How many the ranks are on, consecutive ones together; each is lost as a whole."""
    monitors: tuple[str, ...] = ()
    """What looks for failures that are not losses: names such as `digest:10`
    (measure.monitors.catalogue)."""
    kept: int | None = None
    """How many states each tier keeps at least, so that a rollback can go behind what was noticed
    late; None: as is usual."""

    def run_key(self) -> str:
        """What the names of this run's shared memory begin with: twelve hexadecimal digits."""
        return hashlib.sha256(self.run_id.encode()).hexdigest()[:12]

    def goes_on_alone(self, entry: ArchitectureEntry) -> bool:
        """Whether the architecture goes on by itself after a loss, and nobody brings it back."""
        return self.way is None and Capability.CONTINUES_AFTER_LOSS in entry.capabilities

    def alternation(self) -> Callable[[int], bool] | None:
        """Whether the mechanism rests in a step, for a job that alternates; None otherwise.

        A block is an interval, or ten steps, that begins with the step after which the mechanism
        saves: what it does in the background is then over before its next block of rest.
        """
        if not self.alternates or self.schedule.events:
            return None
        block = max(self.interval_steps or 1, _SHORTEST_BLOCK_STEPS)
        return lambda step: (step + 1) // block % 2 == 0

    def to_json(self) -> str:
        """The job as JSON text, which `from_json` reads. What was not there at first is left out
        where it is as usual: digests and run ids stay."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        told["schedule"] = self.schedule.to_json()
        if self.nodes == 1:
            del told["nodes"]
        if not self.monitors:
            del told["monitors"]
        if self.kept is None:
            del told["kept"]
        return json.dumps(told)

    def digest(self) -> str:
        """What tells this job's configuration from another's: 64 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @staticmethod
    def from_json(text: str) -> "JobSpec":
        """The job that `to_json` wrote."""
        found: dict[str, Any] = json.loads(text)
        found["schedule"] = parse(found["schedule"])
        found["detector"] = Detector(found["detector"])
        found["way"] = Way(found["way"]) if found["way"] else None
        found["monitors"] = tuple(found.get("monitors", ()))
        return JobSpec(**found)
