"""What the monitors of a cluster's runs are worth: what they cost, miss and accuse in vain. Pure.

A share of nothing is not known, however many runs there were: with no miss in n faults the limit is
that of Clopper and Pearson, with no false alarm in n checks the same.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from advisor.failure_logs.rates import share_interval
from db.detector_queries import DetectorRow


@dataclass(frozen=True, slots=True)
class Detector:
    """A monitor with what was measured of it; shares are fractions with their 95 % interval."""

    row: DetectorRow
    missed_low: float | None
    missed_high: float | None
    """Of the faults that it is there to see; None where none struck."""
    false_low: float | None
    false_high: float | None
    """False alarms for each check; None where it never checked."""

    @property
    def missed(self) -> int:
        """Faults that it is there to see, and did not notice."""
        return _missed(self.row)

    def as_json(self) -> dict[str, Any]:
        """All of it, as the command prints it."""
        limits = {name: getattr(self, name) for name in _LIMITS}
        return {**asdict(self.row), "missed": self.missed, **limits}


_LIMITS = ("missed_low", "missed_high", "false_low", "false_high")


def detectors(rows: Sequence[DetectorRow]) -> list[Detector]:
    """Each row with its shares."""
    return [_detector(row) for row in rows]


def _detector(row: DetectorRow) -> Detector:
    missed = _share(_missed(row), row.struck)
    false = _share(min(row.false_alarms, row.checks), row.checks)
    return Detector(row, *missed, *false)


def _missed(row: DetectorRow) -> int:
    return row.struck - row.noticed


def _share(count: int, of: int) -> tuple[float | None, float | None]:
    return share_interval(count, of) if of else (None, None)
