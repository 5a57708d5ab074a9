"""What a calibration measures, in which order, and whether there is room for it. Pure.

Samples of all paths and sizes are shuffled together: a machine that becomes slower for a while
then spoils a few samples of each, and not one path.
"""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from measure.errors import UsageError

MB = 1_000_000
SIZES = tuple(size * MB for size in (1, 4, 16, 64, 256, 512))
QUICK_SIZES = tuple(size * MB for size in (1, 4, 16))
REPEATS, QUICK_REPEATS = 6, 3
MANY = 4
"""Processes that use the storage at once."""
_WORD = 8
_MOST_REPEATS = 1000
_SHARE = 0.8
"""Of what is free: others use the machine too."""


class Purpose(StrEnum):
    """What a sample is for: `fit` the lines, or `check` them."""

    FIT = "fit"
    CHECK = "check"


@dataclass(frozen=True, slots=True)
class Cell:
    """What one sample measures; `size_bytes` is of one process, None where nothing is moved."""

    path: str
    size_bytes: int | None
    processes: int
    purpose: Purpose = Purpose.FIT


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked; None leaves it to the defaults, which `is_quick` makes small."""

    sizes_bytes: Sequence[int] | None
    repeats: int | None
    seed: int
    is_quick: bool
    with_check: bool


@dataclass(frozen=True, slots=True)
class Room:
    """What is free."""

    disk_bytes: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class Extent:
    """How much is measured: the sizes that lines are fitted over, those that check them, and how
    often each."""

    sizes_bytes: tuple[int, ...]
    checks_bytes: tuple[int, ...]
    repeats: int


def extent_of(request: Request) -> Extent:
    """The extent that was asked for; UsageError for what makes no sense."""
    usual = QUICK_SIZES if request.is_quick else SIZES
    sizes = tuple(sorted(set(request.sizes_bytes or usual)))
    repeats = request.repeats or (QUICK_REPEATS if request.is_quick else REPEATS)
    if request.repeats is not None and not 1 <= request.repeats <= _MOST_REPEATS:
        raise UsageError(f"repeats must be from 1 to {_MOST_REPEATS}, not {request.repeats}")
    if not 0 <= request.seed < 2**31:
        raise UsageError(f"the seed must be from 0 to {2**31 - 1}, not {request.seed}")
    if len(sizes) < 2 or repeats * len(sizes) < 4:
        raise UsageError(
            "a line is fitted over two sizes or more and four samples or more: give --sizes such as"
            " 1MB,4MB,16MB, or more --repeats"
        )
    return Extent(sizes, between(sizes) if request.with_check else (), repeats)


def between(sizes: Sequence[int]) -> tuple[int, ...]:
    """Sizes that are not among those given: in the middle, by ratio, of each and the next."""
    pairs = ((a, math.isqrt(a * b) // _WORD * _WORD) for a, b in pairwise(sizes))
    return tuple(middle for smaller, middle in pairs if middle > smaller)


def many_sizes(sizes: Sequence[int]) -> tuple[int, ...]:
    """Those of which MANY processes together move no more than the largest size of one."""
    return tuple(size for size in sizes if size * MANY <= max(sizes))


def disk_needed(extent: Extent) -> int:
    """Bytes on the storage while it is being measured."""
    sizes = extent.sizes_bytes
    kept = sum(sizes) + MANY * sum(many_sizes(sizes)) + sum(extent.checks_bytes)
    return kept + max(sizes) + 16 * MB


def memory_needed(extent: Extent) -> int:
    """Bytes of host memory: contents and buffers of two processes, a slot of each size, and two
    ranks' slots for each size that is checked."""
    sizes = extent.sizes_bytes
    contents = 6 * max((*sizes, *extent.checks_bytes)) + 2 * MANY * max(
        many_sizes(sizes), default=0
    )
    return contents + sum(sizes) + 9 * sum(extent.checks_bytes) + 256 * MB


def fitted_in(extent: Extent, room: Room) -> tuple[Extent, str]:
    """The extent without the sizes for which there is no room, and one line that says so.

    UsageError if two sizes are not left.
    """
    left = extent
    while lacking := _lacking(left, room):
        sizes = left.sizes_bytes[:-1]
        if len(sizes) < 2:
            raise UsageError(f"{lacking}: make room, give smaller --sizes, or another --folder")
        checks = tuple(size for size in extent.checks_bytes if size < sizes[-1])
        left = Extent(sizes, checks, extent.repeats)
    if left == extent:
        return left, ""
    largest = left.sizes_bytes[-1] // MB
    return left, f"sizes above {largest} MB are left out: {_lacking(extent, room)}"


def _lacking(extent: Extent, room: Room) -> str:
    for what, needed, free in (
        ("disk", disk_needed(extent), room.disk_bytes),
        ("memory", memory_needed(extent), room.memory_bytes),
    ):
        if needed > _SHARE * free:
            return f"{needed // MB} MB of {what} are needed, {free // MB} MB are free"
    return ""


def shuffled(cells: Sequence[tuple[Cell, int]], seed: int) -> list[Cell]:
    """Each cell as often as its number says, in an order that follows from the seed alone."""
    every = [cell for cell, times in cells for _ in range(times)]
    random.Random(seed).shuffle(every)  # noqa: S311 - an order, no secret
    return every
