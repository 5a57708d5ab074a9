"""What `sacct --json --duplicates` prints. Times are seconds since 1970.

Its shape changes with Slurm's version: a state is a text or a list, a number plain or an object
with `set` and `number`.
https://slurm.schedmd.com/rest_api.html
"""

import json
from typing import Any

from advisor.errors import UserError
from advisor.failure_logs import hostlist
from advisor.failure_logs.clock import Clock, is_absent
from advisor.failure_logs.formats import Format
from advisor.failure_logs.jobs import Run, entries, malformed, run_or_entry, unreadable
from advisor.failure_logs.quantities import name_of
from advisor.failure_logs.records import Entry, Log
from db.records import FailureScope

_NO_BASE = "PENDING"


def _recognises(text: str) -> bool:
    return text.lstrip().startswith("{") and '"jobs"' in text


def _parse(text: str, clock: Clock) -> Log:
    try:
        document = json.loads(text)
        jobs = document["jobs"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise UserError(
            "it is no JSON object with a list `jobs`, as `sacct --json` prints"
        ) from None
    if not isinstance(jobs, list):
        raise UserError("its `jobs` is no list, as `sacct --json` prints")
    read = [_read(number, job, clock) for number, job in enumerate(jobs, start=1)]
    return Log("sacct-json", FailureScope.JOB, entries(read), notes=tuple(clock.notes()))


def _read(number: int, job: Any, clock: Clock) -> Run | Entry:
    try:
        time = job["time"]
        start_s, end_s = _number(time.get("start")), _number(time.get("end"))
        names = name_of(job.get("nodes") or "")
        return run_or_entry(
            number,
            name_of(job["job_id"]),
            _state(job),
            str(start_s) if start_s else None,
            str(end_s) if end_s else None,
            clock,
            duration=_number(time.get("elapsed")),
            nodes=_number(job.get("allocation_nodes")),
            names=() if is_absent(names) or names == "None assigned" else hostlist.expand(names),
        )
    except (KeyError, TypeError, AttributeError):
        return malformed(number, "a job without job_id, state and time")
    except (ValueError, OverflowError) as error:
        return unreadable(number, error)


def _state(job: Any) -> str:
    """`"NODE_FAIL"`, `{"current": "NODE_FAIL"}` or `{"current": ["NODE_FAIL"]}`.

    Of several in a list the first is the base state and the others are flags; the base of what has
    a flag alone is PENDING, as in `["PENDING", "REQUEUED"]` of a run that a requeue ended.
    """
    state = job["state"]
    current = state["current"] if isinstance(state, dict) else state
    if not isinstance(current, list) or not current:
        return name_of(current)
    is_flag_alone = current[0] == _NO_BASE and len(current) > 1
    return name_of(current[1 if is_flag_alone else 0])


def _number(value: Any) -> float | None:
    """A plain number or `{"set": true, "infinite": false, "number": 5}`."""
    if isinstance(value, dict):
        value = value["number"] if value.get("set") and not value.get("infinite") else None
    return None if value is None else float(value)


FORMAT = Format("a JSON object with jobs", _recognises, _parse)
