"""The run record: all that is known of one run, as one JSON object in one file.

The contract is data/schemas/run-record-1.schema.json.
"""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from measure.interfaces.capabilities import Way
from measure.mechanisms.registry import entry_named
from measure.results.accounting import Loss, Times, times_of
from measure.results.emergencies import emergencies_of
from measure.results.generations import Generation, generations
from measure.results.incidents import incidents_of
from measure.results.monitoring import monitoring_of
from measure.results.nodes import nodes_of
from measure.results.overhead import overhead_of
from measure.results.rank_log import RankLog
from measure.results.recoveries import Answered, answered
from measure.results.saves import saves_of
from measure.results.verdict import (
    Fault,
    Run,
    faults_of,
    notes_of,
    outcome_of,
    reasons_of,
    struck_at,
    survivors_of,
    suspected_at,
    went_on,
)
from measure.results.windows import aggregate_slowdown, first_loss, mean_loss, series, window
from measure.supervisor.observed import Ending

RECORD, VERSION = "failbench-run", 1
FILE_NAME = "record.json"


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What is the same for all runs of one command."""

    campaign: Mapping[str, Any]
    cluster: Mapping[str, Any]
    environment: Mapping[str, Any]


def utc(when: datetime) -> str:
    """An instant as records write it: UTC, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def run_record(
    run: Run,
    around: Surroundings,
    cell: Mapping[str, Any],
    started_at: datetime,
) -> dict[str, Any]:
    """The record of a finished run; `cell` is what was asked, in words of the database."""
    faults = faults_of(run)
    answers = answered(run, faults)
    trained = generations(run, answers, faults)
    times = times_of(run, trained, answers, faults)
    reasons = reasons_of(run, faults)
    if times is not None and run.seen.ending is not Ending.INFEASIBLE:
        reasons += times.reasons()
    training_s = None if run.seen.training_at is None else run.since_began(run.seen.training_at)
    state = [event["bytes"] for log in run.logs if (event := log.first("state"))]
    built = [event["groups_s"] for log in run.logs if (event := log.first("built"))]
    return {
        "record": RECORD,
        "version": VERSION,
        "run_id": run.job.run_id,
        "campaign": dict(around.campaign),
        "cluster": dict(around.cluster),
        "environment": dict(around.environment),
        "cell": dict(cell),
        "schedule": run.job.schedule.to_json(),
        "started_at": utc(started_at),
        "wall_s": run.ended_s,
        "training_started_s": training_s,
        "groups_s": max(built, default=None),
        "outcome": outcome_of(run, faults, reasons),
        "validity": "invalid" if reasons else "valid",
        "validity_reasons": reasons,
        "notes": notes_of(run, faults),
        "state_bytes": max(state, default=None),
        **_figures(run, faults, answers),
        "ranks": [_rank(run, view.rank) for view in run.seen.members],
        "faults": [fault.as_json() for fault in faults],
        "phases": _phases(faults, answers),
        "series": series(run.logs),
        **_mechanism(run, trained),
        **_recovering(run, answers, times),
        **nodes_of(run, faults),
        **monitoring_of(run, faults),
    }


def write_record(record: Mapping[str, Any], folder: Path, name: str = FILE_NAME) -> Path:
    """Writes the record for good: under a temporary name, to the disk, then renamed."""
    path = folder / name
    unfinished = folder / f".{name}.{os.getpid()}"
    text = json.dumps(record, separators=(",", ":"), allow_nan=False)
    with unfinished.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    unfinished.rename(path)
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return path


def _mechanism(run: Run, trained: Sequence[Generation]) -> dict[str, Any]:
    """What the mechanism did, and what it cost."""
    return {
        "infeasible_reason": _infeasible_reason(run),
        "saves": saves_of(run.logs, trained),
        "overhead": overhead_of(run, trained),
        "emergency": emergencies_of(run.logs, entry_named(run.job.mechanism).wants_warning),
        "shared_memory_bytes": _shared_memory_bytes(run.logs),
    }


def _recovering(run: Run, answers: Sequence[Answered], times: Times | None) -> dict[str, Any]:
    """How training was brought back, and how the time was spent."""
    losses = times.losses if times else [Loss()] * len(answers)
    return {
        "equivalent": all(line["equivalent"] for line in run.seen.lineage),
        "lineage": run.seen.lineage,
        "recoveries": [
            answer.as_json(loss.steps, loss.seconds)
            for answer, loss in zip(answers, losses, strict=False)
        ],
        "times": times.as_json() if times else None,
        "incidents": incidents_of(run),
    }


def _infeasible_reason(run: Run) -> str | None:
    if run.seen.ending is not Ending.INFEASIBLE:
        return None
    return next((view.infeasible for view in run.seen.ranks if view.infeasible), None)


def _shared_memory_bytes(logs: Sequence[RankLog]) -> int | None:
    """Of all ranks of the generation that took most; None where no mechanism takes any."""
    taken: dict[int, int] = {}
    for log in logs:
        for event in log.events:
            if event["event"] == "attached" and event.get("shared_bytes") is not None:
                generation = event["generation"]
                taken[generation] = taken.get(generation, 0) + event["shared_bytes"]
    return max(taken.values(), default=None)


def _phases(faults: Sequence[Fault], answers: Sequence[Answered]) -> list[dict[str, Any]]:
    """Every phase that was reached, under the first fault that a recovery answered; where nothing
    recovered, detection alone."""
    whole = {a.faults[0].ordinal: a.phased.phases for a in answers if a.faults and a.phased}
    return [
        {"fault": fault.ordinal, "phase": phase, "duration_s": duration_s}
        for fault in faults
        for phase, duration_s in whole.get(fault.ordinal, _detection_alone(fault))
    ]


def _detection_alone(fault: Fault) -> list[tuple[str, float]]:
    if fault.detected_s is None or fault.censored:
        return []
    return [("detect", fault.detected_s)]


def _figures(run: Run, faults: Sequence[Fault], answers: Sequence[Answered]) -> dict[str, Any]:
    """Rates, losses and memory, before and after the first fault."""
    struck = struck_at(run)
    first_fault_s = min([*struck, *suspected_at(run)], default=run.ended_s)
    before = window(run.logs, 0.0, first_fault_s, run.job.dropped_steps)
    survivors = [run.logs[view.rank] for view in survivors_of(run)]
    noticed_s = [f.at_s + (f.detected_s or 0.0) for f in faults if f.fired]
    resumed_s = [answer.phased.resumed_s for answer in answers if answer.phased]
    noticed_s = resumed_s or noticed_s
    after = window(survivors, max(noticed_s), run.ended_s) if noticed_s else None
    finished = [_reached(log) for log in survivors if log.steps]
    peaks = [peak for log in run.logs if (peak := _peak(log.rank, run)) is not None]
    slowdown = aggregate_slowdown(before, after)
    if after is None and before is not None and noticed_s and not went_on(run):
        slowdown = 1.0
    return {
        "steps_completed": min(finished, default=0),
        "before": before.as_json() if before else None,
        "after": after.as_json() if after else None,
        "aggregate_slowdown_fraction": slowdown,
        "loss": {
            "first": first_loss(run.logs),
            "before_fault": mean_loss(run.logs, first_fault_s) if struck else None,
            "last": mean_loss(run.logs, run.ended_s),
        },
        "peak_memory_bytes": max(peaks, default=None),
    }


def _reached(log: RankLog) -> int:
    """How far a rank got: its newest step, counted once however often it was made."""
    return max(step.number for step in log.steps) + 1


def _rank(run: Run, rank: int) -> dict[str, Any]:
    log, view = run.logs[rank], run.seen.ranks[rank]
    state, raised = log.first("state"), log.first("raised")
    return {
        "rank": rank,
        "end": _end(run, rank),
        "exit_code": view.exit_code,
        "steps": len(log.steps),
        "peak_memory_bytes": _peak(rank, run),
        "state_bytes": state["bytes"] if state else None,
        "error": raised["error"].strip().splitlines()[-1] if raised else view.error,
        "where": _where(run, rank),
    }


def _where(run: Run, rank: int) -> str:
    """In which part of which step a rank was when it stopped or fell silent, if it did: a rank that
    hangs is before its step, say, and the others are in it, where they wait for each other."""
    stopped = [e.get("where", "") for e in run.logs[rank].events if e["event"] == "stopped"]
    where: str = stopped[-1] if stopped else run.seen.ranks[rank].where
    return where


def _end(run: Run, rank: int) -> str:
    """How a rank ended; what the supervisor had to kill was blocked, and is `hung`, but where it
    ends all of them to start anew, or who was a suspect again."""
    view = run.seen.ranks[rank]
    if run.logs[rank].first("raised"):
        return "raised"
    if view.finished_at is not None:
        return "finished"
    if view.stopped_at is not None and view.died_at is None:
        return "stopped"
    started_anew = view.quarantined or (view.given_up and run.job.way is Way.RESTART)
    return "hung" if view.killed_by_supervisor and not started_anew else "killed"


def _peak(rank: int, run: Run) -> int | None:
    for name in ("finished", "stopped"):
        event = run.logs[rank].first(name)
        if event is not None:
            peak: int = event["peak_memory_bytes"]
            return peak
    return None
