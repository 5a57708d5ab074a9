"""What can go wrong with saved state.

MeasureError
└── StateError
    ├── StateMismatchError   a state does not fit the training that it is to be restored into
    ├── CorruptStateError    a file is not what its writer wrote
    ├── NoSpaceError         the disk, or a quota on it, is full
    ├── PeerFailedError      a rank failed, so that what all do together failed on every rank
    └── NoCheckpointError    no generation can be loaded; says what was rejected, and why
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from measure.errors import MeasureError


class StateError(MeasureError):
    """Base of every error about saved state."""


class StateMismatchError(StateError):
    """The state does not fit; the message names the first difference."""


class CorruptStateError(StateError):
    """The file `path` is not what its writer wrote; `what` says how that shows."""

    def __init__(self, path: Path, what: str) -> None:
        super().__init__(path, what)
        self.path, self.what = path, what

    def __str__(self) -> str:
        return f"{self.path}: {self.what}"


class NoSpaceError(StateError):
    """There is no room for the file; nothing of it was left behind."""


class PeerFailedError(StateError):
    """Every rank raises this alike; `failures` says which ranks failed, and why."""

    def __init__(self, what: str, failures: Mapping[int, str]) -> None:
        super().__init__(what, dict(failures))
        self.what, self.failures = what, dict(failures)

    def __str__(self) -> str:
        said = "; ".join(f"rank {rank}: {why}" for rank, why in sorted(self.failures.items()))
        return f"{self.what} failed on every rank: {said}"


class NoCheckpointError(StateError):
    """Nothing can be loaded from `folder`. `rejected` are (step, why), newest first; empty where
    there is no generation at all: only then has nothing been lost."""

    def __init__(self, folder: Path, rejected: Sequence[tuple[int, str]]) -> None:
        super().__init__(folder, tuple(rejected))
        self.folder, self.rejected = folder, tuple(rejected)

    def __str__(self) -> str:
        if not self.rejected:
            return f"{self.folder} holds no checkpoint"
        said = "; ".join(f"step {step}: {why}" for step, why in self.rejected)
        return f"no checkpoint in {self.folder} can be used: {said}"
