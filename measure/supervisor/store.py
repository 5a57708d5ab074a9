"""The store through which ranks find each other: one a run, on one interface only."""

import os
import signal
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from types import TracebackType

import torch.distributed as dist

from measure.errors import HarnessError
from measure.supervisor.ranks import RankProcess, RankStarter, end

LOOPBACK = "127.0.0.1"
_UP_WITHIN_S, _DEAD_WITHIN_S = 20.0, 10.0
_NAME = -1
"""Of the store's process among those that start from the fork server."""


@contextmanager
def hosted_store(host: str = LOOPBACK, port: int = 0) -> Iterator[int]:
    """Serves a store at this address until the block is left; yields its port: a free one, unless
    one is given."""
    listener = socket.socket()
    # A store that died here before leaves connections behind that are still being closed.
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # Bound here and handed over: a store that binds by itself listens on every interface.
    listener.bind((host, port))
    listener.listen(128)
    found: int = listener.getsockname()[1]
    store = dist.TCPStore(
        host, found, is_master=True, wait_for_workers=False, master_listen_fd=listener.detach()
    )
    try:
        yield found
    finally:
        del store  # the server ends with its last reference


class StoreProcess:
    """A store in a process of its own, which a fault can end (SIGKILL) and another one replace at
    the same port: empty, as a host that comes back. A context: no process is left behind."""

    def __init__(self, starter: RankStarter, host: str = LOOPBACK) -> None:
        self._starter, self._host = starter, host
        self._started: RankProcess | None = None
        self.port = 0
        """0 until there is one."""

    def __enter__(self) -> "StoreProcess":
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._end()

    def start(self) -> None:
        """Starts the process, in the place of one that has died; returns once it serves.

        HarnessError where it does not come up.
        """
        self._end()
        arguments = (self._host, self.port)
        self._started = self._starter.start_process(serve, arguments, _NAME)
        pipe = self._started.pipe
        try:
            if not pipe.poll(_UP_WITHIN_S):
                raise HarnessError(f"the store did not come up within {_UP_WITHIN_S:g} s")
            self.port = int(pipe.recv_bytes())
        except (EOFError, OSError) as error:
            raise HarnessError(f"the store did not come up at {self._host}:{self.port}") from error

    def kill(self) -> None:
        """Ends it as the loss of its host would: nobody is told. Returns once it is dead."""
        if self._started is not None:
            self._started.process.kill()
            self._started.process.join(_DEAD_WITHIN_S)

    def is_gone(self) -> bool:
        """Whether its process has died."""
        return self._started is not None and self._started.process.exitcode is not None

    def _end(self) -> None:
        if self._started is not None:
            end([self._started], 0.0)
            self._started.process.close()
            self._started = None


def serve(host: str, port: int, pipe: Connection) -> None:
    """The whole life of the store's process: says its port, and serves until nobody is at the
    other end. Signals to the whole group are for the supervisor."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, signal.SIG_IGN)
    with hosted_store(host, port) as found:
        pipe.send_bytes(str(found).encode())
        try:
            pipe.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)
