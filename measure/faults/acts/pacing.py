"""How fast this process's connections may send: TCP's own pacing, which needs no right."""

import os
import socket
import struct
from collections.abc import Iterator
from contextlib import contextmanager

from measure.rank.way_out import open_sockets

_SO_MAX_PACING_RATE = 47
_UNLIMITED = 2**64 - 1
_INFO_BYTES = 256
_SENT_AT = 200
"""Where struct tcp_info has tcpi_bytes_sent (Linux 4.19 and later)."""

Connection = tuple[int, str]
"""A descriptor, and the socket's own name: numbers are used again."""


def sent_bytes() -> dict[Connection, int]:
    """How much each TCP connection of this process has sent so far, retransmissions included."""
    found = {}
    for descriptor, name in open_sockets().items():
        with _duplicate(descriptor) as connection:
            sent = None if connection is None else _sent(connection)
        if sent is not None:
            found[descriptor, name] = sent
    return found


def limit(connection: Connection, bytes_per_s: int | None) -> None:
    """Lets a connection send no faster from now on; None: as fast as it can. Nothing happens to
    one that is closed by now."""
    descriptor, name = connection
    if open_sockets().get(descriptor) != name:
        return
    rate = _UNLIMITED if bytes_per_s is None else max(1, bytes_per_s)
    with _duplicate(descriptor) as found:
        if found is not None:
            found.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, struct.pack("=Q", rate))


@contextmanager
def _duplicate(descriptor: int) -> Iterator[socket.socket | None]:
    try:
        found = socket.socket(fileno=os.dup(descriptor))
    except OSError:
        yield None
        return
    with found:
        yield found


def _sent(connection: socket.socket) -> int | None:
    """None for what is no TCP connection, or does not say."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    try:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
    except OSError:
        return None
    if len(info) < _SENT_AT + 8:
        return None
    (sent,) = struct.unpack_from("=Q", info, _SENT_AT)
    return int(sent)
