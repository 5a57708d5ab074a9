"""Slurm's short form of many host names: `n[001-003,7],gpu1`. Pure."""

import re
from collections.abc import Iterator

MOST_NODES = 200_000
"""A list that names more is not read."""

_MOST_BRACKETS = 10
_MOST_DIGITS = 20

_PART = re.compile(r"[^,\[\]]*(?:\[[^\[\]]*\][^,\[\]]*)*")


def expand(text: str) -> tuple[str, ...]:
    """The single names. Raises ValueError if the text is no such list, or names too many."""
    names: list[str] = []
    position = 0
    while position < len(text):
        part = _PART.match(text, position)
        assert part is not None  # the pattern also matches nothing
        if not part.group():
            raise ValueError("not a list of nodes")
        if part.group().count("[") > _MOST_BRACKETS:
            raise ValueError("not a list of nodes")
        for name in _expand_part(part.group()):
            names.append(name)
            if len(names) > MOST_NODES:
                raise ValueError("too many nodes")
        position = part.end()
        if position < len(text):
            if text[position] != ",":
                raise ValueError("not a list of nodes")
            position += 1
    return tuple(names)


def _expand_part(part: str) -> Iterator[str]:
    head, bracket, rest = part.partition("[")
    if not bracket:
        yield head
        return
    inside, _, tail = rest.partition("]")
    for piece in inside.split(","):
        for number in _numbers(piece):
            for end in _expand_part(tail):
                yield f"{head}{number}{end}"


def _numbers(piece: str) -> Iterator[str]:
    low, dash, high = piece.partition("-")
    if not low.isdecimal() or (dash and not high.isdecimal()) or len(low) > _MOST_DIGITS:
        raise ValueError("not a range of nodes")
    last = int(high) if dash else int(low)
    if last < int(low) or last - int(low) >= MOST_NODES:
        raise ValueError("not a range of nodes")
    for number in range(int(low), last + 1):
        yield str(number).zfill(len(low))
