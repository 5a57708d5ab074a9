"""What a mechanism's saves cost: one entry for each path that they went over."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from measure.results.generations import Generation, events_in
from measure.results.rank_log import Event, RankLog
from measure.results.statistics import summary

UNKNOWN_PATH = "unknown"
"""Of saves that were skipped or failed where none was made, or those made took several paths."""


@dataclass(frozen=True, slots=True)
class Save:
    """One save of one state, made or not: every rank's event of it, and whether the generation's
    reference has one."""

    generation: int
    step: int | None
    """None where the mechanism could not say."""
    path: str
    """Empty where the event does not say: of saves that were not made."""
    events: tuple[Event, ...]
    on_reference: bool

    def mean_s(self, name: str) -> float | None:
        """The mean over the ranks, seconds; None where no rank says so.

        Of the time in a save it is what the save costs: the longest one is of the rank that came
        first, and waited for the others' training as well.
        """
        times = [event[name] for event in self.events if name in event]
        return statistics.fmean(times) if times else None

    def slowest_s(self, name: str) -> float | None:
        """The longest time of a rank, seconds. None where no rank says so."""
        return max((event[name] for event in self.events if name in event), default=None)


def saves_of(logs: Sequence[RankLog], trained: Sequence[Generation]) -> list[dict[str, Any]]:
    """The saves as they stand in the record. A state that was saved again after a recovery is
    another save; counts are those of each generation's reference."""
    names = ("saved", "save-skipped", "save-failed")
    by_name = {name: grouped(logs, trained, name) for name in names}
    paths = {save.path for save in by_name["saved"]}
    only = next(iter(paths)) if len(paths) == 1 else UNKNOWN_PATH
    everything = [save for saves in by_name.values() for save in saves]
    return [
        _entry(
            path, *([s for s in saves if (s.path or only) == path] for saves in by_name.values())
        )
        for path in sorted({save.path or only for save in everything})
    ]


def grouped(logs: Sequence[RankLog], trained: Sequence[Generation], name: str) -> list[Save]:
    """The events of this name of all ranks, those of one generation, step and path together."""
    found = []
    for at in trained:
        saves: dict[tuple[int | None, str], list[tuple[int, Event]]] = {}
        for log in logs:
            for event in events_in(log, at.number):
                if event["event"] == name:
                    key = (event["step"], event.get("path", ""))
                    saves.setdefault(key, []).append((log.rank, event))
        for (step, path), events in saves.items():
            seen = any(rank == at.reference.rank for rank, _ in events)
            found.append(Save(at.number, step, path, tuple(event for _, event in events), seen))
    return found


def _entry(
    path: str, made: Sequence[Save], skipped: Sequence[Save], failed: Sequence[Save]
) -> dict[str, Any]:
    sizes = [sum(event["bytes"] for event in save.events) for save in made]
    return {
        "path": path,
        "count": _seen(made),
        "skipped": _seen(skipped),
        "failed": _seen(failed),
        "foreground_s": _summary(save.mean_s("s") for save in made),
        "background_s": _summary(save.slowest_s("background_s") for save in made),
        "bytes_per_save": statistics.fmean(sizes) if sizes else None,
    }


def _seen(saves: Iterable[Save]) -> int:
    return sum(save.on_reference for save in saves)


def _summary(values: Iterable[float | None]) -> dict[str, Any] | None:
    known = [value for value in values if value is not None]
    return summary(known) if known else None
