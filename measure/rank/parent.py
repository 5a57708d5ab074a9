"""A process that lives no longer than the one that started it."""

import ctypes
import signal

_PR_SET_PDEATHSIG = 1


def die_with_parent() -> None:
    """From now on the kernel kills this process as soon as its parent is dead. Who was dead before
    is not noticed."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
