"""Every monitor, and how a job names those that it wants: `digest:10,values`. Needs no torch."""

from collections.abc import Iterable
from dataclasses import dataclass

from measure.errors import UsageError

LARGEST_INTERVAL_STEPS = 1_000_000


@dataclass(frozen=True, slots=True)
class MonitorEntry:
    """One line of the catalogue."""

    name: str
    plugin: str
    """`module:Class` of the measure.interfaces.monitor.Monitor; made from its interval."""
    interval_steps: int
    """Steps between two checks, unless somebody asks for another number."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A monitor that a job wants, and how often it checks."""

    entry: MonitorEntry
    interval_steps: int

    def __str__(self) -> str:
        return f"{self.entry.name}:{self.interval_steps}"


MONITORS = (
    MonitorEntry("digest", "measure.monitors.digests:DigestMonitor", 10),
    MonitorEntry("values", "measure.monitors.values:ValuesMonitor", 10),
    MonitorEntry("stragglers", "measure.monitors.stragglers:StragglerMonitor", 10),
)
"""In the order in which they look at a state; none may hide what another one sees."""


def settings_of(names: Iterable[str]) -> tuple[Setting, ...]:
    """The monitors of names such as `digest:10`, `values` or `all`, several in one text with
    commas; in the order of the catalogue, so that equal jobs are equal. UsageError, with what
    would be valid, otherwise."""
    given = [name.strip().lower() for several in names for name in several.split(",")]
    spelt = [n for name in given for n in ([e.name for e in MONITORS] if name == "all" else [name])]
    found: dict[str, Setting] = {}
    for text in spelt:
        setting = _setting(text)
        if setting.entry.name in found:
            raise UsageError(f"the monitor {setting.entry.name} is named twice")
        found[setting.entry.name] = setting
    return tuple(found[entry.name] for entry in MONITORS if entry.name in found)


def _setting(text: str) -> Setting:
    name, _, interval = text.partition(":")
    entry = next((entry for entry in MONITORS if entry.name == name), None)
    if entry is None:
        raise UsageError(
            f"unknown monitor {name!r}: known are {', '.join(e.name for e in MONITORS)}, each alone"
            " or with its interval in steps such as digest:20, and all"
        )
    if ":" not in text:
        return Setting(entry, entry.interval_steps)
    if not (interval.isascii() and interval.isdigit()) or not (
        1 <= int(interval) <= LARGEST_INTERVAL_STEPS
    ):
        raise UsageError(
            f"the interval of the monitor {name} must be from 1 to {LARGEST_INTERVAL_STEPS} steps,"
            f" not {interval!r}"
        )
    return Setting(entry, int(interval))
