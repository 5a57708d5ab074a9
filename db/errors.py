"""Errors of the database layer. One line each: what is wrong, and the command that helps.

DatabaseError                 exit code 2
├── NotADatabaseError         the URL or file is no database of ours
│   └── EmptyDatabaseError    no table at all: it still has to be made ours
├── UnreachableError          no server, no folder, no permission
│   └── ReadOnlyError         a role, or a server, that may only be read
├── SchemaMismatchError       the schema is older than the code, or unknown to it
├── NetworkFilesystemError    SQLite on a file system whose locks cannot be trusted
├── InvalidDataError          rows that do not validate; every row named
│   ├── UnreadableError       a file that cannot be read just now: nothing is known of its rows
│   ├── AnotherClusterError   a cluster of that name is there: other hardware, or from a bundle
│   └── NameTakenError        something is kept under that name already
├── NotFoundError             a named thing is not there; says what is
└── QueryRefusedError         a typed statement: writes, malformed
    └── TooSlowError          ... or over the time limit
"""


class DatabaseError(Exception):
    """Base of every error that `db` raises on purpose."""

    exit_code = 2


class NotADatabaseError(DatabaseError):
    """The URL is malformed, or the file is not a database of ours."""


class EmptyDatabaseError(NotADatabaseError):
    """The database holds no table at all: it still has to be made ours."""


class UnreachableError(DatabaseError):
    """The database could not be opened: server, folder, permission, disk."""


class ReadOnlyError(UnreachableError):
    """Something was to be written, and the role or the server only lets one read."""


class SchemaMismatchError(DatabaseError):
    """The schema is older than this code, or unknown to it; the message says what helps."""


class NetworkFilesystemError(DatabaseError):
    """SQLite on a network file system, without the flag that accepts the risk."""


class InvalidDataError(DatabaseError):
    """Rows that do not validate; the message names file, row, column and input.

    The message holds the first problems, `problems` all of them, one line each.
    """

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems or (message,)


class UnreadableError(InvalidDataError):
    """The file system does not hand over a file; what is in it may be right."""


class AnotherClusterError(InvalidDataError):
    """The database has a cluster of the same name with other hardware, or without its runs."""


class NameTakenError(InvalidDataError):
    """Something else is kept under that name, and what a name stands for never changes."""


class NotFoundError(DatabaseError):
    """A named cluster, point or recommendation is not there; the message lists what is."""


class QueryRefusedError(DatabaseError):
    """A typed statement that writes, runs too long or does not parse."""


class TooSlowError(QueryRefusedError):
    """A typed statement over its time limit; whoever set the limit says how to raise it."""

    def __init__(self) -> None:
        super().__init__("the statement took too long: narrow it")
