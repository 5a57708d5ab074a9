"""How the kernel shares its cores among ranks, where there are more ranks than cores."""

import os
from contextlib import suppress

_NAMES = {os.SCHED_OTHER: "other", os.SCHED_BATCH: "batch", os.SCHED_IDLE: "idle"}


def take_turns() -> str:
    """The calling thread, and those that it starts, no longer push others aside as they wake: the
    kernel's policy SCHED_BATCH, for which nobody needs a right. The policy then in force.

    gloo's thread asks its sockets again and again while bytes lie there that nobody has asked for
    yet. Each time that it pushes aside the thread that would ask for them, both wait for a tick of
    the clock; how often depends on what else wakes, so that even an idle group changes the time of
    a step (docs/decisions/0023-scheduling-of-ranks.md). Where each rank has a core nothing changes.
    """
    with suppress(OSError):  # a container may forbid the call, or not know it
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
    return _NAMES.get(os.sched_getscheduler(0), "real time")
