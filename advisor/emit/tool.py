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

_MOST_SIGNAL_S = 65535
"""The longest time that `sbatch --signal` takes."""


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


CHECKPOINT_FOLDER = Variable("CHECKPOINT_DIR", "a folder that every node sees")
LOCAL_FOLDER = Variable("LOCAL_CHECKPOINT_DIR", "a folder of the node's own, such as a RAM disk")
NEWEST_OF_ONE_KIND = "all saves are checkpoints of the same kind, and the newest one is restored"
STARTED_AGAIN = "start the job again after a failure (see torchrun)"


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


def checkpoint_folder() -> Setting:
    """Where a training script keeps its checkpoints."""
    return fixed("FOLDER", CHECKPOINT_FOLDER, "where the checkpoints are")


def slurm_signal(plan: Plan) -> tuple[str, ...]:
    """What SLURM can send as a warning: never that of a failure. Empty where none comes, or where
    the lead is longer than SLURM can be told."""
    if plan.lead is None:
        return ()
    seconds = max(round(plan.lead.value), 1)
    if seconds > _MOST_SIGNAL_S:
        return ()
    return (
        f"under SLURM: `sbatch --signal=TERM@{seconds}` sends SIGTERM the lead (in seconds) before "
        "the job's time limit, and before a preemption where PreemptParameters has "
        "send_user_signal; SLURM announces no failure",
    )


def whole(number: Number) -> int:
    """The number rounded up: a timeout never gets shorter."""
    return max(ceil(number.value), 1)
