"""When a database is away for a moment, and how long it is waited for.

A connection is dropped, a server restarts or has no place left, two transactions stand in each
other's way, a lock is held for long: what was asked for can be asked again. Anything else is not
tried twice.
"""

import time
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy.exc import DBAPIError, OperationalError

FIRST_PAUSE_S = 0.05
LONGEST_PAUSE_S = 2.0

_STATES = frozenset(
    {
        *("40001", "40P01", "55P03"),  # serialization failure, deadlock, a lock held for too long
        *("57P01", "57P02", "57P03"),  # the server goes down, went down, comes up
        *("57P05", "25P03"),  # a session was idle for too long
    }
)
_PASSING = frozenset({*_STATES, "53300"})  # 53300: too many connections
_CONNECTION_STATES = "08"
# Of a connection that is hindered psycopg tells the server's words only, in its language. Its code
# is asked for (db/refusals.py); these are for where nobody can ask.
_COMES_OR_GOES = (
    *("the database system is", "terminating connection"),
    *("too many clients already", "too many connections for"),
    "connection slots are reserved",
)
"""What a server says that is there and lets nobody in yet, or no more, or no more at once."""
_FINAL = (
    *("authentication failed", "no password supplied", "pg_hba.conf", "permission denied"),
    *("not permitted to log in", "does not exist"),
)
"""What it says to whom it will not let in later either."""
_ANSWERS = ":  "
"""After the severity of what a server says; what libpq says itself has none."""

T = TypeVar("T")


def is_outage(
    error: BaseException, was_reached: bool, refusal: Callable[[], str | None] = lambda: None
) -> bool:
    """Whether PostgreSQL's error passes by itself: the connection is gone, the server goes down or
    comes up or is full, or transactions stood in each other's way.

    `was_reached`: whether this process reached the database before. One that never did and is
    refused has more likely a wrong address than a server that restarts.
    `refusal`: asks a server that refuses connections for the code (SQLSTATE) with which it does so.
    """
    found = error if isinstance(error, DBAPIError) else error.__cause__
    if not isinstance(found, DBAPIError):
        return False
    state = getattr(found.orig, "sqlstate", None)
    if found.connection_invalidated or state in _STATES:
        return True
    if state:
        return str(state).startswith(_CONNECTION_STATES)
    if not isinstance(found, OperationalError):
        return False
    message = str(found.orig)
    code = refusal() if _ANSWERS in message else None
    if code and not code.startswith(_CONNECTION_STATES):
        return code in _PASSING
    return _is_away(message, was_reached)


def _is_away(message: str, was_reached: bool) -> bool:
    """Of what hinders a connection, by words alone: whether it passes."""
    if any(words in message for words in _COMES_OR_GOES):
        return True
    return was_reached and not any(words in message for words in _FINAL)


def again(action: Callable[[], T], is_passing: Callable[[Exception], bool], patience_s: float) -> T:
    """What `action` returns; tried again, after growing pauses, while its error passes.

    For at most `patience_s` seconds from the first error on: then the last one is raised.
    """
    pause_s, give_up_at = FIRST_PAUSE_S, None
    while True:
        try:
            return action()
        except Exception as error:
            now = time.monotonic()
            give_up_at = now + patience_s if give_up_at is None else give_up_at
            if now + pause_s > give_up_at or not is_passing(error):
                raise
        time.sleep(pause_s)
        pause_s = min(2.0 * pause_s, LONGEST_PAUSE_S)
