"""Stands between the store and the operating system: kills at a call, or notes every call."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from typing import Any

CALLS = ("open", "write", "pwrite", "fsync", "rename", "mkdir", "unlink", "rmdir")
"""Every call by which the store changes a disk."""

Patch = Callable[[str, Callable[..., Any]], None]


def set_on_os(name: str, replacement: Callable[..., Any]) -> None:
    """Replaces a function of `os` for good: in a process that ends soon."""
    setattr(os, name, replacement)


def kill_at(number: int, when: str, patch: Patch = set_on_os) -> None:
    """This process kills itself at its `number`-th call (from 1): `before`, `half` way through
    what it writes, or `after`."""
    made = 0

    def hooked(name: str) -> Callable[..., Any]:
        original = getattr(os, name)

        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal made
            made += 1
            if made != number:
                return original(*arguments, **named)
            if when == "half" and name in ("write", "pwrite"):
                descriptor, data, *rest = arguments
                original(descriptor, data[: len(data) // 2], *rest)
            elif when == "after":
                with suppress(OSError):
                    original(*arguments, **named)
            os.kill(os.getpid(), signal.SIGKILL)
            return None

        return call

    for name in CALLS:
        patch(name, hooked(name))
