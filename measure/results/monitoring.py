"""What the monitors of a run did: what they cost, what they suspected, and whether they were right.

A suspicion answers the fault that struck last before it, of those that it can be about: a straggler
is a slow rank and nothing else, and whoever loses a rank does not hear of it from a monitor. A
suspicion without such a fault is a false alarm.
"""

import math
from collections.abc import Sequence
from typing import Any

from measure.monitors.catalogue import Setting, settings_of
from measure.results.rank_log import Event
from measure.results.verdict import STRAGGLER, Fault, Run


def monitoring_of(run: Run, faults: Sequence[Fault]) -> dict[str, Any]:
    """For the record, under `monitoring`; empty where no monitor was on."""
    settings = settings_of(run.job.monitors)
    if not settings:
        return {}
    return {"monitoring": [_monitor(run, setting, faults) for setting in settings]}


def _monitor(run: Run, setting: Setting, faults: Sequence[Fault]) -> dict[str, Any]:
    name = setting.entry.name
    checks = [_events(log.events, "monitor", name) for log in run.logs]
    suspicions = [_suspicion(run, each, faults) for each in _suspicions(run, name)]
    return {
        "monitor": name,
        "interval_steps": setting.interval_steps,
        "checks": max((len(each) for each in checks), default=0),
        **_cost(run, checks),
        "suspicions": suspicions,
        "false_alarms": sum(each["fault"] is None for each in suspicions),
    }


def _cost(run: Run, checks: Sequence[Sequence[Event]]) -> dict[str, float | None]:
    """What the monitor took of each step, in the mean over the ranks that checked; `waited_s` is
    the part in which a rank waited for the reports of others, as it would have in the next step.

    `overhead_fraction` is against the same steps without it.
    """
    shares = []
    for log, each in zip(run.logs, checks, strict=True):
        last = each[-1]["step"] if each else 0
        steps = [step.duration_s for step in log.steps if step.number < last]
        if steps:
            spent_s = sum(event["s"] for event in each)
            waited_s = sum(event["waited_s"] for event in each)
            shares.append((spent_s, waited_s, sum(steps), len(steps)))
    if not shares:
        return {"s_per_step": None, "waited_s_per_step": None, "overhead_fraction": None}
    spent_s, waited_s, trained_s, count = (sum(column) for column in zip(*shares, strict=True))
    without_s = trained_s - spent_s
    return {
        "s_per_step": spent_s / count,
        "waited_s_per_step": waited_s / count,
        "overhead_fraction": spent_s / without_s if without_s > 0.0 else None,
    }


def _suspicions(run: Run, monitor: str) -> list[Event]:
    """Each suspicion once, as who wrote it first: all ranks that must stop raise the same."""
    found = [event for log in run.logs for event in _events(log.events, "suspect", monitor)]
    kept: list[Event] = []
    newest: dict[tuple[Any, ...], float] = {}
    for event in sorted(found, key=lambda event: float(event["t"])):
        key = (event["step"], event["kind"], *event["ranks"])
        # After a rollback the same step may be suspected again, of which all ranks tell again.
        if event["t"] - newest.get(key, -math.inf) > run.job.group_timeout_s:
            kept.append(event)
        newest[key] = event["t"]
    return kept


def _suspicion(run: Run, event: Event, faults: Sequence[Fault]) -> dict[str, Any]:
    fault = _answered(event, faults, run.clock_error_s)
    told = ("step", "proved_step", "ranks", "why", "kind", "severity")
    return {
        "at_s": event["t"],
        **{name: event[name] for name in told},
        "fault": fault.ordinal if fault else None,
        "after_s": max(0.0, event["t"] - fault.at_s) if fault else None,
        "after_steps": max(0, event["step"] - (fault.steps or 0)) if fault else None,
        "right_rank": _is_right(event, fault),
    }


def _answered(event: Event, faults: Sequence[Fault], clock_error_s: float) -> Fault | None:
    before = [
        fault
        for fault in faults
        if fault.fired
        and fault.at_s <= event["t"] + clock_error_s
        and not fault.event.ends_its_rank
        and (fault.event.kind == STRAGGLER) == (event["kind"] == STRAGGLER)
    ]
    return max(before, key=lambda fault: fault.at_s, default=None)


def _is_right(event: Event, fault: Fault | None) -> bool | None:
    """Whether the victim, and nobody else, is named; None where nobody is, or nothing struck."""
    if fault is None or not event["ranks"]:
        return None
    return bool(event["ranks"] == [fault.event.rank])


def _events(events: Sequence[Event], name: str, monitor: str) -> list[Event]:
    return [e for e in events if e["event"] == name and e["monitor"] == monitor]
