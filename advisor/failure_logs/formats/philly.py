"""Philly's jobs: a JSON list, each job with its attempts, local times. A row here is an attempt.

Only a job has a status; an attempt that another one follows failed. Nothing says why.
https://github.com/msr-fiddle/philly-traces
"""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

from advisor.errors import UserError
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.formats import Format
from advisor.failure_logs.jobs import Run, entries, malformed, run_or_entry, unreadable
from advisor.failure_logs.quantities import name_of
from advisor.failure_logs.records import Entry, Log
from db.records import FailureScope


def _recognises(text: str) -> bool:
    return text.lstrip().startswith("[") and '"attempts"' in text


def _parse(text: str, clock: Clock) -> Log:
    try:
        jobs = json.loads(text)
    except (ValueError, RecursionError):
        raise UserError("it is no JSON, as Philly's job log is") from None
    if not isinstance(jobs, list):
        raise UserError("it is no list of jobs, as Philly's job log is")
    numbers = count(1)
    read = [each for job in jobs for each in _attempts(job, numbers, clock)]
    return Log(
        "philly", FailureScope.JOB, entries(read), knows_causes=False, notes=tuple(clock.notes())
    )


def _attempts(job: Any, numbers: Iterator[int], clock: Clock) -> Iterator[Run | Entry]:
    try:
        attempts, name, status = job["attempts"], name_of(job["jobid"]), name_of(job["status"])
        last = len(attempts) - 1
    except (KeyError, TypeError):
        yield malformed(next(numbers), "a job without jobid, status and attempts")
        return
    if last < 0:
        yield Entry(next(numbers), status, excluded=f"{status}: it never started")
    for index, attempt in enumerate(attempts):
        number = next(numbers)
        try:
            yield _attempt(number, name, attempt, status if index == last else "Failed", clock)
        except (KeyError, TypeError, AttributeError):
            yield malformed(number, "an attempt without start_time, end_time and detail")
        except (ValueError, OverflowError) as error:
            yield unreadable(number, error)


def _attempt(number: int, job: str, attempt: Any, status: str, clock: Clock) -> Run | Entry:
    nodes = tuple(dict.fromkeys(name_of(part["ip"]) for part in attempt["detail"]))
    start, end = (
        None if value is None or is_absent(str(value)) else str(value)
        for value in (attempt["start_time"], attempt["end_time"])
    )
    return run_or_entry(number, job, status, start, end, clock, nodes=len(nodes), names=nodes)


FORMAT = Format("a JSON list of jobs with attempts", _recognises, _parse)
