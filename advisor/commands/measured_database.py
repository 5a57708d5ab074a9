"""The database of a command that measures: looked at before, made only once there is something."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlalchemy import Engine


def check_database(url: str) -> None:
    """Raises the errors of `db.errors` for a database that is there and cannot be used, or not
    written."""
    from db.schema import check_schema
    from db.session import open_engine, require_writable, sqlite_path

    path = sqlite_path(url)
    engine = open_engine(url)
    try:
        if path is None or path.exists():
            check_schema(engine)
            require_writable(engine)
    finally:
        engine.dispose()


def opened_once(url: str, stack: ExitStack) -> Callable[[], "Engine"]:
    """Opens the database at the first call, and makes it then if need be; closed with `stack`."""
    made: list[Engine] = []

    def get() -> "Engine":
        if not made:
            made.append(_opened(url, stack))
        return made[0]

    return get


def _opened(url: str, stack: ExitStack) -> "Engine":
    from db.first_use import ensure_ready
    from db.session import open_engine

    ensure_ready(url)
    engine = open_engine(url)
    stack.callback(engine.dispose)
    return engine
