"""Durations as people type them: `10s`, `500ms`, `2m`. A bare number is refused."""

import re

from measure.errors import UsageError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_PATTERN = re.compile(r"(\d+(?:\.\d+)?|\.\d+)\s*([a-z]*)")


def duration_s(text: str) -> float:
    """Seconds, above zero; UsageError says what would be valid."""
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None or (found[2] and found[2] not in _SECONDS):
        raise UsageError(f"{text[:40]!r} is not a duration: write 500ms, 10s, 2m or 1h")
    if not found[2]:
        raise UsageError(f"{text[:40]} has no unit: write {found[1]}s, {found[1]}ms or {found[1]}m")
    seconds = float(found[1]) * _SECONDS[found[2]]
    if not 0 < seconds <= 1e6:
        raise UsageError(f"{text[:40]} must be above zero and at most 1e6 s")
    return seconds
