"""The line between a supervisor and the agent of a node: one JSON object a message, over TCP.

Both sides prove that they know the run's key, by HMAC, before anything else is read. No message is
ever unpickled.
"""

import json
import os
import socket
import struct
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import AuthenticationError
from multiprocessing.connection import Connection, answer_challenge, deliver_challenge
from typing import Any

_LARGEST_MESSAGE_BYTES = 1 << 24
_HANDSHAKE_S = 5.0
_BACKLOG = 64
_PROBED_AFTER_S = 5
"""A host that says nothing for so long is asked by the kernel, as often again, ..."""
_GONE_AFTER_S = 20
"""... whether it is still there; the line to one that does not answer for so long has ended."""


class Line:
    """One end; several threads may say something, one hears."""

    def __init__(self, connection: Connection, address: str) -> None:
        self.connection, self.address = connection, address
        self._saying = threading.Lock()

    def say(self, message: str, **fields: Any) -> None:
        """Sends one message; OSError when the line is cut off."""
        data = json.dumps({"said": message, **fields}).encode()
        with self._saying:
            self.connection.send_bytes(data)

    def hear(self) -> dict[str, Any]:
        """Waits for one message; EOFError or OSError when there will be none any more."""
        found: dict[str, Any] = json.loads(self.connection.recv_bytes(_LARGEST_MESSAGE_BYTES))
        return found

    def wait_as_long_as_it_takes(self) -> None:
        """From now on the other end may be silent, as long as its host is there."""
        with socket.socket(fileno=self.connection.fileno()) as borrowed:
            _limit_reads(borrowed, 0.0)
            borrowed.detach()

    def hang_up(self) -> None:
        """Ends the line: whoever waits on it, here or there, hears that. Closes nothing."""
        if self.connection.closed:
            return
        with socket.socket(fileno=os.dup(self.connection.fileno())) as same, suppress(OSError):
            same.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Lets go of it."""
        self.connection.close()


class Door:
    """Where agents come to: listens on one address until it is closed."""

    def __init__(self, host: str, port: int, key: bytes) -> None:
        self._key = key
        self._socket = socket.create_server((host, port), backlog=_BACKLOG)
        self.port: int = self._socket.getsockname()[1]

    def next_line(self, within_s: float) -> Line | None:
        """The next who comes and knows the key; None if nobody does in time. Whoever has come must
        not be silent for long, until `wait_as_long_as_it_takes`."""
        self._socket.settimeout(max(0.001, within_s))
        try:
            accepted, (address, _) = self._socket.accept()
        except TimeoutError:
            return None
        accepted.setblocking(True)
        return _shaken(accepted, address, self._key, (deliver_challenge, answer_challenge))

    def close(self) -> None:
        """Nobody comes in any more."""
        self._socket.close()


def call(host: str, port: int, key: bytes, within_s: float) -> Line | None:
    """A line to the door there; `address` is this end's own. None where nobody knows the key.
    OSError where nobody listens."""
    opened = socket.create_connection((host, port), timeout=within_s)
    opened.setblocking(True)
    address = opened.getsockname()[0]
    line = _shaken(opened, address, key, (answer_challenge, deliver_challenge))
    if line is not None:
        line.wait_as_long_as_it_takes()
    return line


def _shaken(
    opened: socket.socket,
    address: str,
    key: bytes,
    steps: tuple[Callable[[Connection, bytes], None], ...],
) -> Line | None:
    """The line, once both sides have shown that they know the key; its reads are limited as those
    of the handshake are."""
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    _limit_reads(opened, _HANDSHAKE_S)
    _notice_lost_hosts(opened)
    connection = Connection(opened.detach())
    try:
        for step in steps:
            step(connection, key)
    except (AuthenticationError, AssertionError, EOFError, OSError):
        connection.close()
        return None
    return Line(connection, address)


def _limit_reads(opened: socket.socket, seconds: float) -> None:
    """A peer that says nothing must not keep the others waiting; 0: for ever."""
    limit = struct.pack("ll", int(seconds), 0)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limit)


def _notice_lost_hosts(opened: socket.socket) -> None:
    """A host whose power fails ends no line: who waits for it would wait for ever."""
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBED_AFTER_S)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBED_AFTER_S)
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _GONE_AFTER_S // _PROBED_AFTER_S - 1)
    # Where something is on its way, the kernel does not ask, and sends it again.
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _GONE_AFTER_S)
