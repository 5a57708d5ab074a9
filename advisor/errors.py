"""Errors that a person reads. One line each: what is wrong, and what would be right.

AdvisorError
├── UserError              exit code 2: the input is at fault
│   └── NoDataError        exit code 2: the database has nothing that answers this
└── MissingToolError       exit code 3: a program that this needs is not installed

`db.errors` has a tree of its own; the command line maps both (advisor/cli.py).
"""


class AdvisorError(Exception):
    """Base of every error that the advisor raises on purpose."""

    exit_code = 1


class UserError(AdvisorError):
    """The input is at fault; the message says what would be valid."""

    exit_code = 2


class NoDataError(UserError):
    """Nothing was measured that could answer; the message says what was."""


class MissingToolError(AdvisorError):
    """A program outside Python is missing; the message says what to install."""

    exit_code = 3
