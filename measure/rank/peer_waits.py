"""How long this process's training thread has waited for its peers, all told.

A synchronous step takes equally long on every rank; who keeps the others waiting is the rank that
waits least. From the outside a wait looks like a pause of the rank's own: only the code that
communicates knows better, and says so here. What a message takes on its way counts as waiting.

Time is that of `clock`, which stands still while the thread could run and another one has its
processor: where ranks share cores, whose turn comes last says nothing of a rank.
"""

import functools
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_waited_s = 0.0
_NANOSECOND_S = 1e-9


def clock() -> float:
    """Seconds, from any beginning, less those in which the main thread waited for a processor (as
    far as the kernel counts them)."""
    return time.monotonic() - _turns_s()


@contextmanager
def for_peers() -> Iterator[None]:
    """Around whatever waits for a peer, not nested; also a decorator. Other threads than the main
    one do not count: training does not wait for them."""
    begin = clock()
    try:
        yield
    finally:
        add(clock() - begin)


def add(seconds: float) -> None:
    """So many seconds of `clock` were waited, where it is known only afterwards."""
    global _waited_s
    if threading.current_thread() is threading.main_thread():
        _waited_s += seconds


def waited_s() -> float:
    """Seconds since the process began; what it grows by is what was waited meanwhile."""
    return _waited_s


def _turns_s() -> float:
    """Seconds in which the main thread was ready to run, and did not."""
    statistics = _statistics(os.getpid())
    if statistics is None:
        return 0.0
    return int(os.pread(statistics, 64, 0).split()[1]) * _NANOSECOND_S


@functools.cache
def _statistics(pid: int) -> int | None:
    """The kernel's counts for the main thread of this process, whose id is the process's; kept
    open, since they are read in every step. None where the kernel has none."""
    try:
        return os.open(f"/proc/self/task/{pid}/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
