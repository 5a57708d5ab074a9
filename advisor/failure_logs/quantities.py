"""Numbers and names as logs give them, checked once for all formats. Pure.

What a cluster cannot have makes its row malformed: arithmetic on what is left cannot overflow.
"""

from math import inf

IMPOSSIBLE_NODES = "a number of nodes that no cluster has"
IMPOSSIBLE_DURATION = "a duration that cannot be"
MOST_ASKED_NODES = 10**7
"""The largest size that an MTBF is asked for."""
_MOST_NODES = 10**9
_LONGEST_S = 1e11
"""3,000 years: longer than any job, and than any window."""


def node_count(number: float | str) -> int:
    """A number of nodes, 0 too. Raises ValueError for one that no cluster has."""
    value = _number(number)
    if not (0 <= value <= _MOST_NODES and value == int(value)):
        raise ValueError(IMPOSSIBLE_NODES)
    return int(value)


def duration_s(number: float | str) -> float:
    """How long a job ran (s). Raises ValueError for one that cannot be."""
    value = _number(number)
    if not 0.0 <= value <= _LONGEST_S:
        raise ValueError(IMPOSSIBLE_DURATION)
    return value


def name_of(value: object) -> str:
    """A text from JSON, whose escapes can stand for halves of characters: those become `?`."""
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _number(number: float | str) -> float:
    """Infinity for one that is larger than any. Raises ValueError for text that is no number."""
    if isinstance(number, str) and "_" in number:  # which Python would read
        raise ValueError("a number that cannot be read")
    try:
        return float(number)
    except OverflowError:
        return inf
