"""The conditions of operating points: which are told, and in which two points differ. Pure.

Which way training was brought back, who detected the loss and over which backend has no column of
its own: a point that this program pooled says it in its note, by `PointKey.conditions`
(db/pooling.py).
"""

import re
from dataclasses import dataclass
from functools import lru_cache

from db.records import OperatingPoint

_TOLD = re.compile(
    r"(?:^|; )(?P<backend>[^,;]+), detector (?P<detector>[^,;]*), group timeout [^,;]+ s, "
    r"round limit [^,;]+ s, profile [^,;]+(?:, recovery (?P<way>[^,;]+))?(?:, \d+ nodes)?"
    r"(?:, an? [^,;]+ lost at once)?$"
)


@dataclass(frozen=True, slots=True)
class Told:
    """What a point says in words; None is what it does not say."""

    backend: str | None = None
    detector: str | None = None
    way: str | None = None


def told(point: OperatingPoint) -> Told:
    """What the note of a point says; nothing where it is of a publication."""
    return _told(point.note)


@lru_cache(maxsize=1024)
def _told(note: str) -> Told:
    found = _TOLD.search(note)
    return Told() if found is None else Told(**found.groupdict())


def named_conditions(point: OperatingPoint) -> dict[str, object]:
    """The conditions that are equal or are not, by name; the others are `sized_conditions`."""
    said = told(point)
    return {
        "workload": point.workload,
        "ranks": point.world_size,
        "nodes": point.nodes,
        "backend": said.backend,
        "replicas": point.replicas,
        "failure domain": point.failure_domain,
        "way": said.way,
        "detector": said.detector,
    }


def sized_conditions(point: OperatingPoint) -> dict[str, float | None]:
    """Those of which one can be so many times another."""
    return {
        "interval": point.interval_steps,
        "lead": point.lead_s,
        "group timeout": point.group_timeout_s,
    }
