"""The option `--window`: `2024-03-01..2024-04-24`, or `54d` for counts without times."""

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock
from advisor.failure_logs.counting import Window
from advisor.units import parse_duration_s

EXAMPLE = "2024-03-01..2024-04-24 or 2024-03-01T06:00..2024-03-02T18:00"


def parse_window(text: str, clock: Clock) -> tuple[Window | None, float | None]:
    """The window, or a length in seconds; times without an offset are the clock's.

    Raises UserError.
    """
    start, dots, end = text.partition("..")
    if not dots:
        length_s = parse_duration_s(text)
        if length_s <= 0.0:
            raise UserError(f"{text!r} is no time at all: write {EXAMPLE}")
        return None, length_s
    try:
        window = Window(clock.instant_s(start), clock.instant_s(end))
    except (ValueError, OverflowError):
        raise UserError(f"{text[:60]!r} is no window: write {EXAMPLE}") from None
    if window.end_s <= window.start_s:
        raise UserError(f"{text[:60]!r} ends before it starts: write {EXAMPLE}")
    return window, None
