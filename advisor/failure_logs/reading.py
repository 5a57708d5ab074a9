"""A file as a log: decoded, recognised, read."""

from pathlib import Path

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.formats import NAMES, format_of
from advisor.failure_logs.records import Log

AUTO = "auto"


def read_log(path: Path, name: str, clock: Clock) -> Log:
    """The log in a file; `name` is a format or AUTO. Raises UserError, OSError."""
    return parse_log(path.read_bytes(), str(path), name, clock)


def parse_log(content: bytes, called: str, name: str, clock: Clock) -> Log:
    """The log in a file's content; `called` is its name in messages. Raises UserError."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UserError(f"{called} is no text in UTF-8") from None
    if "\0" in text:
        raise UserError(f"{called} is no text")
    if not text.strip():
        raise UserError(f"{called} is empty")
    if name == AUTO:
        name = _recognised(text, called)
    try:
        return format_of(name).parse(text, clock)
    except UserError as error:
        raise UserError(f"{called} cannot be read as {name}: {error}") from None
    except RecursionError:
        raise UserError(f"{called} cannot be read as {name}: it is nested too deeply") from None


def _recognised(text: str, called: str) -> str:
    for name in NAMES:
        if format_of(name).recognises(text):
            return name
    known = "; ".join(f"{name}: {format_of(name).looks_like}" for name in NAMES)
    raise UserError(f"{called} is none of the logs that are known ({known})")
