"""Fields beside the scenario: what was typed is read later, where a mistake can be said."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, TypeVar

from advisor.errors import UserError
from app import address

T = TypeVar("T")
E = TypeVar("E", bound=StrEnum)


def typed(
    where: Any,
    label: str,
    key: str,
    example: str,
    parse: Callable[[str], T],
    hint: str | None = None,
) -> Callable[[], T | None]:
    """A field, and what it means: None where it is empty; UserError says its label."""
    found = address.text(where, label, key, placeholder=example, help=hint)

    def read() -> T | None:
        if not found.strip():
            return None
        try:
            return parse(found)
        except UserError as error:
            raise UserError(f"{label}: {error}") from None

    return read


def one_of(where: Any, label: str, key: str, kind: type[E]) -> E | None:
    """One of an enumeration; None where nothing was chosen."""
    names = [each.value for each in kind]
    chosen = address.choice(where, label, key, names, "", nothing="not stated")
    return kind(chosen) if chosen else None
