"""Whether this process is reading or writing files: a thread that sleeps then is waited for.

To the outside a thread that waits for a file system (one that is mounted over the network, or runs
in user space) looks like one that waits for a peer that is gone. Only its own code knows better.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_inside = 0


@contextmanager
def in_storage() -> Iterator[None]:
    """Around whatever waits for storage, in any thread; may be nested. Also a decorator."""
    _count(1)
    try:
        yield
    finally:
        _count(-1)


def is_in_storage() -> bool:
    """Whether any thread of this process is in storage now."""
    return _inside > 0


def _count(by: int) -> None:
    global _inside
    with _lock:
        _inside += by
