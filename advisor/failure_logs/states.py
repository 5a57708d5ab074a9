"""What the states of schedulers mean for a failure rate. One table, shown with every answer.

The names are Slurm's (job state codes of `squeue` and `sacct`); the Acme and Helios traces use the
same, and Philly's three are told apart by their capitals.
"""

from dataclasses import dataclass
from enum import StrEnum

from advisor.failure_logs.records import Kind


class Ending(StrEnum):
    """How a run that is no interruption stands."""

    ENDED = "it ran to its end"
    LIMIT = "its time was up, which is no failure"
    RUNNING = "it still ran"
    WAITING = "it never started"


@dataclass(frozen=True, slots=True)
class State:
    """One state: an interruption of a kind with its cause, or an ending."""

    name: str
    ending: Ending | None
    kind: Kind | None = None
    cause: str = ""
    announced: bool = False


_STATES = {
    state.name: state
    for state in (
        State("COMPLETED", Ending.ENDED),
        State("Pass", Ending.ENDED),
        State("TIMEOUT", Ending.LIMIT),
        State("DEADLINE", Ending.LIMIT),
        State("RUNNING", Ending.RUNNING),
        State("COMPLETING", Ending.RUNNING),
        State("SUSPENDED", Ending.RUNNING),
        State("STOPPED", Ending.RUNNING),
        State("SIGNALING", Ending.RUNNING),
        State("STAGE_OUT", Ending.RUNNING),
        State("RESIZING", Ending.RUNNING),
        State("CONFIGURING", Ending.WAITING),
        State("PENDING", Ending.WAITING),
        State("REVOKED", Ending.WAITING),
        State("RESV_DEL_HOLD", Ending.WAITING),
        State("REQUEUE_FED", Ending.WAITING),
        State("REQUEUE_HOLD", Ending.WAITING),
        State("SPECIAL_EXIT", Ending.WAITING),
        State("NODE_FAIL", None, Kind.INFRA, "a node failed"),
        State("BOOT_FAIL", None, Kind.INFRA, "a node did not boot"),
        State("LAUNCH_FAILED", None, Kind.INFRA, "the job could not be launched"),
        State("FAILED", None, Kind.ABORT, "the program ended with an error"),
        State("Failed", None, Kind.ABORT, "it failed, no cause is given"),
        State("OUT_OF_MEMORY", None, Kind.ABORT, "out of memory"),
        State("CANCELLED", None, Kind.PLANNED, "cancelled"),
        State("Killed", None, Kind.PLANNED, "cancelled"),
        State("REQUEUED", None, Kind.PLANNED, "requeued"),
        State("PREEMPTED", None, Kind.PLANNED, "preempted", announced=True),
    )
}


def state_of(text: str) -> State | None:
    """`NODE_FAIL`, `CANCELLED by 123`, `CANCELLED+` (cut by a narrow column); None if unknown."""
    words = text.split()
    name = words[0] if words else ""
    found = _STATES.get(name)
    if found is None and name.endswith("+"):
        begin = name[:-1]
        fitting = [state for key, state in _STATES.items() if begin and key.startswith(begin)]
        found = fitting[0] if len(fitting) == 1 else None
    return found
