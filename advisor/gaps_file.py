"""Observed gaps between failures in a file: one duration with its unit a line."""

from pathlib import Path

from advisor.durations_file import parse_lines, text_of
from advisor.errors import UserError
from advisor.scenario import RANGES
from advisor.small_file import read_small
from advisor.units import DURATION_EXAMPLE, parse_duration_s

LARGEST_FILE_BYTES = 5_000_000
FEWEST = 2
"""Gaps that make a law: one alone would be a clock."""
_LONGEST_LINE = 100


def read_gaps(path: Path) -> tuple[float, ...]:
    """The gaps in seconds, in their order. Raises UserError that names the file and the line."""
    return read_small(path, LARGEST_FILE_BYTES, parse_gaps)


def parse_gaps(content: bytes) -> tuple[float, ...]:
    """The gaps in the content of a file, in seconds. Raises UserError that names the line."""
    gaps_s = parse_lines(text_of(content, LARGEST_FILE_BYTES), _gap_s)
    if len(gaps_s) < FEWEST:
        raise UserError(
            f"it has {len(gaps_s)} of the {FEWEST} gaps or more that make a law: write each on a "
            f"line of its own with its unit, such as {DURATION_EXAMPLE}"
        )
    return tuple(gaps_s)


def _gap_s(text: str) -> float:
    if len(text) > _LONGEST_LINE:
        raise UserError(f"{text[:20]!r}... is no duration: write {DURATION_EXAMPLE}")
    gap_s = parse_duration_s(text)
    low_s, high_s = RANGES["mtbf_s"]
    if not low_s <= gap_s <= high_s:
        raise UserError(
            f"a gap of {text} is not possible: write one from {low_s:g}s to {high_s:g}s"
        )
    return gap_s
