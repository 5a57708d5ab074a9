"""Emergency saves: whether the state was safe before the fault that had been announced."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from measure.results.rank_log import Event, RankLog


@dataclass(frozen=True, slots=True)
class _Answer:
    """One rank's emergency save, and the fault whose warning it answered, if it is known."""

    fault: int | None
    event: Event


def emergencies_of(logs: Sequence[RankLog], wants_warning: bool) -> list[dict[str, Any]]:
    """One entry for each announced fault, in the schedule's order; `took_s` and the like are
    those of the slowest rank, `bytes` the largest of a rank. Where no rank committed a save
    before the fault, `took_s` is None. Nothing of mechanisms that do not heed warnings, unless
    they saved."""
    ordinals = {e["rank"]: e["ordinal"] for log in logs for e in log.events if _is_warning(e)}
    answers = [answer for log in logs for answer in _answers(log, ordinals)]
    leads = _announced(logs) if wants_warning else {}
    known = {answer.fault for answer in answers}
    found = [
        _entry(fault, leads.get(fault), [a.event for a in answers if a.fault == fault])
        for fault in sorted({*leads, *(fault for fault in known if fault is not None)})
    ]
    unasked = [answer.event for answer in answers if answer.fault is None]
    return found + [
        _entry(None, None, [event for event in unasked if event["step"] == step])
        for step in sorted({event["step"] for event in unasked})
    ]


def _announced(logs: Sequence[RankLog]) -> dict[int, float]:
    """The lead of each fault that any rank was warned of."""
    warnings = [e for log in logs for e in log.events if _is_warning(e)]
    return {event["ordinal"]: event["lead_s"] for event in warnings}


def _is_warning(event: Event) -> bool:
    return bool(event["event"] == "warning")


def _answers(log: RankLog, ordinals: Mapping[int, int]) -> Iterator[_Answer]:
    """Each save answers one warning: that of the rank it names, or the oldest that is open. (One
    save for several faults is written down once for each.) One that was made again, to be later,
    answers nothing new: the state had been safe."""
    open_warnings: list[Event] = []
    for event in log.events:
        if event["event"] == "warning":
            open_warnings.append(event)
        elif event["event"] == "emergency" and not event.get("again"):
            rank = event.get("rank")
            mine = [w for w in open_warnings if rank is None or w["rank"] == rank]
            if mine:
                open_warnings.remove(mine[0])
            # Who took a lost rank's place knows of a warning from the others only.
            told = None if rank is None else ordinals.get(rank)
            yield _Answer(mine[0]["ordinal"] if mine else told, event)


def _entry(fault: int | None, lead_s: float | None, events: Sequence[Event]) -> dict[str, Any]:
    took_s = max((event["s"] for event in events), default=None)
    within = bool(events) and all(event["within"] for event in events)
    return {
        "fault": fault,
        "lead_s": events[0]["lead_s"] if lead_s is None else lead_s,
        "took_s": took_s,
        "save_s": max((event["save_s"] for event in events), default=None),
        "bytes": max((event["bytes"] for event in events), default=None),
        "within_lead": within,
    }
