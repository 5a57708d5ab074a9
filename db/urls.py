"""Database URLs: where they come from, what they may be, and how they are shown (no passwords)."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from db.errors import NotADatabaseError
from db.text import is_text

VARIABLE = "ADVISOR_DB_URL"
_VALID = "a SQLite file (advisor.db or sqlite:///path) or postgresql://user@host/database"
_SECRETS = ("password", "sslpassword", "passfile")


def database_url(explicit: str | None, environment: Mapping[str, str] = os.environ) -> str:
    """The database to use: `explicit`, else $ADVISOR_DB_URL, else the user's own SQLite file.

    A bare path names a SQLite file. Raises NotADatabaseError for anything that is neither.
    """
    given = explicit or environment.get(VARIABLE) or str(default_path(environment))
    return parse(given).render_as_string(hide_password=False)


def default_path(environment: Mapping[str, str] = os.environ) -> Path:
    """$XDG_DATA_HOME/failbench-advisor/advisor.db, by default below ~/.local/share."""
    home = Path(environment.get("HOME") or Path.home())
    data_home = environment.get("XDG_DATA_HOME") or str(home / ".local" / "share")
    return Path(data_home) / "failbench-advisor" / "advisor.db"


def parse(text: str) -> URL:
    """A URL with the driver that we use; SQLite paths become absolute. See `database_url`."""
    if "://" not in text:
        return _sqlite(text)
    scheme, _, rest = text.partition("://")
    if scheme == "sqlite":
        if "?" in rest:
            raise NotADatabaseError(f"a SQLite URL takes no options: {shown(text)}; use {_VALID}")
        # Percent-encoded, as SQLAlchemy writes it; a bare path is taken as it stands.
        return _sqlite(unquote(rest.removeprefix("/")))
    if scheme in ("postgresql", "postgres", "postgresql+psycopg"):
        return _postgresql(f"postgresql+psycopg://{rest}")
    raise NotADatabaseError(f"unknown kind of database {scheme!r}: use {_VALID}")


def _sqlite(path: str) -> URL:
    if not path or path.startswith((":memory:", "file:")):
        raise NotADatabaseError(f"not a database file: {path!r}; use {_VALID}")
    if "\x00" in path:
        raise NotADatabaseError(f"a file name cannot hold a NUL character; use {_VALID}")
    # Absolute first: the current folder, or the one for `~`, may be what is no text.
    absolute = os.path.abspath(os.path.expanduser(path))  # noqa: PTH100, PTH111
    _require_text(absolute)
    return URL.create("sqlite", database=absolute)


def _postgresql(text: str) -> URL:
    _require_text(text)
    try:
        url = make_url(text)
    except (ArgumentError, ValueError) as error:
        raise NotADatabaseError(f"malformed database URL; use {_VALID}") from error
    if not url.database:
        raise NotADatabaseError(f"the URL names no database: {shown(text)}; use {_VALID}")
    return url


def _require_text(name: str) -> None:
    """The database could neither be opened by such a name nor named in messages."""
    if not is_text(name):
        raise NotADatabaseError(f"{shown(name)!r} is no text in UTF-8: use {_VALID}")


def shown(url: str) -> str:
    """The URL as it may be printed: passwords replaced, the driver's name left out."""
    # Up to the last @, because a password may hold any character: better to mask too much.
    masked = re.sub(r"://([^:@/]*):.*@", r"://\1:***@", url)
    for secret in _SECRETS:
        masked = re.sub(rf"([?&]{secret}=)[^&]*", r"\1***", masked)
    if masked.startswith("sqlite:///"):
        return unquote(masked.removeprefix("sqlite:///"))
    return masked.replace("postgresql+psycopg://", "postgresql://")


def sqlite_path(url: str) -> Path | None:
    """The file of a SQLite URL, or None for PostgreSQL."""
    parsed = parse(url)
    return Path(str(parsed.database)) if parsed.get_backend_name() == "sqlite" else None
