"""Why PostgreSQL lets nobody in, as its SQLSTATE, which is the same in every language.

A connection that is refused has only the server's words. libpq has the code too, and prints it for
whoever asks before it connects. psycopg has no call for that, but hands out libpq's own structure
(`pgconn_ptr`) for such calls. SQLite needs nothing of this.
"""

import ctypes
import re
import selectors
import time
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sqlalchemy import Engine

_PATIENCE_S = 10.0
_VERBOSE = 2
"""libpq's PQERRORS_VERBOSE."""
_NOT_LIBPQS = "context"
"""What psycopg alone is told of a connection."""
_STATE = re.compile(rb":  ([0-9A-Z]{5}):")
"""After the severity, as libpq puts them together; neither is translated."""
_LIBRARY = re.compile(r"/.*/libpq[^/]*$", re.MULTILINE)


def refusal_state(engine: Engine) -> str | None:
    """The SQLSTATE with which the server refuses a new connection; None where it takes one, does
    not answer, or libpq cannot be asked."""
    _, arguments = engine.dialect.create_connect_args(engine.url)
    return _asked({name: value for name, value in arguments.items() if name != _NOT_LIBPQS})


def _asked(arguments: Mapping[str, Any]) -> str | None:
    # Imported here: nobody with SQLite has to have it.
    from psycopg import pq
    from psycopg.conninfo import make_conninfo

    library = _libpq()
    if library is None:
        return None
    connection: Any = pq.PGconn.connect_start(make_conninfo(**arguments).encode())
    try:
        library.PQsetErrorVerbosity(connection.pgconn_ptr, _VERBOSE)
        _connect(connection)
        found = _STATE.search(connection.error_message)
    finally:
        connection.finish()
    return found.group(1).decode() if found else None


def _connect(connection: Any) -> None:
    """Until it is connected, or refused, or takes too long."""
    from psycopg.pq import PollingStatus

    deadline = time.monotonic() + _PATIENCE_S
    while (status := connection.connect_poll()) in (PollingStatus.READING, PollingStatus.WRITING):
        reads = status == PollingStatus.READING
        with selectors.DefaultSelector() as selector:
            event = selectors.EVENT_READ if reads else selectors.EVENT_WRITE
            selector.register(connection.socket, event)
            if not selector.select(max(0.0, deadline - time.monotonic())):
                return


@cache
def _libpq() -> ctypes.CDLL | None:
    """The libpq that psycopg has loaded, whichever it came with; None where it is not to be seen,
    or there are two."""
    try:
        (path,) = set(_LIBRARY.findall(Path("/proc/self/maps").read_text()))
        library = ctypes.CDLL(path)
    except (OSError, ValueError):
        return None
    library.PQsetErrorVerbosity.argtypes = [ctypes.c_void_p, ctypes.c_int]
    return library
