"""One harness a campaign: who holds the lock of its folder may write there.

A harness whose parent was killed ends its run in order, which takes seconds. Whoever goes on with
the campaign waits for that here; the kernel frees the lock when its holder dies, however it dies.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from measure.errors import UsageError

_NAME = ".harness.lock"
_TRY_AGAIN_S = 0.05
PATIENCE_S = 120.0


@contextmanager
def only_one(folder: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Holds the lock of a folder that is there; UsageError if another harness keeps it, or the file
    system has no locks."""
    descriptor = os.open(folder / _NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _wait(descriptor, folder, time.monotonic() + patience_s)
        yield
    finally:
        os.close(descriptor)


def _wait(descriptor: int, folder: Path, deadline: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise UsageError(f"{folder}: another harness still runs this campaign") from None
            time.sleep(_TRY_AGAIN_S)
        except OSError as error:
            raise UsageError(
                f"{folder}: files cannot be locked there ({error.strerror}): choose a folder on a"
                " file system with locks (flock) by --folder"
            ) from error
        else:
            return
