"""The fixture files of failure logs, read."""

from pathlib import Path

from advisor.failure_logs.clock import Clock
from advisor.failure_logs.reading import AUTO, parse_log
from advisor.failure_logs.records import Log

FOLDER = Path(__file__).resolve().parents[2] / "fixtures" / "failure_logs"


def log_of(text: str, name: str = AUTO, clock: Clock | None = None) -> Log:
    """A text as a log; its name in messages is `the log`."""
    return parse_log(text.encode(), "the log", name, clock or Clock())


def sample(name: str) -> Log:
    """A fixture file as a log."""
    return log_of((FOLDER / name).read_text(encoding="utf-8"))
