"""The kinds of logs. A new one is a module here with an object FORMAT, and its name below."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from advisor.failure_logs.clock import Clock
from advisor.failure_logs.records import Log

NAMES = ("sacct", "sacct-json", "acme", "helios", "philly", "lanl", "csv")
"""In the order in which they are tried; a module is the name with _ for -."""


@dataclass(frozen=True, slots=True)
class Format:
    """One kind of log."""

    looks_like: str
    """What its files are recognised by, in words."""
    recognises: Callable[[str], bool]
    """Whether a text is of this kind, from how it begins."""
    parse: Callable[[str, Clock], Log]
    """Reads the text. Raises UserError if it is not of this kind after all."""


def format_of(name: str) -> Format:
    """The format of one of NAMES."""
    found: Format = import_module(f"{__name__}.{name.replace('-', '_')}").FORMAT
    return found
