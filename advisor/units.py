"""Human units at the edge: text to SI and back. Inside, everything is seconds, bytes, fractions.

A bare number is refused, because every guess is wrong for somebody (600 seconds or minutes? 5 or
500 per cent?); a count has none (`whole_number`). Bits and bytes are told apart: `Gbit/s` is a
rate, `GB` a size, `Gb` is refused.
"""

import re
from collections.abc import Callable, Mapping
from decimal import Decimal

from advisor.errors import UserError

_DURATIONS_S = {
    "us": Decimal("1e-6"),
    "µs": Decimal("1e-6"),
    "ms": Decimal("1e-3"),
    "s": Decimal(1),
    "sec": Decimal(1),
    "m": Decimal(60),
    "min": Decimal(60),
    "h": Decimal(3600),
    "hr": Decimal(3600),
    "d": Decimal(86400),
    "day": Decimal(86400),
    "days": Decimal(86400),
    "w": Decimal(604800),
    "y": Decimal(31536000),
}
_SIZES_BYTES = {"B": Decimal(1)} | {
    f"{prefix}{infix}B": Decimal(base) ** power
    for infix, base in (("", 1000), ("i", 1024))
    for power, prefix in enumerate("KMGTP", start=1)
}
_SIZES_BYTES["kB"] = Decimal(1000)
_BIT_RATES_BYTES = {
    f"{prefix}bit": Decimal(1000) ** power / 8 for power, prefix in enumerate(["", *"kMGT"])
}

_NUMBER = r"\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?"
_QUANTITY = re.compile(rf"\s*([+-]?)({_NUMBER})\s*([^\d\s.+-][^\s\d]*)\s*")
_BARE = re.compile(rf"\s*[+-]?(?:{_NUMBER})\s*")
_SLURM = re.compile(r"(?:(\d+)-)?(\d{1,2}):(\d{2})(?::(\d{2}))?")

_LONGEST_TEXT = 100
_MOST_DIGITS = 30
"""Powers of ten that a number may have: no arithmetic on it then overflows."""

DURATION_EXAMPLE = "112.3ms, 90s, 10m, 4h, 30d or 1-02:03:04"
SIZE_EXAMPLE = "204.7MB, 2.6GB or 2.6GiB"
RATE_EXAMPLE = "1.37GB/s, 500MB/s or 100Gbit/s"
FRACTION_EXAMPLE = "5%"


def parse_duration_s(text: str) -> float:
    """Seconds from `112.3ms`, `4h`, `1h30m` or SLURM's `1-02:03:04`. Raises UserError."""
    slurm = _SLURM.fullmatch(text.strip())
    if slurm:
        return _slurm_seconds(slurm, text)
    return float(
        sum(
            value * _factor(_DURATIONS_S, unit, text, "a duration", DURATION_EXAMPLE)
            for value, unit in _quantities(text, "a duration", DURATION_EXAMPLE, _bare_duration)
        )
    )


def parse_bytes(text: str) -> int:
    """Bytes from `204.7MB` (10^6) or `2.6GiB` (2^30). Raises UserError, also on bits (`Gb`)."""
    value, unit = _single(text, "a size", SIZE_EXAMPLE)
    if re.fullmatch(r"[kKMGTP]?(b|bit|bits)", unit):
        raise UserError(f"{text!r} is in bits: write bytes, such as {SIZE_EXAMPLE}")
    return round(value * _factor(_SIZES_BYTES, unit, text, "a size", SIZE_EXAMPLE))


def parse_bytes_per_s(text: str) -> float:
    """Bytes per second from `1.37GB/s` or `100Gbit/s`. Raises UserError."""
    value, unit = _single(text, "a rate", RATE_EXAMPLE)
    quantity, slash, per = unit.partition("/")
    if slash != "/" or per != "s":
        raise UserError(f"{text!r} is not a rate: write {RATE_EXAMPLE}")
    known = _SIZES_BYTES | _BIT_RATES_BYTES
    return float(value * _factor(known, quantity, text, "a rate", RATE_EXAMPLE))


def parse_fraction(text: str) -> float:
    """A fraction from a percentage: `5%` is 0.05. Raises UserError, also on a bare number."""
    value, unit = _single(text, "a percentage", FRACTION_EXAMPLE)
    if unit != "%":
        raise UserError(f"{text!r} is not a percentage: write it as {FRACTION_EXAMPLE}")
    return float(value / 100)


def whole_number(text: str) -> int | None:
    """The whole number that a text is, written in digits; None for anything else.

    No sign, no separators, and at most 30 digits: what is longer is within nobody's limits.
    """
    digits = text.strip()
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _MOST_DIGITS):
        return None
    return int(digits)


def parse_whole(text: str, what: str, least: int, most: int) -> int:
    """A whole number within these limits, which `what` names. Raises UserError."""
    number = whole_number(text)
    if number is None or not least <= number <= most:
        raise UserError(
            f"{text[:40]!r} is not {what}: write a whole number from {least:,} to {most:,}"
        )
    return number


def counted(number: int, what: str) -> str:
    """`1 record`, `2 records`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def format_duration(seconds: float) -> str:
    """At most three units, the smallest rounded: `30 d 4 h 12 min`, `11.2 s`, `17 ms`."""
    if seconds < 0:
        return "-" + format_duration(-seconds)
    if seconds < 59.95:
        return _format_seconds(seconds)
    total_min, rest_s = divmod(round(seconds), 60)
    if total_min < 60:
        return f"{total_min} min {rest_s} s" if rest_s else f"{total_min} min"
    total_min = round(seconds / 60)
    days, rest_min = divmod(total_min, 1440)
    hours, minutes = divmod(rest_min, 60)
    parts = [(days, "d"), (hours, "h"), (minutes, "min")]
    return " ".join(f"{value:,} {unit}" for value, unit in parts if value)


def format_bytes(size: float) -> str:
    """Decimal units with up to four significant digits: `204.7 MB`, `2.6 GB`."""
    for power, unit in ((1e15, "PB"), (1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if size >= power:
            return f"{size / power:.4g} {unit}"
    return f"{size:.0f} B"


def format_bytes_per_s(rate: float) -> str:
    return f"{format_bytes(rate)}/s"


def format_percent(fraction: float) -> str:
    """Per cent with the digits that matter: `0.48 %`, `3.78 %`, `99.93 %`, `372.3 %`."""
    percent = 100 * fraction
    if percent == 0:
        return "0 %"
    if 99 <= percent < 100:
        return f"{percent:.3f}".rstrip("0").rstrip(".") + " %"
    decimals = 1 if abs(percent) >= 100 else 2 if abs(percent) >= 0.1 else 4
    return f"{percent:.{decimals}f}".rstrip("0").rstrip(".") + " %"


def format_number(value: float) -> str:
    """Three significant digits, or a whole number with thousands separators: `0.25`, `18,000`."""
    return f"{value:,.0f}" if abs(value) >= 999.5 else f"{value:.3g}"


def shortest_exact(value: float) -> str:
    """The shortest text that reads back as the same number: `3`, `0.7`, `1.23456789`."""
    return repr(float(value)).removesuffix(".0")


def format_apart(
    value: float, limit: float, words: Callable[[float], str], unit: str = ""
) -> tuple[str, str]:
    """Both in words; in plain `unit` with nine digits where the words would hide that they differ.

    A percentage is written from its fraction.
    """
    if value == limit or words(value) != words(limit):
        return words(value), words(limit)
    scale = 100.0 if unit == "%" else 1.0
    return f"{scale * value:.9g} {unit}".rstrip(), f"{scale * limit:.9g} {unit}".rstrip()


def _format_seconds(seconds: float) -> str:
    if seconds == 0:
        return "0 s"
    if seconds < 0.9995e-3:
        return f"{seconds * 1e6:.3g} µs"
    if seconds < 0.99995:
        return f"{seconds * 1e3:.4g} ms"
    return f"{seconds:.3g} s"


def _slurm_seconds(match: re.Match[str], text: str) -> float:
    days, first, second, third = (int(group) if group else 0 for group in match.groups())
    if match.group(1) is None and match.group(4) is None:
        raise UserError(
            f"{text!r} is ambiguous: write hours:minutes:seconds, or {DURATION_EXAMPLE}"
        )
    return float(days * 86400 + first * 3600 + second * 60 + third)


def _bare_duration(number: str) -> str:
    return f"{number} has no unit: write {number}s, {number}m or {number}h"


def _quantities(
    text: str, what: str, example: str, bare: Callable[[str], str] | None = None
) -> list[tuple[Decimal, str]]:
    """Every number with its unit (`1h30m`); the whole text must be made of them."""
    if _BARE.fullmatch(text):
        number = text.strip()
        raise UserError(bare(number) if bare else f"{number} has no unit: write {example}")
    if len(text) > _LONGEST_TEXT:
        raise UserError(f"{text[:20]!r}... is not {what}: write {example}")
    found, position = [], 0
    while position < len(text):
        match = _QUANTITY.match(text, position)
        if match is None:
            break
        sign, number, unit = match.groups()
        if sign == "-":
            raise UserError(f"{text!r} is negative: {what} is positive, such as {example}")
        value = Decimal(number)
        if value and not -_MOST_DIGITS < value.adjusted() < _MOST_DIGITS:
            raise UserError(f"{text!r} is beyond any {what.split()[-1]}: write {example}")
        found.append((value, unit))
        position = match.end()
    if not found or position < len(text):
        raise UserError(f"{text!r} is not {what}: write {example}")
    return found


def _single(text: str, what: str, example: str) -> tuple[Decimal, str]:
    found = _quantities(text, what, example)
    if len(found) != 1:
        raise UserError(f"{text!r} is not {what}: write {example}")
    return found[0]


def _factor(known: Mapping[str, Decimal], unit: str, text: str, what: str, example: str) -> Decimal:
    try:
        return known[unit]
    except KeyError:
        raise UserError(f"{text!r} is not {what}: unknown unit {unit!r}; write {example}") from None
