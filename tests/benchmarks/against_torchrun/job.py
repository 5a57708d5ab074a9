"""What all launchers are to train, and where one worker strikes itself."""

import json
from dataclasses import asdict, dataclass


@dataclass(frozen=True, slots=True)
class Job:
    """A2 on `ranks` ranks, in `folder`; the victim kills itself before step `strike_step`."""

    folder: str
    steps: int
    strike_step: int
    ranks: int = 8
    victim: int = 3
    interval_steps: int = 20
    workload: str = "resnet50"
    profile: str = "cpu"
    seed: int = 0
    timeout_s: float = 30.0

    def to_json(self) -> str:
        """For a worker's command line."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> "Job":
        """The same again."""
        return cls(**json.loads(text))
