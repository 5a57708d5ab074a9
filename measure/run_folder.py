"""The folder of a run, for as long as it is this process's own.

A scheduler that lost sight of a node starts its task elsewhere, while the first one may still run.
The second one puts the folder aside and makes its own under the same name: from then on the first
one has no part in the campaign.
"""

import time
from pathlib import Path

from measure.errors import TakenOverError

_LOOKS_S = 1.0
"""How often is looked: a network file system is asked each time."""


class RunFolder:
    """The folder at `path`, which this process has just made."""

    def __init__(self, path: Path) -> None:
        self._path, self._inode = path, path.stat().st_ino
        self._looked_at = time.monotonic()
        self.is_taken = False
        """Whether the folder was found to be another's."""

    def look(self) -> bool:
        """Whether it is another's by now; asks every second at most. OSError if nobody can say."""
        if not self.is_taken and time.monotonic() > self._looked_at + _LOOKS_S:
            self._look()
        return self.is_taken

    def require_own(self) -> None:
        """TakenOverError if it is another's."""
        self._look()
        if self.is_taken:
            raise TakenOverError(f"{self._path}: another process runs this cell now")

    def _look(self) -> None:
        self._looked_at = time.monotonic()
        try:
            self.is_taken = self._path.stat().st_ino != self._inode
        except FileNotFoundError:
            self.is_taken = True
