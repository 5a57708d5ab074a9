"""Durations and sizes as people type them: `10s`, `500ms`, `64MB`. A bare number is refused."""

import re

from measure.errors import UsageError

_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_LARGEST_BYTES = 1 << 40
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


def size_bytes(text: str) -> int:
    """Bytes, at least 1000; UsageError says what would be valid."""
    found = _PATTERN.fullmatch(text.strip().lower())
    if found is None or found[2] not in _BYTES:
        raise UsageError(f"{text[:40]!r} is not a size with its unit: write 1MB, 64MB or 1GiB")
    size = round(float(found[1]) * _BYTES[found[2]])
    if not 1000 <= size <= _LARGEST_BYTES:
        raise UsageError(f"{text[:40]}: a size must be from 1kB to 1024GiB")
    return size
