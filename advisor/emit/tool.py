"""The interface of a tool, and what it answers in.

A tool says of each need whether it can, and turns a plan into settings; it writes no text but the
code that surrounds them.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from math import ceil
from typing import ClassVar

from advisor.emit.needs import Need
from advisor.emit.plan import Number, Plan


class Support(StrEnum):
    """How far a tool realises something."""

    CAN = "can"
    PARTLY = "partly"
    CANNOT = "cannot"


@dataclass(frozen=True, slots=True)
class Ability:
    """How far, and what to know of it: where not fully, what is missing."""

    support: Support
    reason: str


def can(reason: str) -> Ability:
    return Ability(Support.CAN, reason)


def partly(reason: str) -> Ability:
    return Ability(Support.PARTLY, reason)


def cannot(reason: str) -> Ability:
    return Ability(Support.CANNOT, reason)


@dataclass(frozen=True, slots=True)
class Verified:
    """What the names of a tool's settings were checked against: `package` as pip knows it, and how
    (its parser, its config class, its source)."""

    package: str
    version: str
    how: str


@dataclass(frozen=True, slots=True)
class Variable:
    """A value that only the reader knows, taken from an environment variable of this name."""

    name: str
    words: str


Value = str | int | float | bool | Variable


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting as the tool spells it. `True` in a command line is a bare flag.

    `group` is what it is part of: a dictionary of the code, or empty. `says` is what the reader
    sees beside it. `number` is the number of the answer that it realises, None where the mechanism
    itself asks for it.
    """

    name: str
    value: Value
    says: str
    number: Number | None = None
    group: str = ""


class Syntax(StrEnum):
    """How a part is written."""

    COMMAND = "bash"
    PYTHON = "python"


@dataclass(frozen=True, slots=True)
class Part:
    """What goes into one file: settings in their order, and what surrounds them.

    A command has `program`, the words before the options (`"$@"` stands for the reader's own);
    code has `before` (imports) and `after`.
    """

    name: str
    syntax: Syntax
    settings: tuple[Setting, ...]
    environment: tuple[Setting, ...] = ()
    program: str = ""
    before: str = ""
    after: str = ""


class Tool(ABC):
    """A training tool. `abilities` has an entry for every need, `composed` says what holds where
    several mechanisms work together."""

    name: ClassVar[str]
    title: ClassVar[str]
    verified: ClassVar[Verified]
    abilities: ClassVar[Mapping[Need, Ability]]
    composed: ClassVar[Ability]

    @abstractmethod
    def parts(self, plan: Plan) -> tuple[Part, ...]:
        """The settings. Called only with needs that the tool can do, wholly or partly."""

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """What to know before using the settings, that depends on the plan's numbers."""
        return ()


def setting(name: str, number: Number, value: Value | None = None, *, group: str = "") -> Setting:
    """A setting that realises a number of the answer; `value` where the tool wants it rounded."""
    if value is None:
        value = int(number.value) if number.value == int(number.value) else number.value
    return Setting(name, value, number.words, number, group)


def fixed(name: str, value: Value, says: str, *, group: str = "") -> Setting:
    """A setting that the mechanism asks for, whatever the numbers are."""
    return Setting(name, value, says, group=group)


def whole(number: Number) -> int:
    """The number rounded up: a timeout never gets shorter."""
    return max(ceil(number.value), 1)
