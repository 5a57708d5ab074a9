"""A file as a log: decoded, recognised, read."""

from collections.abc import Mapping
from pathlib import Path

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.formats import NAMES, format_of
from advisor.failure_logs.formats.csv import NAME as TABLE
from advisor.failure_logs.formats.told import parse_told
from advisor.failure_logs.records import Log
from advisor.failure_logs.tabular import delimiter_of, header_of

AUTO = "auto"


def read_log(path: Path, name: str, clock: Clock, columns: Mapping[str, str] | None = None) -> Log:
    """The log in a file; `name` is a format or AUTO. `columns`: as in `parse_log`.

    Raises UserError, OSError.
    """
    return parse_log(path.read_bytes(), str(path), name, clock, columns)


def parse_log(
    content: bytes, called: str, name: str, clock: Clock, columns: Mapping[str, str] | None = None
) -> Log:
    """The log in a file's content; `called` is its name in messages.

    `columns` of a table of one's own, by what they hold (advisor/failure_logs/columns.py); without
    any, by the names that they have. Raises UserError.
    """
    text = _text(content, called)
    if columns and name not in (AUTO, TABLE):
        raise UserError(
            f"only columns of a table of your own, of kind {TABLE}, can be told: {called} is to be "
            f"read as {name}"
        )
    found = TABLE if columns else name if name != AUTO else _kind_of(text)
    if found is None:
        known = "; ".join(f"{each}: {format_of(each).looks_like}" for each in NAMES)
        raise UserError(
            f"{called} is none of the logs that are known ({known}); of a table of your own, say "
            "which column is which"
        )
    try:
        if columns:
            return parse_told(text, clock, columns)
        return format_of(found).parse(text, clock)
    except UserError as error:
        raise UserError(f"{called} cannot be read as {found}: {error}") from None
    except RecursionError:
        raise UserError(f"{called} cannot be read as {found}: it is nested too deeply") from None


def own_columns(content: bytes, name: str) -> tuple[str, ...]:
    """The columns of a table of one's own, to be told what they hold; `name` as in `parse_log`.

    Empty where the file is of another kind, or no table.
    """
    try:
        text = _text(content, "")
    except UserError:
        return ()
    is_json = text.lstrip()[:1] in ("{", "[")
    if is_json or (_kind_of(text) if name == AUTO else name) not in (None, TABLE):
        return ()
    return tuple(dict.fromkeys(filter(None, header_of(text, delimiter_of(text)))))


def _text(content: bytes, called: str) -> str:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{called} is no text in UTF-8") from None
    if "\0" in text:
        raise UserError(f"{called} is no text")
    if not text.strip():
        raise UserError(f"{called} is empty")
    return text


def _kind_of(text: str) -> str | None:
    return next((name for name in NAMES if format_of(name).recognises(text)), None)
