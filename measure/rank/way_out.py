"""How a thread that is blocked in a collective is set free: the one place that knows.

gloo: `abort()` frees nobody, so the sockets that the groups opened are shut down. The listening
one is left alone: shutting it ends the process from C++. nccl: `abort()` does it.
"""

import os
import socket
from collections.abc import Iterable
from pathlib import Path

import torch.distributed as dist


def open_sockets() -> dict[int, str]:
    """The descriptors of this process that are sockets, each with the socket's own name: numbers
    are used again as soon as a socket of an older group is closed."""
    found = {}
    for link in Path("/proc/self/fd").iterdir():
        try:
            name = str(link.readlink())
            if name.startswith("socket:"):
                found[int(link.name)] = name
        except OSError:  # the descriptor of the listing itself, closed by now
            continue
    return found


def shut_down(descriptors: Iterable[int]) -> int:
    """Shuts the connected sockets among `descriptors` down; returns how many."""
    shut = 0
    for descriptor in descriptors:
        try:
            duplicate = socket.socket(fileno=os.dup(descriptor))
        except OSError:
            continue
        with duplicate:
            try:
                if duplicate.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    continue
                duplicate.shutdown(socket.SHUT_RDWR)
                shut += 1
            except OSError:  # not connected (any more): nobody waits on it
                continue
    return shut


def abort_nccl() -> None:
    """Aborts the default group; blocked collectives raise."""
    if dist.is_initialized():
        dist.distributed_c10d._abort_process_group()
