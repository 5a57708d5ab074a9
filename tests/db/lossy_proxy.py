"""Stands between a client and PostgreSQL, and loses the answer to a commit when it is told to."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress

_COMMITTED = b"COMMIT\x00"
"""The server's answer; clients say COMMIT too, but this looks at what comes back only."""


class LossyProxy:
    """A port on 127.0.0.1 that leads to the server's, until `close`."""

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.lost = 0
        self._is_to_lose = False
        self._sockets: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def lose_next_commit(self) -> None:
        """The server commits the next transaction, and whoever asked loses the connection."""
        self._is_to_lose = True

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        for each in (*self._sockets, self._listener):
            _cut(each)
        for thread in self._threads:
            thread.join(10.0)
        for each in (*self._sockets, self._listener):
            each.close()

    def _start(self, target: Callable[..., None], *arguments: socket.socket) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:  # closed
                return
            server = socket.create_connection(("127.0.0.1", self._server_port))
            self._sockets += [client, server]
            self._start(self._pass_on, client, server)
            self._start(self._pass_back, server, client)

    def _pass_on(self, client: socket.socket, server: socket.socket) -> None:
        _pump(client, server, lambda data: True)

    def _pass_back(self, server: socket.socket, client: socket.socket) -> None:
        _pump(server, client, self._is_passed)

    def _is_passed(self, data: bytes) -> bool:
        if not self._is_to_lose or _COMMITTED not in data:
            return True
        self._is_to_lose = False
        self.lost += 1
        return False


def _pump(source: socket.socket, sink: socket.socket, is_passed: Callable[[bytes], bool]) -> None:
    try:
        while data := source.recv(65536):
            if not is_passed(data):
                break
            sink.sendall(data)
    except OSError:  # the other side was cut
        pass
    _cut(source)
    _cut(sink)


def _cut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)
