"""What one run is to do: the JSON that the supervisor hands to its ranks. Stdlib only."""

import hashlib
import json
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from measure.faults.schedule import Schedule, parse


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

    def to_json(self) -> str:
        """The job as JSON text, which `from_json` reads."""
        return json.dumps({**asdict(self), "schedule": self.schedule.to_json()})

    def digest(self) -> str:
        """What tells this job's configuration from another's: 64 hexadecimal digits."""
        return hashlib.sha256(self.to_json().encode()).hexdigest()

    @staticmethod
    def from_json(text: str) -> "JobSpec":
        """The job that `to_json` wrote."""
        found: dict[str, Any] = json.loads(text)
        found["schedule"] = parse(found["schedule"])
        found["detector"] = Detector(found["detector"])
        return JobSpec(**found)
