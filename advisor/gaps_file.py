"""Observed gaps between failures in a file: one duration with its unit a line."""

from pathlib import Path

from advisor.errors import UserError
from advisor.scenario import RANGES
from advisor.units import DURATION_EXAMPLE, parse_duration_s

LARGEST_FILE_BYTES = 5_000_000
FEWEST = 2
"""Gaps that make a law: one alone would be a clock."""
_LONGEST_LINE = 100
_COMMENT = "#"


def read_gaps(path: Path) -> tuple[float, ...]:
    """The gaps in seconds, in their order. Raises UserError that names the file and the line."""
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE_BYTES + 1)
    except OSError as error:
        raise UserError(f"{path} cannot be read: {error.strerror}") from None
    except ValueError as error:  # a name that no file can have
        raise UserError(f"{path} cannot be read: {error}") from None
    try:
        return parse_gaps(content)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def parse_gaps(content: bytes) -> tuple[float, ...]:
    """The gaps in the content of a file, in seconds. Raises UserError that names the line.

    Blank lines and those that begin with # are none.
    """
    if len(content) > LARGEST_FILE_BYTES:
        raise UserError(f"it is larger than {LARGEST_FILE_BYTES:,} bytes")
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise UserError("it is no text in UTF-8") from None
    gaps_s = []
    for number, line in enumerate(map(str.strip, lines), start=1):
        if line and not line.startswith(_COMMENT):
            try:
                gaps_s.append(_gap_s(line))
            except UserError as error:
                raise UserError(f"line {number}: {error}") from None
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
