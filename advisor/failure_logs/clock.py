"""Times as logs write them, as seconds since 1970 in UTC.

A time without an offset is local, in the zone that the user names. Where clocks are put back an
hour happens twice: of the possible readings the one is taken that agrees with the row's own
duration, else the one in which the row does not end before it starts, else the first.
"""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from itertools import product
from zoneinfo import ZoneInfo

from advisor.errors import UserError

ABSENT = frozenset({"", "none", "unknown", "n/a", "na", "nan", "nat", "null", "-"})
"""How logs write that there is no value, in lower case."""

ENDS_BEFORE_START = "it ends before it starts"
NO_TIME = "a time that cannot be read"

_ROUNDING_S = 1.5
"""Start, end and duration are each cut to whole seconds."""
_EARLIEST_S, _LATEST_S = 1e8, 32503680000.0
"""1973 to 3000: a number beyond is no time in seconds, but a date or a duration."""
_DIGITS_OF_A_DATE = 8
_SECONDS = re.compile(r"\d+(?:\.\d*)?")
_SLASHES = re.compile(
    r"(\d{1,2})/(\d{1,2})/(\d{4})(?: +(\d{1,2}):(\d{1,2})(?::(\d{1,2}))?)?", re.ASCII
)


def is_absent(text: str) -> bool:
    """Whether the text stands for no value."""
    return text.strip().lower() in ABSENT


def parse_zone(name: str) -> tzinfo:
    """`UTC`, `Europe/Berlin`. Raises UserError."""
    if name.strip() == "UTC":
        return UTC
    try:
        return ZoneInfo(name.strip())
    except (KeyError, ValueError, OSError):
        raise UserError(
            f"{name[:50]!r} is not a time zone: write UTC, or a name such as Europe/Berlin or "
            "America/New_York"
        ) from None


@dataclass(slots=True)
class Clock:
    """Reads times of one file, and counts those that clock changes made uncertain."""

    zone: tzinfo = UTC
    twice: int = 0
    """Times that happened twice."""
    never: int = 0
    """Times that were skipped when clocks were put forward."""
    too_short: int = 0
    """Rows whose own duration is longer than from their start to their end."""

    def instant_s(self, text: str) -> float:
        """One time in seconds, the first reading if there are two. Raises ValueError."""
        return self._readings(text)[0]

    def span_s(
        self, start: str, end: str | None, duration_s: float | None
    ) -> tuple[float, float | None]:
        """Start and end in seconds; the end from the duration if it is absent, else None.

        Raises ValueError if a time cannot be read, or if the end lies before the start.
        """
        starts = self._readings(start)
        if end is None:
            return starts[0], None if duration_s is None else starts[0] + duration_s
        pairs = list(product(starts, self._readings(end)))
        forward = [(a, b) for a, b in pairs if b >= a]
        if not forward:
            raise ValueError(ENDS_BEFORE_START)
        if duration_s is None:
            return forward[0]
        found = min(forward, key=lambda pair: abs(pair[1] - pair[0] - duration_s))
        # A suspended job lasts longer than it ran; the other way round the times are wrong.
        self.too_short += duration_s > found[1] - found[0] + _ROUNDING_S
        return found

    def notes(self) -> list[str]:
        """What a reader has to know about the times of the file."""
        found = []
        if self.twice:
            found.append(
                f"times in an hour that came twice when clocks were put back: {self.twice:,}, read "
                "so that they fit the duration of their row, else as the first"
            )
        if self.never:
            found.append(
                f"times in an hour that clocks skipped: {self.never:,}; is the time zone that of "
                "the log?"
            )
        if self.too_short:
            found.append(
                "rows that last longer by their own account than from start to end: "
                f"{self.too_short:,}; is the time zone that of the log?"
            )
        return found

    def _readings(self, text: str) -> list[float]:
        try:
            return self._moments_s(text.strip())
        except (ValueError, OverflowError):
            raise ValueError(NO_TIME) from None

    def _moments_s(self, text: str) -> list[float]:
        moment = _moment(text)
        if isinstance(moment, float):
            return [moment]
        if moment.tzinfo is not None:
            return [moment.timestamp()]
        local = moment.replace(tzinfo=self.zone)
        first = local.timestamp()
        if self.zone is UTC:
            return [first]
        second = local.replace(fold=1).timestamp()
        if first == second:
            return [first]
        if second < first:  # the offsets of a gap: neither reading gives the text back
            self.never += 1
            return [first]
        self.twice += 1
        return [first, second]


def _moment(text: str) -> datetime | float:
    """ISO 8601, `M/D/YYYY H:MM`, or seconds since 1970. Raises ValueError.

    Eight digits are a date.
    """
    if not text.isascii():
        raise ValueError("not a time")
    if "/" in text:
        found = _SLASHES.fullmatch(text)
        if found is None:
            raise ValueError("not a date with slashes")
        month, date, year, *clock = (int(part or 0) for part in found.groups())
        hours, minutes, seconds = clock
        return datetime(year, month, date, hours, minutes, seconds)
    if len(text) != _DIGITS_OF_A_DATE and _SECONDS.fullmatch(text):
        seconds_s = float(text)
        if not _EARLIEST_S <= seconds_s < _LATEST_S:
            raise ValueError("not a time in seconds since 1970")
        return seconds_s
    return datetime.fromisoformat(text)
