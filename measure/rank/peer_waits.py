"""How long this process's training thread has waited for its peers, all told.

A synchronous step takes equally long on every rank; who keeps the others waiting is the rank that
waits least. From the outside a wait looks like a pause of the rank's own: only the code that
communicates knows better, and says so here. What a message takes on its way counts as waiting.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_waited_s = 0.0


@contextmanager
def for_peers() -> Iterator[None]:
    """Around whatever waits for a peer, not nested; also a decorator. Other threads than the main
    one do not count: training does not wait for them."""
    begin = time.monotonic()
    try:
        yield
    finally:
        add(time.monotonic() - begin)


def add(seconds: float) -> None:
    """So many seconds were waited, where it is known only afterwards."""
    global _waited_s
    if threading.current_thread() is threading.main_thread():
        _waited_s += seconds


def waited_s() -> float:
    """Seconds since the process began; what it grows by is what was waited meanwhile."""
    return _waited_s
