"""The measuring side's errors.

MeasureError
├── UsageError        the request cannot be run as stated; nothing has started (exit code 2)
│   ├── ShapeError    the world size does not fit the architecture
│   └── MissingLibraryError   a library that this request needs is not installed
├── InfeasibleError   a pair or a cell cannot work here at all; that is its result
└── HarnessError         the harness itself could not run (full disk, no port, no process)
    ├── TakenOverError    another process runs the same cell: this one says nothing more of it
    └── LostNodeError     a node was lost that no fault had struck
"""


class MeasureError(Exception):
    """Base of every error that is shown as one line."""


class UsageError(MeasureError):
    """The request cannot be run as stated; the message says what would be valid."""


class ShapeError(UsageError):
    """The world size does not fit the architecture's shape."""


class MissingLibraryError(UsageError):
    """A library that this request needs is not installed; the message says how to get it."""


class InfeasibleError(MeasureError):
    """The cell cannot work here at all (too little memory, no group of all ranks): its result,
    not an accident. The message says what it would need."""


class HarnessError(MeasureError):
    """The harness itself could not run; nothing is known of the mechanism."""


class TakenOverError(HarnessError):
    """Another process runs the same cell now, and speaks for it."""


class LostNodeError(HarnessError):
    """A node was lost in a run, and no fault of its schedule was it: the run shows nothing."""
